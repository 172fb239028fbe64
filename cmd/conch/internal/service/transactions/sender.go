package transactions

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// sender gives an account's transactions their nonces, signs, stores and sends them while
// this node leads (S15, S19, S20). It keeps its connection to the chain between terms.
type sender struct {
	service *service
	account Account

	mu         sync.Mutex
	users      int              // callers of acquire that have not released
	manager    *pending.Manager // set while there are users
	disconnect func()           // closes the manager's connections
}

// acquire returns the manager, which exists until its last user calls release.
func (s *sender) acquire() (m *pending.Manager, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		if s.manager, s.disconnect, err = s.open(); err != nil {
			return nil, nil, err
		}
	}
	s.users++
	return s.manager, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.users--; s.users == 0 {
			s.disconnect()
		}
	}, nil
}

func (s *sender) open() (*pending.Manager, func(), error) {
	a, service := s.account, s.service
	driver, disconnect, err := service.driver(a)
	if err != nil {
		return nil, nil, err
	}
	store := service.accounts.store(a.Chain) // not by name: a reload may have moved the name to another account
	if store == nil {
		disconnect()
		return nil, nil, node.ErrGone
	}
	var again func(chain.Call) bool
	if service.frame.Accounts != nil {
		again = service.frame.Accounts.Harmless
	}
	m, err := pending.New(pending.Config{
		Account: a.Address, Chain: driver, Store: store, Events: service.reports(a),
		MostFee: a.mostFee(), Repair: service.accounts.ownRepair(a), Longest: longest(a), ArchiveAfter: a.ArchiveAfter,
		MaxInFlight: a.MaxInFlight, FillAfter: uint64(a.GapFill), RaiseAfter: a.RaiseAfter, Sequence: service.managers.sequence,
		Relaxed: a.Relaxed, SharedKey: a.SharedKey, Again: again, RestoreWait: a.RestoreWait, FinalAfter: a.Chain.FinalIn,
	})
	if err != nil {
		disconnect()
	}
	return m, disconnect, err
}

func (s *sender) lead(ctx context.Context, l election.Leadership) error {
	a, log := s.account, s.service.frame.Log
	m, release, err := s.acquire()
	if err != nil {
		log.Error("cannot send from the account", slog.String("account", a.Name), slog.Any("error", err))
		return err
	}
	defer release()
	leave := s.service.managers.register(a.id(), m, func() { s.service.counts.forget(a.id()) })
	if now, _, known := s.service.accounts.find(a.Name); known && now.id() == a.id() {
		m.Allow(now.mostFee()) // a reload may have changed it since
	}
	defer leave()
	ended := s.service.sharing.begin(a.Chain)
	defer ended()
	log.Info("sending", slog.String("account", a.Name), slog.String("address", a.Address.String()), slog.String("chain", a.Chain.ID()),
		slog.Int64("epoch", l.Token.Epoch))
	err = m.Lead(ctx, l.Gate, l.Token)
	if ctx.Err() != nil {
		return nil // the term is over, and the elector logs why
	}
	return err
}

// attend keeps the connection to the chain while the role waits to lead.
func (s *sender) attend(ctx context.Context) {
	m, release, err := s.acquire()
	if err != nil {
		return // lead tries again, and logs the error
	}
	defer release()
	m.Attend(ctx)
}

// mostFee is the highest fee that an attempt of the account may offer.
func (a Account) mostFee() chain.Fee { return chain.Fee{Max: a.MaxFee, Tip: a.MaxTip} }

// longest bounds one exchange; 0 is the default. A person may have to confirm at a signer, so
// that the default would give up too early.
func longest(a Account) time.Duration {
	if _, _, is := a.keyService(); a.Signer == "" || is {
		return 0
	}
	return signerPatience + checkPatience
}

// reports logs and counts the events of an account's manager.
func (s *service) reports(a Account) pending.Events {
	complaints := &complaints{log: s.frame.Log.With(slog.String("account", a.Name)), now: time.Now, said: map[string]time.Time{}}
	return pending.Events{
		Alarm: func(alarm pending.Alarm) { s.alarm(a, alarm) },
		Refused: func(err error) {
			var shut *fence.ShutError
			if !errors.As(err, &shut) {
				shut = &fence.ShutError{}
			}
			s.frame.Blocked(a.Scope)
			s.frame.Log.Warn("refused: not the leader", slog.String("scope", a.Scope), slog.String("account", a.Name), slog.String("holder", shut.Holder), slog.Any("error", err))
		},
		Trouble: complaints.about,
	}
}

// alarm counts an alarm, and logs its beginning as an error and its end as a warning.
func (s *service) alarm(a Account, alarm pending.Alarm) {
	s.counts.alarm(a.id(), alarm)
	attrs := []any{
		slog.String("account", a.Name), slog.String("address", a.Address.String()), slog.String("chain", a.Chain.ID()),
		slog.String("cause", alarm.Cause.String()),
	}
	if !alarm.Whole {
		attrs = append(attrs, slog.Uint64("nonce", alarm.Index))
	}
	if alarm.Intent != (pending.ID{}) {
		attrs = append(attrs, slog.String("id", idText(alarm.Intent)))
	}
	if alarm.Why != "" {
		attrs = append(attrs, slog.String("error", alarm.Why))
	}
	if alarm.Raised {
		s.frame.Log.Error("ALARM: "+meaning[alarm.Cause], attrs...)
		return
	}
	s.frame.Log.Warn("alarm ended", attrs...)
}

// meaning says what an alarm means, in the words of docs/transactions.md.
var meaning = map[pending.Cause]string{
	pending.Strange:    "the database has another history than before and may have lost rows: no nonce is given away until the chain has finalized all that was seen",
	pending.Rewound:    "the chain has taken back what was final",
	pending.Funds:      "the account cannot pay: what waits for money is not sent until it can, nor is what waits behind it",
	pending.Fees:       "what has to be paid is above four fifths of max_fee or max_tip (the rest is kept for a cancellation), or above the max_fee of the transaction itself: it waits until fees fall or more is allowed",
	pending.Keys:       "there is no key for the account, or its signer refuses, throttles or does not answer: nothing more is signed, and all keeps its place",
	pending.Refused:    "the chain will never take the bytes of a transaction: its nonce is filled by a transaction that does nothing",
	pending.Unsignable: "the chain would refuse the next attempt for a nonce: the nonce waits with the attempts that it has",
	pending.Unfilled:   "the chain does not take the filler of a nonce: it is signed again with each block, and all later nonces wait",
	pending.Unclear:    "the node refuses a transaction with an unrecognised error: it is asked again, and the transaction is rejected in the end; what waits behind it goes on then",
	pending.Ahead:      "the chain counts nonces as used of which the database knows nothing: no nonce is given away until their transactions are final and proven, and none while a waiting transaction has the call of one of them",
	pending.Disagree:   "what one endpoint calls final, another one contradicts, or the same one when asked anew: the transaction does not end until they agree",
	pending.Unproven:   "the transaction that used a nonce cannot be proven from its bytes: nothing is concluded from it, and it is looked up again",
	pending.Consumed:   "the chain counts a nonce as used, and no transaction has used it: its transaction gets another nonce",
	pending.Untold:     "a transaction is final, and no endpoint can say any more what it has done: its outcome is unknown",
	pending.Reaped:     "the chain counts fewer nonces of the account than are final, and nobody knows whether it has ceased to exist and begun anew: nothing is signed or sent",
}

// remedy says what to do about an alarm, in the words of docs/transactions.md.
var remedy = map[pending.Cause]string{
	pending.Strange:    "nothing: it ends once all that was ever seen is final and restore_wait has passed",
	pending.Rewound:    "stop what acts on done, and see docs/transactions.md#rewound",
	pending.Funds:      "fund it; no nonce was used up",
	pending.Fees:       "wait, raise them and reload, or cancel what waits; error says what is needed",
	pending.Keys:       "mend it, unless it passes by itself",
	pending.Refused:    "nothing: the nonce is filled, the intent is rejected, and why says why",
	pending.Unsignable: "nothing: its bytes are sent again and again, and later ones go on behind it",
	pending.Unfilled:   "another endpoint that takes it, or a transaction for that nonce from the same key",
	pending.Unclear:    "nothing: after 20 times and two minutes it is rejected (in relaxed order a quarter of an hour); cancel it to go on at once",
	pending.Ahead:      "find out what else sends from the account: see docs/transactions.md#ahead",
	pending.Disagree:   "compare both with a third, such as an explorer, and take the wrong one out of conch.toml",
	pending.Unproven:   "if another endpoint shows it too, upgrade conch; if not, change the endpoint",
	pending.Consumed:   "nothing: it gets another nonce; if you did not sign an authorization, somebody has the key",
	pending.Untold:     "look for its effect on the chain yourself; the alarm ends at once",
	pending.Reaped:     "find out whether the account has ceased to exist, and say so with conch tx life: see docs/transactions.md#reaped",
}
