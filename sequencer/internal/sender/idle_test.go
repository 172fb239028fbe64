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
			if len(l.left) != 1 || l.left[0] != "a at 10s" && l.left[0] != "a at 11s" { // what rests is looked at when it is offered again
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
			l.play("submit k2 make x", "stored", "accepted a", "assemble a k1", "ask a k1", "stored", "dispatched a k1=A2", "stored")
		}, func(*leaving) {}, 18 * time.Second},
		"it dispatches others": {"move x y", time.Second, func(*leaving) {}, func(l *leaving) {
			key := fmt.Sprint("k", l.now)
			l.play("submit "+key+" make z", "stored", "accepted a", "assemble a "+key, "ask a "+key, "stored")
			l.play(fmt.Sprintf("dispatched a %s=A%d", key, len(l.attempts)), "stored", fmt.Sprintf("block %s=A%d", key, len(l.attempts)))
		}, 10 * time.Second},
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

// A coordinator that says that it has dispatched is left when a grant has run out, unless something has landed by it since that was given,
// or it or this node could not go on meanwhile.
func TestACoordinatorWhoseGrantRunsOut(t *testing.T) {
	t.Parallel()
	another := []string{"submit k2 make z", "stored", "accepted a", "assemble a k2", "ask a k2", "stored", "dispatched a k2=A3", "stored"}
	for what, c := range map[string]struct {
		does []string // after four seconds
		left []string
	}{
		"nothing lands":              {another, []string{"a at 11s"}},
		"something lands":            {append(slices.Clone(another), "block k2=A3"), nil},
		"it has just started":        {[]string{"restarted a", "beat a"}, nil},
		"it was silent":              {[]string{"submit k2 make z", "stored", "accepted a", "wait 1s"}, nil},
		"this node has just started": {append([]string{"crash"}, another...), nil},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := newLeaving(t, "move x y")
			l.play("assemble a k1", "ask a k1", "stored", "dispatched a k1=A2", "stored")
			l.passes(4*time.Second, time.Second, func() {})
			l.play(c.does...)
			if l.passes(9*time.Second, time.Second, func() {}); !slices.Equal(l.left, c.left) {
				t.Errorf("left out: %q, want %q", l.left, c.left)
			}
			if l.passes(3*time.Second, time.Second, func() {}); c.left != nil && !slices.Equal(l.left, c.left) {
				t.Errorf("it is left out again for the next grant: %q", l.left)
			}
		})
	}
}

// What a coordinator has dispatched may land when it is left out already: then it is asked again, and left out for no longer the next time.
func TestALandingEndsALeave(t *testing.T) {
	t.Parallel()
	l := newLeaving(t, "move x y")
	l.play("assemble a k1", "ask a k1", "stored")
	l.passes(11*time.Second, time.Second, func() {})
	before := l.m.Idlers()
	l.play("block k1=A2")
	if idle, idles := l.m.Idlers(), l.m.peers["a"].idles; !slices.Equal(before, []ledger.Account{"a"}) || len(idle) > 0 || idles > 0 {
		t.Errorf("%v are left out, then %v, a %d times in a row, want a and then none", before, idle, idles)
	}
}

// What another one was given while a coordinator was left out goes back when the reason is gone, some time later, as when a range turns: else
// two coordinate at once, and each takes the other's states, until the last of it is done.
func TestTheWorkOfOneThatWasLeftOutGoesBack(t *testing.T) {
	t.Parallel()
	for what, ends := range map[string]func(l *leaving, behind *uint64){
		"something lands by it": func(l *leaving, _ *uint64) { l.play("block k2=A2") },
		"this node was behind":  func(l *leaving, _ *uint64) { l.play("block", "block", "block", "block", "block", "wait 50ms") },
		"it has caught up":      func(_ *leaving, behind *uint64) { *behind = 0 },
		"":                      func(*leaving, *uint64) {},
	} {
		l, behind := newLeaving(t, "move x y"), uint64(9)
		l.m.cfg.Said = func(ledger.Account) uint64 { return l.m.final() - min(behind, l.m.final()-1) }
		with := func() ledger.Account {
			of := l.m.Snapshot()
			return of[slices.IndexFunc(of, func(st Status) bool { return st.Key == "k1" })].Coordinator
		}
		l.play("submit k2 make z", "stored", "accepted a", "assemble a k2", "ask a k2", "stored")
		l.passes(13*time.Second, time.Second, func() {})
		before := with()
		ends(l, &behind)
		l.passes(time.Second, time.Second, func() {})
		soon := with()
		l.passes(2*time.Second, time.Second, func() { l.play("accepted a") })
		want := ledger.Account("a")
		if what == "" {
			want = "b"
		}
		if then := with(); before != "b" || soon != "b" || then != want {
			t.Errorf("%s: it is with %s, a second later with %s, and then with %s; want b, b and %s", what, before, soon, then, want)
		}
	}
}

// A leave that is over by its time alone has the work go back, too: new intents go to the first of the order again, and what another one
// still has waits for states that those make, perhaps.
func TestTheWorkGoesBackWhenALeaveIsOver(t *testing.T) {
	t.Parallel()
	l := newLeaving(t, "move gold y") // which nobody can carry out yet
	l.play("submit k2 move x z", "stored", "accepted a")
	with := func(key string) ledger.Account {
		of := l.m.Snapshot()
		return of[slices.IndexFunc(of, func(st Status) bool { return st.Key == key })].Coordinator
	}
	isOut := func() bool { return slices.Contains(l.m.Idlers(), "a") }
	l.passes(11*time.Second, time.Second, func() {})
	l.play("assemble b k2", "ask b k2", "stored", "dispatched b k2=A2", "stored", "block k2=A2", "block", "block", "stored")
	if before := with("k1"); before != "b" || !isOut() {
		t.Fatalf("k1 is with %s, and a is left out: %v; want b, and that it is", before, isOut())
	}
	for wait := 0; isOut() && wait < 60; wait++ {
		l.passes(500*time.Millisecond, time.Second, func() {})
	}
	l.play("submit k3 make gold", "stored", "accepted a")
	soon, next := with("k1"), with("k3")
	l.passes(3*time.Second, time.Second, func() { l.play("accepted a") })
	if then := with("k1"); soon != "b" || next != "a" || then != "a" {
		t.Errorf("a's leave is over: k1 is with %s, what is new with %s, and later k1 with %s; want b, a and a", soon, next, then)
	}
	if idles := l.m.peers["a"].idles; idles != 1 {
		t.Errorf("a was left out %d times in a row, want 1: nothing has landed by it", idles)
	}
}

// A coordinator that was behind when nothing landed by it is asked again as soon as it says that it has caught up; and once only, until
// something lands by it, since it may lie.
func TestACoordinatorThatHasCaughtUp(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		behind uint64 // when it is left out
		times  int    // that it is
		free   bool   // when it says that it is not behind
	}{"it was behind": {9, 1, true}, "it was not": {4, 1, false}, "it was once more": {9, 2, false}} {
		l, behind := newLeaving(t, "move x y"), c.behind
		l.m.cfg.Said = func(ledger.Account) uint64 { return l.m.final() - min(behind, l.m.final()-1) }
		isOut := func() bool { return slices.Contains(l.m.Idlers(), "a") }
		for n := range c.times {
			behind = c.behind
			for range 40 {
				if !isOut() {
					l.passes(time.Second, time.Second, func() { l.play("accepted a") })
				}
			}
			if l.passes(2*time.Second, time.Second, func() {}); !isOut() {
				t.Errorf("%s: it is not left out while it is behind, time %d", what, n+1)
			}
			behind = 0
			l.passes(time.Second, time.Second, func() {})
		}
		if isOut() == c.free {
			t.Errorf("%s: it is left out %v when it says that it is not behind", what, isOut())
		}
	}
}

// A coordinator that was behind while it had work has its time anew when it says that it has caught up, before anything is held against it,
// too. One that says so each second is left out all the same: that counts once in as long as it would be left out.
func TestACoordinatorThatWasBehindHasItsTimeAnew(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		isBehind func(second int) bool
		left     []string
	}{
		"it was not":            {func(int) bool { return false }, []string{"a at 10s", "b at 20s"}},
		"it was for eight":      {func(s int) bool { return s < 8 }, []string{"a at 18s"}},
		"it is":                 {func(int) bool { return true }, []string{"a at 10s", "b at 20s"}},
		"it says so, and so on": {func(s int) bool { return s%2 == 0 }, []string{"a at 17s"}},
	} {
		l := newLeaving(t, "move x y")
		l.m.cfg.Said = func(ledger.Account) uint64 {
			if final := l.m.final(); !c.isBehind(int(l.now / time.Second)) {
				return final
			}
			return 1
		}
		if l.passes(22*time.Second, time.Second, func() {}); !slices.Equal(l.left, c.left) {
			t.Errorf("%s: left out: %q, want %q", what, l.left, c.left)
		}
	}
}

// A coordinator that has more than one request can hold is left alone while it dispatches some: the others have to wait.
func TestABusyCoordinatorGoesOn(t *testing.T) {
	t.Parallel()
	l := newLeaving(t, "move x y")
	for n := range 200 {
		l.play(fmt.Sprintf("submit n%d make z", n), "stored")
	}
	l.play("accepted a", "accepted a")
	n := 0
	l.passes(14*time.Second, time.Second, func() {
		key := fmt.Sprint("n", n)
		l.play("assemble a "+key, "ask a "+key, "stored", fmt.Sprintf("dispatched a %s=A%d", key, n+2), "stored")
		n++
	})
	if len(l.left) > 0 {
		t.Errorf("left out: %q, though it goes on", l.left)
	}
	if l.passes(12*time.Second, time.Second, func() {}); len(l.left) == 0 {
		t.Error("it is waited for when it does nothing any more")
	}
}
