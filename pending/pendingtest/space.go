package pendingtest

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/pending"
)

// A caller has guessed the next key of a part of conch, or uses it by chance: it neither stands in that part's way, nor gets hold of what
// is that part's, nor finds it.
func aCallerTakesNoOthersKey(t *testing.T, f Fixture) {
	accept := func(space string, n int) (pending.Intent, error) {
		return f.Store.Accept(t.Context(), pending.Intent{Account: Account, Space: space, Key: "conch:nudge 0xab", Call: call(n)})
	}
	theirs, err := accept("", 1)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // before it is there, and when it is
		ours, err := accept("conch", 2)
		if again, fault := accept("conch", 2); err != nil || fault != nil || ours.ID == theirs.ID || again.ID != ours.ID {
			t.Errorf("got %x and again %x, errors %v and %v; the caller has %x", ours.ID, again.ID, err, fault, theirs.ID)
		}
		if again, err := accept("", 1); err != nil || again.ID != theirs.ID {
			t.Errorf("the caller gets %x, error %v; want its own, %x", again.ID, err, theirs.ID)
		}
		if _, err := accept("", 2); !errors.Is(err, pending.ErrConflict) {
			t.Errorf("a caller who knows the call too: got error %v, want ErrConflict with its own", err)
		}
	}
	found, err := f.Store.List(t.Context(), pending.Filter{Account: Account, Key: "conch:nudge 0xab", Most: 9})
	if err != nil || len(found) != 1 || found[0].ID != theirs.ID {
		t.Errorf("by the key a caller finds %+v, error %v; want its own alone", found, err)
	}
}

// What is said of deadlines is kept, and an intent that is too late ends, unless it has a slot.
func theLateGetNoSlot(t *testing.T, f Fixture) {
	accept := func(block uint64, at time.Time) *pending.ID {
		in, err := f.Store.Accept(t.Context(), pending.Intent{Account: Account, Call: call(1), LastBlock: block, ValidUntil: at})
		if err != nil {
			t.Fatal(err)
		}
		return &in.ID
	}
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	block, over, lasts, sent := accept(90, time.Time{}), accept(0, past), accept(0, future), accept(9, past)
	for _, relaxed := range []bool{false, true} {
		q, err := f.Store.Queue(t.Context(), Account, relaxed, 9)
		if err != nil || len(q.Oldest) != 4 {
			t.Fatalf("queue %+v, error %v", q, err)
		}
		for i, want := range []struct {
			block uint64
			late  bool
		}{{90, false}, {0, true}, {0, false}, {9, true}} {
			if w := q.Oldest[i]; w.LastBlock != want.block || w.Late != want.late {
				t.Errorf("intent %d: last block %d, late %v; want %+v", i, w.LastBlock, w.Late, want)
			}
		}
	}
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, sent)}})
	f.Events(t)
	f.write(t, pending.Batch{Expired: []pending.ID{*block, *over, *sent}})
	for _, c := range []struct {
		id   *pending.ID
		want string
	}{{block, "expired"}, {over, "expired"}, {lasts, pending.Queued}, {sent, "open"}} {
		if r := f.record(t, *c.id); r.Standing() != c.want || r.Outcome() != "" && r.Outcome() != c.want {
			t.Errorf("it is %s, with the outcome %q; want %s", r.Standing(), r.Outcome(), c.want)
		}
	}
	events := f.Events(t)
	if len(events) != 2 || events[0].Kind != pending.ToldFinal || events[0].Outcome() != "expired" || events[0].Version != 2 {
		t.Errorf("told are %+v, want two that have expired", events)
	}
	if ids, _ := f.queue(t, 9); len(ids) != 1 || ids[0] != *lasts {
		t.Errorf("queue: %x, want the one that has time", ids)
	}
	if err := f.Store.Write(t.Context(), f.Current, pending.Batch{Account: Account, Number: 99, New: []pending.Slot{slot(1, over)}}); !errors.Is(err, pending.ErrOvertaken) {
		t.Errorf("a slot for an expired one: got error %v, want ErrOvertaken", err)
	}
}
