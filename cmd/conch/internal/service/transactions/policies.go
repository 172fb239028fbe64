package transactions

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

// limiter is a store that accepts an intent within the limits of a policy, or refuses it. One in memory has no policies.
type limiter interface {
	AcceptWithin(ctx context.Context, in pending.Intent, take pgstore.Reservation) (pending.Intent, error)
}

// policies has those of the database that callers have come with. One that has changed since is refused when an intent is stored by it, so
// it is read again then, and before anybody is refused. It is safe for concurrent use.
type policies struct {
	read  func(ctx context.Context, token, chain string) (pgstore.Policy, error)
	spent func(ctx context.Context, token, chain string) (pgstore.Policy, error) // as it is now, with what was spent

	mu    sync.Mutex
	known map[[2]string]known
}

// known is a policy, or that there was none.
type known struct {
	rules   *rules // nil: none
	version int64
	at      time.Time
}

// noneFor is for how long it is believed that a token has no policy.
const noneFor = time.Second

func newPolicies(read, spent func(ctx context.Context, token, chain string) (pgstore.Policy, error)) *policies {
	return &policies{read: read, spent: spent, known: map[[2]string]known{}}
}

// of returns the policy of a token on a chain, read now if fresh is set.
func (p *policies) of(ctx context.Context, token, chain string, fresh bool) (known, error) {
	id := [2]string{token, chain}
	p.mu.Lock()
	k, has := p.known[id]
	p.mu.Unlock()
	if has && !fresh && (k.rules != nil || time.Since(k.at) < noneFor) {
		return k, nil
	}
	k = known{at: time.Now()}
	stored, err := p.read(ctx, token, chain)
	switch {
	case errors.Is(err, pgstore.ErrNoPolicy):
	case err != nil:
		return k, err
	default:
		if k.rules, err = fromStore(stored); err != nil {
			return k, web.Failf(http.StatusInternalServerError, "the policy of the token %q for %s cannot be applied: %v", token, chain, err)
		}
		k.version = stored.Version
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[id] = k
	return k, nil
}

// judge says what an intent takes under the policy of a token. Without a policy it takes nothing, if its account is unlimited.
func (k known) judge(token string, a Account, in pending.Intent) (take pgstore.Reservation, no error) {
	take = pgstore.Reservation{Token: token, Version: k.version}
	if k.rules == nil {
		if a.Unlimited {
			return pgstore.Reservation{}, nil
		}
		return take, noPolicy(token, a)
	}
	takes, refused := k.rules.judge(wanted{account: a.Address, call: in.Call, maxFee: a.MaxFee, ceiling: in.MaxFee})
	if refused != nil {
		limit := limitAnswer{Name: refused.limit}
		if refused.most != nil {
			limit.Most = refused.most.String()
		}
		return take, notAllowed(token, a, refused.text).Within(limit)
	}
	take.Takes = takes
	return take, nil
}

// accept stores an intent for the callers of a token; empty: no tokens are configured, so nobody is limited. A refused one is stored under
// no key that is new; a known key answers as ever.
func (p *policies) accept(ctx context.Context, token string, a Account, kept intake, in pending.Intent) (pending.Intent, error) {
	token = storedName(token)
	within, has := kept.(limiter)
	if token == "" || !has && a.Unlimited {
		return kept.Accept(ctx, in)
	}
	if !has {
		return in, noPolicy(token, a)
	}
	for try := range mostChanges {
		fresh := try > 0
		k, err := p.of(ctx, token, a.Chain.ID(), fresh)
		if err != nil {
			return in, err
		}
		take, no := k.judge(token, a, in)
		switch {
		case no != nil && !fresh:
			continue
		case no != nil && in.Key == "":
			return in, no
		case no != nil:
			take.Version = 0
		}
		out, err := within.AcceptWithin(ctx, in, take)
		switch over, is := errors.AsType[*pgstore.LimitError](err); {
		case is:
			return out, exceeded(token, a, over)
		case errors.Is(err, pgstore.ErrPolicyChanged) && no != nil:
			return out, no
		case errors.Is(err, pgstore.ErrPolicyChanged):
			continue
		}
		return out, err
	}
	return in, pending.ErrBusy
}

// mostChanges is more often than a policy changes while a request is judged by it.
const mostChanges = 10

// mayCancel returns why the callers of a token may not cancel transactions of an account, nil if they may.
func (p *policies) mayCancel(ctx context.Context, token, chain string, a Account, kept intake) error {
	token = storedName(token)
	_, has := kept.(limiter)
	switch {
	case token == "" || !has && a.Unlimited:
		return nil
	case !has:
		return noPolicy(token, a)
	}
	k, err := p.of(ctx, token, chain, true)
	switch {
	case err != nil:
		return err
	case k.rules == nil && !a.Unlimited:
		return noPolicy(token, a)
	case k.rules != nil && (!k.rules.Cancel || !k.rules.accounts.has(a.Address)):
		return notAllowed(token, a, "does not allow to cancel its transactions").Within(limitAnswer{Name: "cancel"})
	}
	return nil
}

// storedName returns a token's name as the database takes it: a file of tokens may have any bytes.
func storedName(token string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(token, "?"), "\x00", "?")
}

// limitAnswer is the limit in the answer to a request that exceeds it.
type limitAnswer struct {
	Name  string     `json:"name"`
	Most  string     `json:"most,omitempty"`
	Spent string     `json:"spent,omitempty"`
	Left  string     `json:"left,omitempty"`
	Until *time.Time `json:"until,omitempty"` // when it is whole again
}

func notAllowed(token string, a Account, text string) *web.Problem {
	return web.Failf(http.StatusForbidden, "account %q: the policy of the token %q %s", a.Name, token, text).Named("policy", "Refused by the policy")
}

func noPolicy(token string, a Account) *web.Problem {
	return web.Failf(http.StatusForbidden, "account %q: the token %q has no policy for its chain, and may not spend without one: an operator writes one with \"conch policy set\", or unlimited = true for the account in [[accounts]]",
		a.Name, token).Named("no-policy", "No policy")
}

// limitNames are the fields of a policy for what the database counts.
var limitNames = map[string]string{pgstore.OfCount: "count_a_minute", pgstore.OfValue: "value_a_day", pgstore.OfFee: "fee_a_day"}

func limitName(what string) string {
	if name := limitNames[what]; name != "" {
		return name
	}
	return "erc20 " + what
}

// exceeded returns the answer to one that needs more than is left: 429 if it may be asked again within a minute.
func exceeded(token string, a Account, e *pgstore.LimitError) error {
	left := new(big.Int).Sub(e.Most, e.Spent)
	if left.Sign() < 0 { // the policy was lowered meanwhile
		left.SetInt64(0)
	}
	limit := limitAnswer{Name: limitName(e.What), Most: e.Most.String(), Spent: e.Spent.String(), Left: left.String()}
	if e.Again.IsZero() {
		needs := "this needs more than the whole of it"
		if e.Batch != nil {
			needs = fmt.Sprintf("all of the batch needs %v: send it in parts", e.Batch)
		}
		return notAllowed(token, a, fmt.Sprintf("has a limit, %s of %v, and %s", limit.Name, e.Most, needs)).Within(limit)
	}
	limit.Until = new(e.Again.UTC())
	text := fmt.Sprintf("has a limit, %s of %v, of which %v is left until %s", limit.Name, e.Most, left, e.Again.UTC().Format(time.RFC3339))
	if e.Batch != nil {
		text += fmt.Sprintf(", and all of the batch needs %v", e.Batch)
	}
	p := notAllowed(token, a, text).Within(limit)
	if e.What == pgstore.OfCount {
		p.Status = http.StatusTooManyRequests
		return p.RetryAfter(max(1, int(e.Again.Sub(e.At)/time.Second)+1))
	}
	return p
}

// policyOf reads the policy of a token on a chain.
func (reg *accounts) policyOf(ctx context.Context, token, chain string) (pgstore.Policy, error) {
	reg.mu.Lock()
	db := reg.db
	reg.mu.Unlock()
	if db == nil {
		return pgstore.Policy{}, pgstore.ErrNoPolicy
	}
	return db.Policy(ctx, token, chain)
}
