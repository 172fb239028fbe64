package host

import (
	"errors"
	"sync"
	"testing"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum"
	"github.com/conchhq/conch/txlog/store"
	"github.com/conchhq/conch/txlog/wire"
)

// A message of another log is no message of this one: a goal would be executed where nobody has asked for it.
func TestAMessageOfAnotherLog(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	l := &loop{Host: h}
	for log, want := range map[txlog.ID]bool{h.log: true, {1}: false} {
		body, err := wire.Encode(wire.Message{Log: log, Body: wire.Submit{GoalID: "g", Goal: []byte("{}")}})
		if err != nil {
			t.Fatal(err)
		}
		switch in := l.received(transport.Envelope{From: "b", Body: body}).(type) {
		case Received:
			if !want {
				t.Errorf("of log %s came %+v", log.Short(), in)
			}
		case Faulty:
			if want || !errors.Is(in.Why, txlog.ErrChain) {
				t.Errorf("of log %s came %+v", log.Short(), in)
			}
		}
	}
}

// A store that another one has taken the place of does not ask for it again once its core was made anew: the two would take turns.
func TestATwinIsRememberedWhenTheCoreBeginsAnew(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	before := h.core
	h.core.twin = 9
	if err := (&loop{Host: h}).restart(errAgain); err != nil || h.core == before || h.core.twin != 9 {
		t.Errorf("of another store the new core knows %d: %v", h.core.twin, err)
	}
}

// What a snapshot or an entry from others has brought is not read before it is stored. What a member promises shows in no answer.
func TestWhatIsNotReadBeforeItIsStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		writes []Write
		load   bool
		unread bool
	}{
		{nil, false, false}, {nil, true, true}, {[]Write{{Persist: &quorum.Persist{}}}, false, false}, {[]Write{{Adopt: &Adopted{}}}, false, true},
		{[]Write{{Step: &store.Step{}}}, false, false}, {[]Write{{Step: &store.Step{}}, {Step: &store.Step{Records: make([]txlog.Record, 1)}}}, false, true},
	} {
		out := Output{Load: c.load}
		out.Writes = c.writes
		if out.Unread() != c.unread {
			t.Errorf("of %+v users wait: %t", c, out.Unread())
		}
	}
}

// slowKeeper is a store that stores a snapshot when it is let to, and fails then.
type slowKeeper struct {
	store.Store

	asked, fails chan struct{}
}

func (s slowKeeper) Keep(txlog.Position, []byte, store.Step) error {
	s.asked <- struct{}{}
	<-s.fails
	return store.ErrStep
}

// A snapshot that comes while another one is being stored is left out, and of one that does not fit the store the core does not hear: it would
// give what is not there. The next one is stored again.
func TestOneSnapshotIsStoredAtATime(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	h.core.copy.Take()
	photo, is := h.core.copy.Taken()
	if !is {
		t.Fatal("there is no photo")
	}
	for range 2 {
		s := slowKeeper{h.cfg.Store, make(chan struct{}, 2), make(chan struct{})}
		h.cfg.Store = s
		var helpers sync.WaitGroup
		l := &loop{Host: h, ctx: t.Context(), helpers: &helpers}
		l.snapshot(Snapshot{Photo: photo})
		<-s.asked
		l.snapshot(Snapshot{Photo: photo})
		close(s.fails)
		helpers.Wait()
		if told := l.Take(); len(s.asked) > 0 || len(told) > 0 {
			t.Errorf("%d more were stored meanwhile, and the core has heard %v", len(s.asked), told)
		}
	}
}

// What users read is kept in memory only as long as it is what the copy has: a view of a large state holds all that was replaced since.
func TestAViewIsNotKeptBehindTheCopy(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	l := &loop{Host: h}
	for behind, want := range map[uint64]bool{0: true, 1: false} {
		view, at, err := h.core.View()
		if err != nil {
			t.Fatal(err)
		}
		at.Index += behind
		h.shown = shown{of: h.core.copy, view: view, at: at}
		l.step(Tick{})
		if (h.shown.view != nil) != want {
			t.Errorf("%d behind, a view is kept: %t", behind, !want)
		}
	}
}
