package contracts

import (
	"context"
	"log/slog"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/internal/pause"
)

const (
	forgetEvery = time.Minute
	forgetBatch = 500                    // at once: what is accepted for the account waits for no more than that
	forgetLull  = 200 * time.Millisecond // between two batches
)

// span is how long the calls of an account are kept: as long as the contract that sends from it and forgets last keeps what
// has ended, since the calls do not say whose they are.
type span struct {
	calls node.Calls
	age   time.Duration
}

// with returns the span if one more contract sends from the account.
func (s span) with(a Agreed) span {
	if s.age = max(s.age, a.ForgetAfter); a.ForgetAfter < 0 {
		s.age = forEver
	}
	return s
}

const forEver = time.Duration(1<<63 - 1)

// forget has each account's queue delete, a little at a time, this service's calls that have ended long ago, until ctx ends.
// The ledger has them, and nobody asks for them again: what is not in a final block has not ended.
func (t *term) forget(ctx context.Context) {
	for ctx.Err() == nil {
		rest := forgetEvery
		for name, s := range t.spans {
			if s.age == forEver {
				continue
			}
			n, err := s.calls.Forget(ctx, s.age, forgetBatch)
			if err != nil && ctx.Err() == nil {
				t.log.Warn("transactions of the contracts that have ended are not forgotten", slog.String("account", name), slog.Any("error", err))
			}
			if n >= forgetBatch {
				rest = forgetLull
			}
		}
		_ = pause.For(ctx, rest)
	}
}
