package transactions

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

// maxWord is the largest body of a request that says a word, in bytes.
const maxWord = 4 << 10

// LifeView is the life that an account is in, on a chain where accounts may cease to exist and begin anew.
type LifeView struct {
	Account string `json:"account"`
	Life    uint64 `json:"life"`        // how often it has begun anew
	Since   uint64 `json:"since_block"` // no block up to this one has any of its transactions
	Over    bool   `json:"over"`        // somebody has said so, and the next one has not begun yet
}

// lifeBody is the body of POST /v1/accounts/{account}/life, which conch tx life --over writes.
type lifeBody struct {
	Over *uint64 `json:"over"` // the life that is over
}

// lives reports whether accounts on a chain may begin anew.
func (s *service) lives(ctx context.Context, c Chain) (bool, error) {
	shared, release, err := s.chains.acquire(c, s.connect)
	if err != nil {
		return false, err
	}
	defer release()
	d, err := shared.driver.Describe(ctx)
	return d.Lives, err
}

func (a *api) getLife(w http.ResponseWriter, r *http.Request) error {
	return a.withLife(w, r, func(context.Context, store, Account) error { return nil })
}

// postLife takes a person's word that a life of an account is over. Its leader acts upon it.
func (a *api) postLife(w http.ResponseWriter, r *http.Request) error {
	if err := a.transactions.seesAll(r.Context()); err != nil {
		return err // it concerns the transactions of all tokens
	}
	var body lifeBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	if body.Over == nil {
		return notAccepted(&web.FieldError{Field: "over", Text: "is missing: it is the life that is over, as GET says"})
	}
	return a.withLife(w, r, func(ctx context.Context, kept store, one Account) error {
		err := kept.SayOver(ctx, one.Address, *body.Over)
		if errors.Is(err, pending.ErrNoLife) {
			return web.Failf(http.StatusConflict, "the account is not in its life %d", *body.Over).Named("another-life", "Another life")
		}
		if err == nil {
			a.log.WarnContext(r.Context(), "a life of an account is over, as somebody has said", slog.String("account", one.Name),
				slog.Uint64("life", *body.Over), slog.String("actor", web.Actor(r.Context())))
			a.transactions.managers.wake(one.Chain.ID(), one.Address)
		}
		return err
	})
}

// withLife does something with an account, and answers with its life.
func (a *api) withLife(w http.ResponseWriter, r *http.Request, do func(context.Context, store, Account) error) error {
	one, kept, known := a.transactions.accounts.find(r.PathValue("account"))
	if !known {
		return web.Failf(http.StatusNotFound, "%v", errUnknownAccount).Named("unknown-account", "Unknown account")
	}
	ctx, cancel := a.patient(r)
	defer cancel()
	switch lives, err := a.transactions.lives(ctx, one.Chain); {
	case err != nil:
		return notAccepted(err)
	case !lives:
		return web.Failf(http.StatusConflict, "on %s no account ceases to exist, so it never begins anew", one.Chain.ID()).Named("no-lives", "No lives")
	}
	if err := do(ctx, kept, one); err != nil {
		return notAccepted(err)
	}
	l, err := kept.Life(ctx, one.Address)
	if err != nil {
		return notAccepted(err)
	}
	return web.Answer(w, http.StatusOK, LifeView{Account: one.Name, Life: l.Number, Since: l.Since, Over: l.Over})
}
