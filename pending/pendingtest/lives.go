package pendingtest

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// wearing returns a slot whose attempt is good until a height.
func wearing(index uint64, id *pending.ID, until uint64) pending.Slot {
	s := slot(index, id)
	s.Attempts[0].Until, s.Attempts[0].Version, s.Attempts[0].Filler = until, "1", id == nil
	return s
}

// A life of an account begins in a fenced write, with the ends of the slots that are dead, or not at all, and what Load says of attempts is of the newest one. An intent says in which it has ended,
// and its key is known in all.
func aLifeBegins(t *testing.T, f Fixture) {
	old, moved := f.accept(t, "old", 1), f.accept(t, "moved", 2)
	f.write(t, pending.Batch{New: []pending.Slot{wearing(0, nil, 90)}})
	if got := f.load(t, 9); got.Life != (pending.Life{}) || got.Until != 90 || got.Begun {
		t.Errorf("before an intent has a slot: got %+v", got)
	}
	f.write(t, pending.Batch{New: []pending.Slot{wearing(1, &old.ID, 70), wearing(2, &moved.ID, 80)}})
	if got := f.load(t, 9); got.Until != 90 || !got.Begun || got.Next != 3 {
		t.Errorf("in the first life: got %+v", got)
	}
	dead := pending.Change{Index: 2, Status: pending.Usurped, Intent: pending.Again, Hash: attempt(2, "a").Hash}
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 1, Status: pending.Finalized, Intent: pending.Done, Hash: attempt(1, "a").Hash}}})
	next := pending.Life{Number: 1, First: 3, Since: 95}
	for _, b := range []pending.Batch{{Opens: &pending.Life{Number: 2, First: 3}}, {Opens: &pending.Life{}}} {
		b.Account, b.Number, b.Changes = Account, writes.Add(1), []pending.Change{dead}
		if err := f.Store.Write(t.Context(), f.Current, b); !errors.Is(err, pending.ErrNoLife) {
			t.Errorf("life %d is to begin: got error %v, want ErrNoLife", b.Opens.Number, err)
		}
	}
	if err := f.Store.Write(t.Context(), f.Stale, pending.Batch{Account: Account, Number: writes.Add(1), Opens: &next}); !errors.Is(err, fence.ErrStale) {
		t.Errorf("with a stale token: got error %v", err)
	}
	if ids, _ := f.queue(t, 9); len(ids) != 0 {
		t.Errorf("no life has begun, and the intents %x wait", ids)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{dead}, Opens: &next})
	if got := f.load(t, 9); got.Life != next || got.Until != 0 || got.Begun {
		t.Errorf("in the next life: got %+v, want none of its attempts", got)
	}
	if got, err := f.Store.Life(t.Context(), Account); err != nil || got != next {
		t.Errorf("got life %+v, error %v, want %+v", got, err, next)
	}
	if again := f.accept(t, "old", 1); again.ID != old.ID {
		t.Error("a key of the old life is not known any more")
	}
	if ids, _ := f.queue(t, 9); len(ids) != 1 || ids[0] != moved.ID {
		t.Errorf("the intents %x wait, want %x", ids, moved.ID)
	}
	f.write(t, pending.Batch{New: []pending.Slot{wearing(3, nil, 99), wearing(4, &moved.ID, 160)}})
	if got := f.load(t, 9); got.Until != 160 || !got.Begun || got.Next != 5 {
		t.Errorf("with attempts in the next life: got %+v", got)
	}
	if b, err := f.Store.Backlog(t.Context(), Account); err != nil || b.Next != 2 {
		t.Errorf("the next nonce is %d, error %v; want 2, as the chain counts in this life", b.Next, err)
	}
	if a, b := f.record(t, old.ID), f.record(t, moved.ID); a.First != 0 || b.First != 3 || *b.Index != 4 {
		t.Errorf("the nonces of the lives begin at %d and %d, want 0 and 3", a.First, b.First)
	}
}

// A person says that a life is over, and of no other than the newest.
func aPersonEndsALife(t *testing.T, f Fixture) {
	said := func(number uint64, want error) {
		t.Helper()
		if err := f.Store.SayOver(t.Context(), Account, number); !errors.Is(err, want) {
			t.Errorf("life %d is over: got error %v, want %v", number, err, want)
		}
	}
	said(1, pending.ErrNoLife)
	said(0, nil)
	said(0, nil)
	if got := f.load(t, 9); !got.Life.Over || got.Life.Number != 0 {
		t.Errorf("got life %+v, want the first one, which is over", got.Life)
	}
	next := pending.Life{Number: 1, First: 7, Since: 9}
	f.write(t, pending.Batch{Opens: &next})
	said(0, pending.ErrNoLife)
	if got := f.load(t, 9); got.Life != next {
		t.Errorf("got life %+v, want %+v", got.Life, next)
	}
	said(1, nil)
	if got, err := f.Store.Life(t.Context(), Account); err != nil || !got.Over {
		t.Errorf("got life %+v, error %v, want it to be over", got, err)
	}
}
