package member

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
)

// play lets anything happen for a while, then nothing bad, and judges what is left.
func play(seed uint64, flips bool) error {
	w := newWorld(seed, flips)
	for step := 0; step < 800 && w.fault == nil; step++ {
		w.some(true)
	}
	w.heal()
	if w.fault == nil {
		w.judge()
	}
	return w.fault
}

// heal ends all faults, and waits until every goal has an answer and all have everything.
func (w *world) heal() {
	for _, n := range w.nodes {
		n.cut = false
		if !n.up {
			n.start()
		}
	}
	for step := 0; step < 6000 && w.fault == nil; step++ {
		w.some(false)
		if step%50 == 0 && w.quiet() {
			return
		}
	}
	if w.fault == nil {
		w.fail("it does not come to rest: %s", w.unrest())
	}
}

func (w *world) quiet() bool { return w.unrest() == "" }

func (w *world) unrest() string {
	var why []string
	for _, a := range w.asks {
		if a.id != "" && a.answer == nil && a.end == nil {
			why = append(why, "goal "+a.id+" has no answer")
		}
	}
	for _, n := range w.nodes {
		s := n.m.Status()
		if s.Position.Index != uint64(len(w.decided)) || n.m.lastStored() != s.Position.Index || n.m.leading && len(n.m.ahead.line) > 0 || s.Effects > 0 || s.Rebuilding {
			why = append(why, fmt.Sprintf("%s: %+v", n.name, s))
		}
	}
	return strings.Join(why, "; ")
}

// judge looks at the end of a world.
func (w *world) judge() {
	once := map[string]txlog.Record{}
	fresh := txlog.NewCopy(w.genesis, newNotes)
	for _, r := range w.decided {
		if r.Kind == txlog.Executed {
			if _, twice := once[r.GoalID]; twice {
				w.fail("goal %s is in the log twice", r.GoalID)
			}
			once[r.GoalID] = r
			// Executed again at its place it comes to the same: nothing of an old term was proposed in a new one (V3, V4).
			o := fresh.Execute(r.Goal)
			if string(r.Goal) == "lie" {
				o = txlog.Outcome{Fault: r.Fault} // this state machine is wrong about it
			}
			if string(o.Result) != string(r.Result) || o.Fault != r.Fault || string(o.Diff) != string(r.Diff) {
				w.fail("entry %d, %s, says %s, and it is %s", r.Index, describe(r), r.Result, o.Result)
			}
			for i := range r.Effects {
				if w.rung[txlog.Key{Index: r.Index, N: uint64(i)}] == 0 {
					w.fail("the effect of entry %d was not performed", r.Index)
				}
			}
		}
		if err := fresh.Apply(r); err != nil {
			w.fail("entry %d: %v", r.Index, err)
			return
		}
	}
	for _, n := range w.nodes {
		if now := n.m.base.Hash(); now != fresh.Hash() || n.m.base.Scrub() != nil {
			w.fail("%s has another state", n.name)
		}
	}
	for _, a := range w.asks {
		r, is := once[a.id]
		switch {
		case a.answer != nil && (!is || r.Index != a.answer.Index || string(r.Goal) != a.body || string(r.Result) != string(a.answer.Result) || r.Fault != a.answer.Fault):
			w.fail("goal %s was answered with %+v, and the log says %s", a.id, *a.answer, describe(r))
		case errors.Is(a.end, txlog.ErrGoalID) && (!is || string(r.Goal) == a.body):
			w.fail("goal %s was refused for another one with its id, which is not there", a.id)
		}
	}
	if !w.flipped && (w.wrong || len(w.refusals) > 0) {
		w.fail("a memory is doubted that was right:\n%s", strings.Join(w.refusals, "\n"))
	}
}

// Three members under crashes, cuts, late storing and leaders that come and go: one record an index, an acknowledged goal
// is in the log once with its answer, reads have all that was acknowledged before them, and at the end all have the same
// state (B13, B14, B15, V1, V3, V4, V7). Nobody's memory is doubted, since none is wrong.
func TestThreeMembers(t *testing.T) {
	t.Parallel()
	for seed := range seeds() {
		if err := play(seed, false); err != nil {
			t.Fatal(err)
		}
	}
}

// The memory of a leader loses a value: no wrong entry is committed, and the log goes on (look-before-storing).
func TestAWrongMemory(t *testing.T) {
	t.Parallel()
	for seed := range seeds() {
		if err := play(seed, true); err != nil {
			t.Fatal(err)
		}
	}
}

func seeds() uint64 {
	return runtest.ByDay[uint64](40, 20_000)
}
