package transactions

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// complaints logs errors of the chain and the database, each at most once in outage.Every,
// since they recur at every try (S21).
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
	text, why := "TRANSACTIONS CANNOT BE KEPT, and none is sent", ofStore(err)
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
	case errors.Is(err, chain.ErrFinality):
		text = "IT IS NOT KNOWN WHICH BLOCKS ARE FINAL: nothing is sent until the endpoint says so, or finality is set"
	case errors.Is(err, chain.ErrUnsupported):
		text = "THE CHAIN IS OF A KIND THAT IS NOT SUPPORTED: nothing is sent"
	case errors.Is(err, chain.ErrUnproven):
		text = "A TRANSACTION OF THE ACCOUNT CANNOT BE PROVEN: nothing is concluded from it"
	case errors.Is(err, fence.ErrStale):
		text = "deposed: the database refused a write"
	case errors.Is(err, chain.ErrThread), errors.Is(err, chain.ErrNotFound):
		text = "blocks or transactions seen before are gone: everything that is not final is looked up again"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if last, before := c.said[text]; before && now.Sub(last) < outage.Every {
		return
	}
	c.said[text] = now
	c.log.Error(text, slog.String("error", why))
}

// ofChain reports whether an error is of the chain, which has connections that break as well.
func ofChain(err error) bool {
	known := []error{chain.ErrUnreachable, chain.ErrAnswer, chain.ErrForeign, chain.ErrFinality, chain.ErrUnsupported, chain.ErrUnproven, chain.ErrThread, chain.ErrNotFound}
	return slices.ContainsFunc(known, func(one error) bool { return errors.Is(err, one) })
}

// ofStore describes an error of the database, which is a bare deadline if no connection was free.
func ofStore(err error) string {
	if text := pgmint.Sentence(err); !errors.Is(err, context.DeadlineExceeded) || text != err.Error() {
		return text
	}
	return "the database did not answer in time: is it reachable from here, and not overloaded?"
}
