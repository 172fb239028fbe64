package contracts

import (
	"errors"
	"net/http"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/sequencer"
)

// mayBe is what a caller is told who may have handed something in; nothing for one who has only looked.
func mayBe(r *http.Request) string {
	switch {
	case r.Method != http.MethodPost:
		return ""
	case strings.HasSuffix(r.URL.Path, "drain"):
		return "; it may be done: ask again, which does no harm"
	case strings.HasSuffix(r.URL.Path, "/cancel"):
		return "; the transaction may be given up: ask again, which does no harm"
	default:
		return "; what was asked for may be stored: ask again, with the same idempotency_key"
	}
}

// refusal makes a problem of an error of the node. What it does not know came from the database.
func refusal(r *http.Request, err error) error {
	if problem, ok := errors.AsType[*web.Problem](err); ok {
		return problem
	}
	if field, ok := errors.AsType[*web.FieldError](err); ok {
		return field.Problem(http.StatusUnprocessableEntity)
	}
	if request, ok := errors.AsType[*sequencer.RequestError](err); ok {
		return (&web.FieldError{Field: "request", Text: request.Error()}).Problem(http.StatusUnprocessableEntity)
	}
	if unread, ok := errors.AsType[*sequencer.UnreadError](err); ok {
		return web.Failf(http.StatusServiceUnavailable, "the contract cannot be read now, and nothing was stored: %s. The node goes on trying: ask again", unread.Why).
			Named("contract-unread", "Contract not read").RetryAfter(5)
	}
	away := func(name, title, text string) error {
		return web.Failf(http.StatusServiceUnavailable, "%s", text).Named(name, title).RetryAfter(1)
	}
	switch {
	case errors.Is(err, sequencer.ErrConflict):
		return web.Failf(http.StatusConflict, "another transaction has this idempotency_key: choose another key, or ask for the same").Named("key-taken", "Key taken").About("idempotency_key")
	case errors.Is(err, sequencer.ErrContract):
		return away("not-leading", "Not leading", "the node that runs here was started without this contract, and has stored nothing: restart it, or ask the process that leads (GET /v1/scopes says which)")
	case errors.Is(err, sequencer.ErrBusy):
		return away("busy", "Busy", "too much waits for this contract now, and nothing was stored: ask again in a moment")
	case errors.Is(err, sequencer.ErrStopped):
		return away("term-ended", "Term ended", "this process has just stopped running the contracts' node"+mayBe(r)+". GET /v1/scopes says which process leads")
	case errors.Is(err, sequencer.ErrSlow):
		return web.Failf(http.StatusGatewayTimeout, "the contracts' node did not answer in time%s", mayBe(r)).Named("node-timeout", "The node did not answer").RetryAfter(5)
	}
	problem := web.ProblemOf(r.Context(), err)
	problem.Detail += mayBe(r)
	return problem
}
