package transactions

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

// mostDryRuns is how many calls of a node are tried out at a time. Endpoints do that after all that has to do with sending.
const mostDryRuns = 4

// DryRun is what would become of a request for a transaction now. Nothing is stored, signed or sent for it, nothing is taken from a limit, and
// its key stays free.
type DryRun struct {
	AsOf     time.Time    `json:"as_of"`
	Account  string       `json:"account"`
	Chain    string       `json:"chain"`
	Address  string       `json:"address"`
	Accepted bool         `json:"accepted"` // the request would be answered with 202
	Refusal  *web.Problem `json:"refusal"`  // how it would be answered otherwise
	ID       *string      `json:"id"`       // of the transaction that has its key, so that nothing new would be sent
	Limits   []dryLimit   `json:"limits"`   // of the policy
	tried
}

// dryLimit is a limit, and what a request would take from it.
type dryLimit struct {
	limitAnswer
	Needs string `json:"needs"`
}

// tried is what the call would do on the head, and cost.
type tried struct {
	Works   *bool      `json:"works"`            // null while that is not known
	Reason  string     `json:"reason,omitempty"` // why it does not
	Gas     *uint64    `json:"gas"`
	MaxFee  *string    `json:"max_fee"`
	MaxTip  *string    `json:"max_tip"`
	Cost    *string    `json:"cost"` // the most that it takes from the account, its value included
	Balance *string    `json:"balance"`
	Waits   string     `json:"waits,omitempty"`   // why it would be signed later
	Unknown string     `json:"unknown,omitempty"` // why something is null
	Block   *BlockName `json:"block"`
	By      string     `json:"by,omitempty"`
}

// quotes tries calls out at their chains. It keeps nothing.
type quotes struct {
	ask    func(ctx context.Context, a Account, call chain.Call, speed chain.Speed) (chain.Quote, error)
	places chan struct{}
}

func newQuotes(ask func(context.Context, Account, chain.Call, chain.Speed) (chain.Quote, error)) *quotes {
	return &quotes{ask: ask, places: make(chan struct{}, mostDryRuns)}
}

// quote tries a call out at its chain.
func (s *service) quote(ctx context.Context, a Account, call chain.Call, speed chain.Speed) (chain.Quote, error) {
	shared, release, err := s.chains.acquire(a.Chain, s.connect)
	if err != nil {
		return chain.Quote{}, err
	}
	defer release()
	return shared.driver.Quote(ctx, a.Address, call, speed)
}

// of says what a call would do and cost, or that this is not known, within two seconds.
func (q *quotes) of(ctx context.Context, a Account, in pending.Intent) tried {
	ctx, cancel := context.WithTimeout(ctx, findPatience)
	defer cancel()
	select {
	case q.places <- struct{}{}:
		defer func() { <-q.places }()
	case <-ctx.Done():
		return tried{Unknown: errFinds.Error()}
	}
	found, err := q.ask(ctx, a, in.Call, in.Speed)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return tried{Unknown: errSilent.Error()}
	case err != nil:
		return tried{Unknown: inert(err)}
	}
	return tell(found, a, in)
}

func inert(err error) string { return fmt.Sprintf(harmless, cli.Inert(err.Error())) }

// tell says what a quote means for an account's call.
func tell(q chain.Quote, a Account, in pending.Intent) tried {
	out := tried{Balance: amount(q.Balance), By: q.By, Block: &BlockName{Number: q.Block.Number, Hash: q.Block.Hash.String()}}
	switch {
	case q.Fault == nil:
		out.Works = new(true)
	case errors.Is(q.Fault, chain.ErrCall):
		out.Works, out.Reason = new(false), inert(q.Fault)
		if q.Reason != "" {
			out.Reason = fmt.Sprintf(harmless, cli.Inert(q.Reason))
		}
	case errors.Is(q.Fault, chain.ErrFunds):
		out.Waits, out.Unknown = inert(q.Fault), "what it would do is not known before the account can pay its value"
	default:
		out.Unknown = inert(q.Fault)
	}
	if q.Gas > 0 {
		out.Gas = &q.Gas
	}
	most, own := in.Below(a.mostFee())
	fee, err := q.Suggested.Bid(q.Least, chain.Fee{}, most, 0)
	if err != nil {
		if out.Waits = inert(err); own {
			out.Waits = "its own max_fee: " + out.Waits
		}
		return out
	}
	out.MaxFee, out.MaxTip = amount(fee.Max), amount(fee.Tip)
	if q.Gas == 0 || fee.Max == nil {
		return out
	}
	cost := new(big.Int).Mul(fee.Max, new(big.Int).SetUint64(q.Gas))
	if in.Call.Value != nil {
		cost.Add(cost, in.Call.Value)
	}
	if out.Cost = amount(cost); cost.Cmp(q.Balance) > 0 && out.Waits == "" {
		out.Waits = fmt.Sprintf("it may cost %v wei, and the account has %v", cost, q.Balance)
	}
	return out
}

// isDry reports whether a request is for a dry run. Any other word than true or false is a fault: it would send something.
func isDry(r *http.Request) (bool, error) {
	switch word := r.URL.Query()["dry_run"]; {
	case len(word) == 0 || len(word) == 1 && word[0] == "false":
		return false, nil
	case len(word) == 1 && word[0] == "true":
		return true, nil
	}
	return false, web.Failf(http.StatusBadRequest, "dry_run is neither true nor false").Wrong("dry_run")
}

// dryRun answers what would become of a request. Its faults are answered as they would be.
func (a *api) dryRun(w http.ResponseWriter, r *http.Request, account string, in pending.Intent) error {
	leave, err := place(a.looks)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := a.patient(r)
	defer cancel()
	out, err := a.transactions.dryRun(ctx, account, in)
	if err != nil {
		return notAccepted(err)
	}
	return web.Answer(w, http.StatusOK, out)
}

func (ts *transactions) dryRun(ctx context.Context, account string, in pending.Intent) (out DryRun, err error) {
	token := web.Token(ctx)
	a, kept, err := ts.checked(ctx, token, account, &in)
	if err != nil {
		return out, err
	}
	id := a.Chain.ID()
	out = DryRun{AsOf: time.Now().UTC(), Account: a.Name, Chain: id, Address: a.Address.String(), Limits: []dryLimit{}}
	var refused error
	if out.Limits, refused, err = ts.policies.try(ctx, token, a, kept, in); err != nil {
		return out, err
	}
	known, err := ts.underKey(ctx, token, id, kept, in)
	switch {
	case errors.Is(err, errKeyTaken):
		refused = err
	case err != nil:
		return out, err
	case known != nil: // a known key is answered as ever
		out.ID, refused = new(idText(known.ID)), nil
	}
	if out.Accepted = refused == nil; !out.Accepted {
		out.Refusal = web.ProblemOf(ctx, notAccepted(refused))
	}
	out.tried = ts.quotes.of(ctx, a, in)
	return out, nil
}

// underKey returns what has the key of an intent, nil if nothing has, or errKeyTaken if that has another call or is not for this token.
func (ts *transactions) underKey(ctx context.Context, token, id string, kept store, in pending.Intent) (*pending.Record, error) {
	if in.Key == "" {
		return nil, nil
	}
	found, err := kept.List(ctx, pending.Filter{Account: in.Account, Key: in.Key, Most: 1})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	switch err := ts.sees(ctx, token, id, found[0].Token); {
	case err != nil && !errors.Is(err, errUnknown):
		return nil, err
	case err != nil || !found[0].Asks(in):
		return nil, errKeyTaken
	}
	return &found[0], nil
}
