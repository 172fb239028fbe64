package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule/pgstore"
)

// slots gives conch cron its slots.
type slots struct{ store *pgstore.Store }

// OpenSlots returns the slots of conch cron in a database, and does not connect yet.
func OpenSlots(ctx context.Context, at pgmint.Config) (cli.Slots, error) {
	store, err := pgstore.Open(ctx, at.Connection(" cron"), 1)
	if err != nil {
		return nil, err
	}
	return slots{store}, nil
}

func (s slots) Begin(ctx context.Context, t fence.Token, c cli.Call) (taken bool, note string, err error) {
	turn, err := s.store.BeginSlot(ctx, t, pgstore.Slot{Call: c.ID, Length: c.Length, Waited: c.Waited, Again: c.Again})
	if last := turn.Last; turn.Taken && last.CutOff() {
		note = fmt.Sprintf("the last command of %q was cut off, which %s began at %s", t.Scope, last.Holder, last.Began.Format(time.RFC3339))
	}
	return turn.Taken, note, err
}

func (s slots) End(ctx context.Context, t fence.Token, c cli.Call, code int) error {
	return s.store.EndSlot(ctx, t, c.ID, code)
}

func (s slots) Close() { s.store.Close() }
