package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/grouptest"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// beginning starts nodes under an epoch over a database, and again as long as it does not answer.
func beginning(d *pgstore.Database, epoch int64) grouptest.Begin {
	return func(ctx context.Context) sequencer.Store {
		for {
			if s, err := d.Begin(ctx, token(epoch)); err == nil {
				return s
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return nil
			}
		}
	}
}

// P28, P38 to P42: nodes, each over its own database, die at every crash point: three of them by day, and five otherwise, as in
// memory.
func TestCrashes(t *testing.T) {
	t.Parallel()
	members := 3
	if runtest.Whole() {
		members = 5
	}
	grouptest.Crashes(t, members, func(t *testing.T) grouptest.Begin { return beginning(opened(t, pgtest.New(t).Config()), 1) })
}
