package schedule

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule/pgstore"
)

// slots gives conch cron its slots.
type slots struct {
	store *pgstore.Store
	at    pgmint.Config
}

// OpenSlots returns the slots of conch cron in a database, and does not connect yet.
func OpenSlots(ctx context.Context, at pgmint.Config) (cli.Slots, error) {
	store, err := pgstore.Open(ctx, at.Connection(" cron"), 1)
	if err != nil {
		return nil, err
	}
	return slots{store, at}, nil
}

func (s slots) Begin(ctx context.Context, t fence.Token, c cli.Call) (taken bool, note string, err error) {
	turn, err := s.store.BeginSlot(ctx, t, pgstore.Slot{Call: c.ID, Length: c.Length, Waited: c.Waited, Again: c.Again})
	if last := turn.Last; turn.Taken && last.CutOff() {
		note = fmt.Sprintf("the last command of %q was cut off, which %s began at %s", t.Scope, last.Holder, last.Began.Format(time.RFC3339))
	}
	return turn.Taken, note, pg.Locked(ctx, s.at.Connection(" cron"), err)
}

func (s slots) End(ctx context.Context, t fence.Token, c cli.Call, code int) error {
	return s.store.EndSlot(ctx, t, c.ID, code)
}

// Stranger says who leads a scope without being a call of a cron: one that leads for a whole slot has taken one.
func (s slots) Stranger(ctx context.Context, scope string, length time.Duration) (string, error) {
	last, err := s.store.Slots(ctx, scope)
	if err != nil {
		return "", err
	}
	leaders, now, err := leadersOf(ctx, s.at, s.store)
	if err != nil {
		return "", err
	}
	slot := pgstore.LastSlot{Scope: scope, Length: length}
	if len(last) > 0 {
		slot.Epoch = last[0].Epoch
	}
	return leaders[scope].stranger(slot, now), nil
}

// leader is who leads a scope; nobody if it has no name.
type leader struct {
	name  string
	epoch int64
	since time.Time
}

// leadersOf returns who leads each scope, and the database's time.
func leadersOf(ctx context.Context, at pgmint.Config, store *pgstore.Store) (map[string]leader, time.Time, error) {
	server, err := store.Held(ctx)
	if err != nil {
		return nil, server.At, err
	}
	observer, err := pgops.Observe(ctx, at)
	if err != nil {
		return nil, server.At, err
	}
	defer observer.Close()
	all, err := observer.Scopes(ctx, "")
	leaders := map[string]leader{}
	for _, s := range all {
		if s.Held {
			leaders[s.Scope] = leader{s.Holder, s.Epoch, s.AcquiredAt}
		}
	}
	return leaders, server.At, err
}

// stranger says that a leader is no call of a cron; empty: it may be one.
func (l leader) stranger(slot pgstore.LastSlot, now time.Time) string {
	if l.name == "" || l.epoch == slot.Epoch || now.Sub(l.since) < slot.Length {
		return ""
	}
	return fmt.Sprintf("%q has led the scope %q since %s, and is no conch cron: the command of the cron is not run while it leads. Give the cron a scope of its own",
		l.name, slot.Scope, l.since.UTC().Format(time.RFC3339))
}

func (s slots) Close() { s.store.Close() }
