package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
)

func (s shelf) held(in pending.Intent) (pending.Hold, time.Time) {
	s.t.Helper()
	r, err := s.Get(s.t.Context(), in.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Hold, r.HoldSince
}

// The time of a hold stays while the same intent is in the way, and is another one with another hold.
func TestSinceWhenAnAccountIsHeld(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	one, two := s.accept("1"), s.accept("2")
	if hold, since := s.held(two); hold != (pending.Hold{}) || !since.IsZero() {
		t.Errorf("before any hold: held by %+v since %v, want nothing", hold, since)
	}
	var last time.Time
	for _, c := range []struct {
		hold pending.Hold
		same bool
	}{
		{pending.Hold{Intent: one.ID, Why: "it has 5 and needs 9"}, false},
		{pending.Hold{Intent: one.ID, Why: "it has 6 and needs 9"}, true},
		{pending.Hold{Intent: two.ID, Why: "it has 6 and needs 9"}, false},
		{pending.Hold{Why: "strange"}, false},
		{pending.Hold{Why: "strange"}, true},
		{pending.Hold{Why: "ahead"}, false},
	} {
		s.write(pending.Batch{Hold: &c.hold})
		hold, since := s.held(two)
		if hold != c.hold || since.Equal(last) != c.same || since.IsZero() {
			t.Errorf("held by %+v since %v, before since %v; want %+v and the same time: %v", hold, since, last, c.hold, c.same)
		}
		last = since
	}
	s.write(pending.Batch{Hold: &pending.Hold{}})
	if hold, since := s.held(two); hold != (pending.Hold{}) || !since.IsZero() {
		t.Errorf("once it has ended: held by %+v since %v, want nothing", hold, since)
	}
}

// A write that the server carries out late leaves alone the hold that a later write has stored.
func TestALateHoldSaysNothing(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	in := s.accept("1")
	late := pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), Hold: &pending.Hold{Why: "old"}}
	s.write(pending.Batch{Hold: &pending.Hold{Why: "new"}})
	if err := s.Write(t.Context(), current, late); err != nil {
		t.Fatal(err)
	}
	if hold, _ := s.held(in); hold.Why != "new" {
		t.Errorf("after a late write: held by %+v, want the newer reason", hold)
	}
}

// A write with a hold does not wait for another write of the same leader that is under way, and which
// shares the lock on the account's row until its end.
func TestAHoldWaitsForNoOtherWrite(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	in := s.accept("1")
	s.write(pending.Batch{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	other, err := s.db.Connect(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := other.Exec(ctx, `SELECT conch.pending_claim('evm:1', $1, 's', 2, $2)`, []byte(pendingtest.Account), int64(writes.Add(1))); err != nil {
		t.Fatal(err)
	}
	hold := pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), Hold: &pending.Hold{Why: "it waits"}}
	if err := s.Write(ctx, current, hold); err != nil {
		t.Fatal(err)
	}
	if hold, _ := s.held(in); hold.Why != "it waits" {
		t.Errorf("held by %+v, want the stored reason", hold)
	}
}
