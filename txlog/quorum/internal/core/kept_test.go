package core

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/store"
)

// unreadable is a store whose records cannot be read.
type unreadable struct {
	store.Store

	why error
}

func (u unreadable) Records(uint64, int) ([]txlog.Record, error) { return nil, u.why }

// A store that cannot be read says nothing of what it has: that is no place over which a snapshot has passed, for which a leader would be
// believed.
func TestAnUnreadablePlace(t *testing.T) {
	t.Parallel()
	l := newLone(t)
	for range 20 {
		l.now += Round
		l.step(Tick{})
	}
	for _, c := range []struct {
		of    store.Store
		index uint64
		is    bool
		err   error
	}{
		{l.disk, 0, true, nil}, {l.disk, 1, true, nil}, {l.disk, 99, false, nil}, {unreadable{l.disk, store.ErrGone}, 1, false, nil},
		{unreadable{l.disk, store.ErrDamaged}, 1, false, store.ErrDamaged},
	} {
		if at, is, err := placeOf(c.of, c.index); is != c.is || !errors.Is(err, c.err) || is && at.Index != c.index {
			t.Errorf("entry %d: %+v, %t, %v, want %+v", c.index, at, is, err, c)
		}
	}
	has, err := Load(l.disk, kv.New)
	if err != nil {
		t.Fatal(err)
	}
	has.At = func(uint64) (txlog.Position, bool, error) { return txlog.Position{}, false, store.ErrDamaged }
	l.core.behind = &txlog.Position{Index: 1}
	l.core.caughtUp()
	for _, a := range l.core.Step(l.now, Loaded{Has: has}).Acts {
		if lost, is := a.(Lost); is && errors.Is(lost.Why, store.ErrDamaged) {
			return
		}
	}
	t.Error("the member goes on with a store that cannot be read")
}

// A node whose store has dropped records, and that has not heard of it yet, answers nothing for them. An answer that began after them
// would be taken for a lie, and the node would not be asked any more for a while.
func TestWhatIsDroppedIsNotGiven(t *testing.T) {
	t.Parallel()
	_, c, records, s := fortyRecords(t)
	if err := s.Write(store.Step{Records: records}); err != nil {
		t.Fatal(err)
	}
	if err := s.Keep(c.Position(), c.Snapshot(), store.Step{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Compact(20); err != nil {
		t.Fatal(err)
	}
	for from, want := range map[uint64]int{1: 0, 20: 0, 21: 5, 40: 1} {
		a, err := Pack(s, follower.Give{From: from, Upto: min(from+4, 40), History: follower.History{Serial: 7}})
		if err != nil || len(a.Records) != want || a.Serial != 7 || want > 0 && a.Records[0].Index != from {
			t.Errorf("from %d on: %d records, %v, want %d", from, len(a.Records), err, want)
		}
	}
	if _, err := Pack(unreadable{s, store.ErrDamaged}, follower.Give{From: 21, Upto: 22}); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("a store that is damaged: %v", err)
	}
}
