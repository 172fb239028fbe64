package transactions

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/outage"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

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
	case errors.Is(err, fence.ErrStale):
		text = "deposed: the database refused what was to be stored"
	case errors.Is(err, chain.ErrThread), errors.Is(err, chain.ErrNotFound):
		text = "the thread of the chain's blocks was lost: everything is looked up"
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

// ofStore is the sentence about an error of the database of transactions. Where all of its
// connections were waited for, the error is the end of the wait and bears no mark.
func ofStore(err error) string {
	if text := pgmint.Sentence(err); !errors.Is(err, context.DeadlineExceeded) || text != err.Error() {
		return text
	}
	return "the database did not answer in time: is it reachable from here, and not overloaded?"
}
