package transactions

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

// A policy says too what its callers see. Without read_others that is what their own token has had accepted, and everything else is as if
// it were not there. Whatever answers with a transaction, or with something about one, asks sight, sees or seesAll: TestWhatATokenSees goes
// over all routes.

// sightFor is for how long it is believed what the callers of a token see.
const sightFor = time.Second

// sight returns the token whose transactions alone its callers see on a chain; empty: they see all. Tokens without a policy see all, as
// those of people who watch, and so does everybody where no tokens are configured, or where there are no policies.
func (p *policies) sight(ctx context.Context, token, chain string, kept intake) (only string, err error) {
	token = storedName(token)
	if _, has := kept.(limiter); token == "" || !has {
		return "", nil
	}
	p.mu.Lock()
	k, has := p.known[[2]string{token, chain}]
	p.mu.Unlock()
	if !has || time.Since(k.at) >= sightFor {
		if k, err = p.of(ctx, token, chain, true); err != nil {
			return token, err
		}
	}
	if k.rules == nil || k.rules.ReadOthers {
		return "", nil
	}
	return token, nil
}

// sees returns nil if the callers of a token see a transaction, errUnknown if it is as if it were not there. of is the token by which it
// was accepted.
func (ts *transactions) sees(ctx context.Context, token, chain, of string) error {
	if token != "" && of == storedName(token) {
		return nil
	}
	only, err := ts.policies.sight(ctx, token, chain, ts.accounts.storeOf(chain))
	if err == nil && only != "" {
		err = errUnknown
	}
	return err
}

// seesAll returns why a caller may not see what concerns the transactions of all tokens.
func (ts *transactions) seesAll(ctx context.Context) error {
	for _, b := range ts.accounts.chainStores() {
		switch only, err := ts.policies.sight(ctx, web.Token(ctx), b.id, b.store); {
		case err != nil:
			return err
		case only != "":
			return web.Failf(http.StatusForbidden, "the policy of the token %q for %s does not allow to read what others have sent", only, b.id).
				Named("policy", "Refused by the policy").Within(limitAnswer{Name: "read_others"})
		}
	}
	return nil
}

// ofAnother returns the error for a caller whose key another token has used for the same call. One that does not see that transaction is
// not given its ID, with which it could do nothing.
func (ts *transactions) ofAnother(ctx context.Context, token, chain string, kept intake) error {
	only, err := ts.policies.sight(ctx, token, chain, kept)
	if err == nil && only != "" {
		err = pending.ErrConflict
	}
	return err
}

// forStream is sees, in the words of a stream of events.
func (ts *transactions) forStream(ctx context.Context, token, chain, of string) error {
	err := ts.sees(ctx, token, chain, of)
	if errors.Is(err, errUnknown) {
		return web.ErrHidden
	}
	return err
}
