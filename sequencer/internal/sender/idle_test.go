package sender

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/model"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// leaving is a story in which ranges are long and an x has landed. It notes when coordinators are left out.
type leaving struct {
	*story

	left []string
}

// newLeaving begins with an intent at a.
func newLeaving(t *testing.T, intent string) *leaving {
	t.Helper()
	s := newStory(t)
	s.contract.Range, s.contract.Life = 1000, 10
	s.start()
	s.play("submit k0 make x", "stored", "accepted a", "assemble a k0", "ask a k0", "stored", "dispatched a k0=A1", "stored", "block k0=A1", "block", "block", "stored")
	s.play("submit k1 "+intent, "stored", "accepted a")
	return &leaving{story: s}
}

// passes lets time pass, with a block each time that one is due. All coordinators beat.
func (l *leaving) passes(lasts, block time.Duration, often func()) {
	for end := l.now + lasts; l.now < end; {
		l.play("beat a k1", "beat b k1", "beat c k1")
		done := l.play("wait 250ms")
		if l.now%block == 0 {
			done = append(done, l.play("block")...)
		}
		for _, line := range done {
			if begins, is := strings.CutSuffix(line, " out for a while, since nothing lands by it"); is {
				l.left = append(l.left, fmt.Sprint(strings.TrimPrefix(begins, "leave "), " at ", l.now.Round(time.Second)))
			}
		}
		l.play("accepted b", "stored")
		often()
	}
}

// hides says of the x that it is in use.
func (l *leaving) hides() {
	x := model.Fake{}.State(l.attempts[0], 0)
	l.askWith("k1", wire.Context{Version: 1, Locked: []ledger.StateID{x}})
}

// I2: a coordinator that beats and answers has ten seconds in which it dispatches something. Whatever it does with an intent
// meanwhile, then the next one has it, and it is named.
func TestACoordinatorThatDoesNothing(t *testing.T) {
	t.Parallel()
	for what, does := range map[string]func(l *leaving){
		"it asks for nothing":        func(*leaving) {},
		"it asks for attempts alone": func(l *leaving) { l.play("assemble a k1") },
		"it says that all is in use": (*leaving).hides,
		"it keeps a grant":           func(l *leaving) { l.play("assemble a k1", "ask a k1", "stored") },
		"it gives back what it has":  func(l *leaving) { l.play("accepted a", "returned a moved k1") },
		"it gives back what else is there": func(l *leaving) {
			l.play("accepted a", fmt.Sprint("returned a moved k1 k", l.now), fmt.Sprint("submit k", l.now, " make z"), "stored")
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLeaving(t, "move x y")
			l.passes(14*time.Second, time.Second, func() { does(l) })
			if !slices.Equal(l.left, []string{"a at 10s"}) {
				t.Errorf("left out: %q, want a after ten seconds", l.left)
			}
			if idle, st := l.m.Idlers(), l.m.Snapshot()[0]; st.Coordinator != "b" || !slices.Equal(idle, []ledger.Account{"a"}) {
				t.Errorf("%s is with %q, and %v are said to be idle; want b and a", st.Key, st.Coordinator, idle)
			}
		})
	}
}

// A coordinator is left out for longer each time, until something lands by it: while it is left out others may still be with it, and
// then two do the same work.
func TestHowLongAnIdleCoordinatorIsLeftOut(t *testing.T) {
	t.Parallel()
	l := newLeaving(t, "move x y")
	idle := map[string]time.Duration{}
	for range 12 {
		l.passes(10*time.Second, time.Second, func() {
			l.play("accepted a", "accepted c")
			for _, a := range l.m.Idlers() {
				idle[string(a)+fmt.Sprint(l.m.peers[a].idles)] += 250 * time.Millisecond
			}
		})
	}
	if l.play("block", "block", "block", "block", "block", "wait 50ms"); len(l.m.Idlers()) > 0 {
		t.Errorf("this node was behind, and still leaves out %v", l.m.Idlers())
	}
	for name, want := range map[string]time.Duration{"a1": 20 * time.Second, "a2": 40 * time.Second} {
		if got := idle[name]; got < want-time.Second || got > want+time.Second {
			t.Errorf("%s: it is left out for %v, want %v; all: %v", name, got, want, idle)
		}
	}
}

// A coordinator is given its time anew when it dispatches something, or when this node could not go on itself. Nobody is blamed for
// what cannot be carried out. Where blocks are rare a coordinator has so many as may lock its states.
func TestACoordinatorIsGivenTime(t *testing.T) {
	t.Parallel()
	const begins = 8 * time.Second
	for what, c := range map[string]struct {
		intent string
		block  time.Duration
		does   func(l *leaving) // after eight seconds
		often  func(l *leaving)
		takes  time.Duration // until it is left
	}{
		"for nothing": {"move x y", time.Second, func(*leaving) {}, func(*leaving) {}, 10 * time.Second},
		"it dispatches": {"move x y", time.Second, func(l *leaving) {
			l.play("submit k2 make x", "stored", "accepted a", "assemble a k2", "ask a k2", "stored", "dispatched a k2=A2")
		}, func(*leaving) {}, 18 * time.Second},
		"something lands": {"move x y", time.Second, func(l *leaving) {
			l.play("submit k2 make x", "stored", "accepted a", "assemble a k2", "ask a k2", "stored", "block k2=A2")
		}, func(*leaving) {}, 18 * time.Second},
		"this node stood still": {"move x y", time.Second, func(l *leaving) { l.now += 8 * time.Second }, func(*leaving) {}, 18 * time.Second},
		"the store stood still": {"move x y", time.Second, func(l *leaving) {
			l.play("submit k2 make x", "beat a k1", "wait 250ms", "beat a k1", "wait 250ms", "beat a k1", "wait 250ms", "beat a k1", "wait 250ms", "stored", "accepted a")
		}, func(*leaving) {}, 19 * time.Second},
		"it has just started": {"move x y", time.Second, func(l *leaving) {
			l.play("restarted a", "beat a k1", "accepted a")
		}, func(*leaving) {}, 28 * time.Second},
		"it had no use for a grant": {"move x y", time.Second, func(l *leaving) {
			l.play("assemble a k1", "ask a k1", "stored", "returned a moved k1", "beat a k1", "wait 250ms", "accepted a")
		}, func(*leaving) {}, time.Hour},
		"this node was behind": {"move x y", time.Second, func(l *leaving) {
			l.play("block", "block", "block", "block", "block")
		}, func(*leaving) {}, 18 * time.Second},
		"what it has cannot be carried out": {"move gold y", time.Second, func(*leaving) {}, (*leaving).hides, time.Hour},
		"blocks are rare":                   {"move x y", 4 * time.Second, func(*leaving) {}, func(*leaving) {}, 36 * time.Second},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLeaving(t, c.intent)
			often := func() { c.often(l) }
			l.passes(begins, c.block, often)
			c.does(l)
			l.passes(40*time.Second-begins, c.block, often)
			var want []string
			if c.takes < time.Hour {
				want = []string{fmt.Sprint("a at ", c.takes)}
			}
			if got := l.left[:min(len(l.left), 1)]; !slices.Equal(got, want) {
				t.Errorf("left out: %q, want %q first", l.left, want)
			}
		})
	}
}
