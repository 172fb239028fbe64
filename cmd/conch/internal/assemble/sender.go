package assemble

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// send is the work of an account: what waits is given a nonce, signed, stored and
// sent, for as long as this node leads (S15, S19, S20).
func (n *Node) send(a config.Account) work {
	return func(ctx context.Context, l election.Leadership) error {
		driver, hangUp, err := n.driver(a)
		if err != nil {
			n.log.Error("an account can not be sent from", slog.String("account", a.Name), slog.Any("error", err))
			return err
		}
		defer hangUp()
		_, book, _ := n.desk.find(a.Name)
		if book == nil {
			return errGone
		}
		m, err := pending.New(pending.Config{
			Account: a.Address, Chain: driver, Store: book, Events: n.reports(a),
			MostFee: chain.Fee{Max: a.MaxFee, Tip: a.MaxTip}, Repair: a.Repair, Longest: longest(a), ArchiveAfter: a.ArchiveAfter,
			Settings: pending.Settings{MaxInFlight: a.MaxInFlight, FillAfter: uint64(a.GapFill)},
		})
		if err != nil {
			return err
		}
		leave := n.desk.take(seatOf(a), m)
		defer leave()
		n.log.Info("sending", slog.String("account", a.Name), slog.String("address", a.Address.String()), slog.String("chain", a.Chain.ID()),
			slog.Int64("epoch", l.Token.Epoch))
		err = m.Lead(ctx, l.Gate, l.Token)
		if ctx.Err() != nil {
			return nil // it was told to end, and whoever told it knows why
		}
		return err
	}
}

// longest bounds one exchange: where somebody may have to confirm, what is signed for
// would else be given up before they have.
func longest(a config.Account) time.Duration {
	if a.Signer == "" {
		return 0
	}
	return signerPatience + checkPatience
}

var errGone = errors.New("the account was taken out of the configuration")

// reports says what happens to an account's transactions.
func (n *Node) reports(a config.Account) pending.Events {
	complaints := &complaints{log: n.log.With(slog.String("account", a.Name)), now: time.Now, said: map[string]time.Time{}}
	return pending.Events{
		Alarm: func(alarm pending.Alarm) { n.alarm(a, alarm) },
		Refused: func(err error) {
			var shut *fence.ShutError
			if !errors.As(err, &shut) {
				shut = &fence.ShutError{}
			}
			n.meters.Blocked(a.Scope)
			n.log.Warn("refused: not the leader", slog.String("scope", a.Scope), slog.String("account", a.Name), slog.String("holder", shut.Holder), slog.Any("error", err))
		},
		Trouble: complaints.about,
	}
}

// alarm is loud when it begins, and says when it has ended.
func (n *Node) alarm(a config.Account, alarm pending.Alarm) {
	n.desk.heed(seatOf(a), alarm)
	attrs := []any{
		slog.String("account", a.Name), slog.String("address", a.Address.String()), slog.String("chain", a.Chain.ID()),
		slog.String("cause", alarm.Cause.String()),
	}
	if !alarm.Whole {
		attrs = append(attrs, slog.Uint64("nonce", alarm.Index))
	}
	if alarm.Why != "" {
		attrs = append(attrs, slog.String("error", alarm.Why))
	}
	if alarm.Raised {
		n.log.Error("ALARM: "+meaning[alarm.Cause], attrs...)
		return
	}
	n.log.Warn("alarm ended", attrs...)
}

// meaning tells a person what holds, in the words of docs/operations.md.
var meaning = map[pending.Cause]string{
	pending.Strange: "the database has another history than before and may have lost rows: no nonce is given away until the chain has finalized all that was seen",
	pending.Rewound: "the chain has taken back what was final",
	pending.Funds:   "the account can not pay: nothing more is sent until it can",
	pending.Fees:    "what has to be paid is above max_fee or max_tip: it waits until fees fall or more is allowed",
	pending.Keys:    "there is no key for the account, or its signer refuses: nothing more is signed",
	pending.Refused: "the chain will never take a transaction's bytes: its nonce is filled",
}

// complaints are about the chain and the database, which fail at every try while
// they fail: loud, and each not so often as to drown the log (S21).
type complaints struct {
	log *slog.Logger
	now func() time.Time

	mu   sync.Mutex
	said map[string]time.Time
}

func (c *complaints) about(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	text, why := "TRANSACTIONS CAN NOT BE KEPT, and none is sent", pgmint.Sentence(err)
	if ofChain(err) {
		why = err.Error()
	}
	switch {
	case errors.Is(err, chain.ErrUnreachable):
		text = "CHAIN UNREACHABLE: transactions are accepted, and none is sent"
	case errors.Is(err, chain.ErrAnswer):
		text = "THE CHAIN'S NODE ANSWERS WITH ERRORS: transactions are accepted, and it is asked again"
	case errors.Is(err, chain.ErrForeign):
		text = "THE ENDPOINT SERVES ANOTHER CHAIN: nothing is sent"
	case errors.Is(err, fence.ErrStale):
		text = "deposed: the database refused what was to be stored"
	case errors.Is(err, chain.ErrThread), errors.Is(err, chain.ErrNotFound):
		text = "the thread of the chain's blocks was lost: everything is looked up"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if last, before := c.said[text]; before && now.Sub(last) < loudEvery {
		return
	}
	c.said[text] = now
	c.log.Error(text, slog.String("error", why))
}

// ofChain says that an error is of the chain, and so not to be told in the words for
// databases: both have connections that break.
func ofChain(err error) bool {
	for _, one := range []error{chain.ErrUnreachable, chain.ErrAnswer, chain.ErrForeign, chain.ErrThread, chain.ErrNotFound} {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
