package quorum

import (
	"errors"
	"sync"
	"testing"

	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/wire"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
	"github.com/conchhq/conch/txlog/store"
)

// A message of another log is no message of this one: a goal would be executed where nobody has asked for it.
func TestAMessageOfAnotherLog(t *testing.T) {
	t.Parallel()
	h, _ := still(t)
	l := &loop{Host: h}
	for log, want := range map[txlog.ID]bool{h.log: true, {1}: false} {
		body, err := wire.Encode(wire.Message{Log: log, Body: wire.GoalSent{Goal: txlog.Goal{ID: "g", Body: []byte("{}")}}})
		if err != nil {
			t.Fatal(err)
		}
		switch in := l.received(transport.Envelope{From: "b", Body: body}).(type) {
		case core.Received:
			if !want {
				t.Errorf("of log %s came %+v", log.Short(), in)
			}
		case core.Faulty:
			if want || !errors.Is(in.Why, txlog.ErrChain) {
				t.Errorf("of log %s came %+v", log.Short(), in)
			}
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
	h.core.Copy().Take()
	photo, is := h.core.Copy().Taken()
	if !is {
		t.Fatal("there is no photo")
	}
	for range 2 {
		s := slowKeeper{h.cfg.Store, make(chan struct{}, 2), make(chan struct{})}
		h.cfg.Store = s
		var helpers sync.WaitGroup
		l := &loop{Host: h, ctx: t.Context(), helpers: &helpers}
		l.snapshot(core.Snapshot{Photo: photo})
		<-s.asked
		l.snapshot(core.Snapshot{Photo: photo})
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
		h.shown = shown{of: h.core.Copy(), view: view, at: at}
		l.step(core.Tick{})
		if (h.shown.view != nil) != want {
			t.Errorf("%d behind, a view is kept: %t", behind, !want)
		}
	}
}
