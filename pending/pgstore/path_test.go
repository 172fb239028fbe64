package pgstore_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// No SQL of this package springs a trap of a role that may create objects in public.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	pgtest.SpringsNoTrap(t, `SELECT array_agg(n) FROM (VALUES (1::bigint)) v(n)`, func(t *testing.T, db *pgtest.DB, wide bool) {
		t.Helper()
		open := pgstore.Open
		if wide {
			open = pgstore.OpenWide
		}
		d, err := open(t.Context(), pg.Config{URL: db.URL}, 2)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		if err := d.Rehearse(t.Context()); err != nil {
			t.Error(err)
		}
		conn := db.Connect(t)
		run(t, conn, `SET search_path = pg_catalog`)
		shelf{d.Store("evm:1", "test"), t, db, conn}.everything()
		// The triggers, on a connection with the unchanged path.
		app := db.Connect(t)
		run(t, app, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator) VALUES (pg_catalog.gen_random_uuid(), 'evm:1', '\x01', '\x01', 1, '\x', 1, 'app')`)
		run(t, app, `UPDATE conch.intents SET cancel = true`)
		run(t, app, `UPDATE conch.pending_transactions SET watched = true`)
	})
}

// everything runs each kind of statement.
func (s shelf) everything() {
	s.t.Helper()
	ctx := s.t.Context()
	one, two, no := s.accept("1"), s.accept("2"), s.accept("no")
	s.accept("1")
	s.done(0, one)
	slot := slotOf(1, two)
	s.write(pending.Batch{New: []pending.Slot{slot}, Rejects: []pending.Hold{{Intent: no.ID, Why: "no"}}})
	slot.Before, slot.Attempts[0].Hash = 1, "another"
	s.write(pending.Batch{Attempts: []pending.Slot{slot}})
	_, queue := s.Queue(ctx, pendingtest.Account, true, 1)
	_, alike := s.Alike(ctx, pendingtest.Account, []chain.Call{two.Call})
	_, err := s.Load(ctx, pendingtest.Account, 0, 100)
	_, page := s.Slots(ctx, pendingtest.Account, 0, 1)
	_, calls := s.Calls(ctx, pendingtest.Account, []uint64{0, 1})
	_, get := s.Get(ctx, two.ID)
	_, list := s.List(ctx, pending.Filter{Most: 9})
	_, counts := s.Counts(ctx)
	for what, err := range map[string]error{
		"queue": queue, "alike": alike, "load": err, "slots": page, "calls": calls, "get": get, "list": list, "counts": counts, "cancel": s.Cancel(ctx, two.ID),
		"settle": s.Settle(ctx, fence.Token{Scope: "s", Epoch: 2}, pendingtest.Account, writes.Add(1)),
	} {
		if err != nil {
			s.t.Errorf("%s: %v", what, err)
		}
	}
	if waits, err := s.Waiting(ctx, pendingtest.Account); err != nil || len(waits.Cancels) != 1 {
		s.t.Errorf("waiting: got %+v, error %v; want one to be cancelled", waits, err)
	}
	for name, err := range s.policies() {
		if err != nil {
			s.t.Errorf("%s: %v", name, err)
		}
	}
	s.write(pending.Batch{Held: []pending.Held{{Intent: s.accept("odd").ID, Refusal: pending.Refusal{Cause: pending.Unclear, Times: 1}, Pause: time.Hour}}})
	s.write(pending.Batch{Hold: &pending.Hold{Intent: two.ID, Why: "it waits"}})
	s.write(pending.Batch{Hold: &pending.Hold{Why: "all wait"}, Changes: []pending.Change{{Index: 1, Status: pending.InBlock, Hash: hashOf(1), Block: chain.Block{Number: 1, Hash: "b"}}}})
	if snap, err := s.Load(ctx, pendingtest.Account, 0, 0); err != nil || len(snap.Runs) != 1 {
		s.t.Errorf("loaded %+v, error %v; want a run", snap, err)
	}
	life, err := s.Life(ctx, pendingtest.Account)
	if word := s.SayOver(ctx, pendingtest.Account, 0); err != nil || word != nil || life.Number != 0 {
		s.t.Errorf("life %+v, errors %v and %v", life, err, word)
	}
	s.write(pending.Batch{Opens: &pending.Life{Number: 1, First: 2}})
	if n := s.archive(0); n == 0 {
		s.t.Error("nothing was archived")
	}
	s.forget(0)
}

// policies runs each kind of statement about them.
func (s shelf) policies() map[string]error {
	ctx, d := s.t.Context(), s.Database()
	limit := []pgstore.Take{of(pgstore.OfValue, 10), of(pgstore.OfCount, 10)}
	failed := map[string]error{"set": d.SetPolicy(ctx, pgstore.Policy{Token: "a", Chain: "evm:1", Rules: []byte(`{}`), Limits: limit})}
	p, err := d.Policy(ctx, "a", "evm:1")
	failed["policy"] = err
	for i, amount := range []int64{7, 7, 2} {
		_, err = s.AcceptWithin(ctx, pending.Intent{Account: pendingtest.Account}, pgstore.Reservation{Token: "a", Version: p.Version, Takes: []pgstore.Take{of(pgstore.OfValue, amount), of(pgstore.OfCount, 1)}})
		if refused := over(err) != nil; refused != (i == 1) {
			s.t.Errorf("%d of 10: %v", amount, err)
		} else if !refused {
			failed["reserve"] = err
		}
	}
	_, failed["policies"] = d.Policies(ctx)
	_, failed["clear"] = d.ClearSpent(ctx, 0, 9)
	failed["delete"] = d.DeletePolicy(ctx, "a", "evm:1")
	return failed
}
