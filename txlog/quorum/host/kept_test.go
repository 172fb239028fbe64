package host

import (
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog"
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
		l.now += round
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
