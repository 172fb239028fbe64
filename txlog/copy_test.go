package txlog

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Two copies that apply the same records are equal: the goal is executed once, at the leader, and
// its diff is all that the others need (B14, B15).
func TestCopiesOfOneLogAreEqual(t *testing.T) {
	t.Parallel()
	leader, all := sampleLog(t)
	executions := 0
	follower := NewCopy(sampleGenesis(), func() State { return counted{newToy(), &executions} })
	for i, r := range all {
		opened, err := Open(r.Raw())
		if err != nil {
			t.Fatal(err)
		}
		if err := follower.Apply(opened); err != nil {
			t.Fatal(err)
		}
		if follower.Hash() != r.State || follower.Position() != r.Position() || follower.Position().Index != uint64(i+1) {
			t.Fatalf("after %d records the copy is at %v", i+1, follower.Position())
		}
	}
	if executions > 0 {
		t.Errorf("the follower has executed %d goals", executions)
	}
	if !bytes.Equal(leader.Snapshot(), follower.Snapshot()) || leader.Hash() != follower.Hash() {
		t.Error("the copies differ")
	}
	if !reflect.DeepEqual(follower.Members(), all[5].Members) {
		t.Errorf("the members are %v", follower.Members())
	}
	if got := follower.Effects(); len(got) != 1 || got[0].Key != (Key{Index: 7}) || string(got[0].Body) != "again" {
		t.Errorf("what waits to be performed is %+v", got)
	}
	if last, is := follower.Last(); !is || last.Hash() != all[8].Hash() {
		t.Error("the last record is another one")
	}
	if got, err := follower.Query([]byte("light")); err != nil || string(got) != "blue" {
		t.Errorf("the light is %q, %v", got, err)
	}
	if _, is := NewCopy(sampleGenesis(), newToy).Last(); is {
		t.Error("an empty log has a last record")
	}
}

// counted counts what it executes.
type counted struct {
	State

	times *int
}

func (c counted) Execute(goal []byte, budget *Budget) Outcome {
	*c.times++
	return c.State.Execute(goal, budget)
}

// A goal that fails, that is no goal, that breaks a limit or the state machine itself, is an entry like any other, and
// changes nothing (V3, V4). All copies take the same step.
func TestAFailedGoalChangesNothing(t *testing.T) {
	t.Parallel()
	c := NewCopy(sampleGenesis(), newToy)
	other := NewCopy(sampleGenesis(), newToy)
	state := c.state.Hash()
	for i, body := range []string{"fail " + strings.Repeat("x", 3*limits.MostFault), "what", "break", "huge", "fail \xff\xfe", "fail", "loop", "deaf"} {
		r := next(t, c, goal(fmt.Sprint(i), body))
		if r.Fault == "" || r.Diff != nil || r.Effects != nil || c.state.Hash() != state {
			t.Errorf("goal %.20q has made %+v", body, r.Entry)
		}
		if known, is := c.Lookup(r.GoalID); !is || known.Fault != r.Fault || known.Index != uint64(i+1) {
			t.Errorf("its result is kept as %+v", known)
		}
		if err := other.Apply(r); err != nil || other.Hash() != c.Hash() {
			t.Fatalf("another copy says %v", err)
		}
	}
	e := goal("with both", "light=red")
	e.Fault, e.Diff = "it has failed", []byte("light\x00\x00red")
	if _, err := c.Next(e); !errors.Is(err, ErrMalformed) {
		t.Errorf("an entry with a fault and a diff: %v", err)
	}
	if _, err := c.Query([]byte("break")); !errors.Is(err, ErrMalformed) {
		t.Errorf("a query that breaks the state machine: %v", err)
	}
}

// No state machine can say of a goal that it has taken too many steps: what it says itself is told apart, with whatever text and however long.
func TestOnlyTheBudgetSaysThatItIsUsedUp(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{"loop", "deaf"} {
		if o := Run(newToy(), []byte(goal)); !errors.Is(FaultError(o.Fault), ErrBudget) {
			t.Errorf("%s: %q is no word of the budget", goal, o.Fault)
		}
	}
	own := Run(newToy(), []byte("loop")).Fault
	for _, text := range []string{own, own + strings.Repeat("!", limits.MostFault-len(own)), ErrBudget.Error(), "", "no"} {
		o := Run(newToy(), []byte("fail "+text))
		if o.Fault == "" || errors.Is(FaultError(o.Fault), ErrBudget) || o.Check() != nil {
			t.Errorf("a goal that fails by itself with %.50q has the fault %.80q: %v", text, o.Fault, o.Check())
		}
	}
}

// A goal that never ends uses its steps up and fails, in the same way each time; so does one whose state machine does not hear of it, and so
// does a query. One that needs just as many as it may has not failed.
func TestAGoalHasABudget(t *testing.T) {
	t.Parallel()
	for _, goal := range []string{"loop", "deaf"} {
		if o := Run(newToy(), []byte(goal)); o.Fault != "too many steps: the goal takes more than 1048576" || o.Diff != nil || o.Result != nil {
			t.Errorf("%s: %+v", goal, o)
		}
	}
	for _, query := range []string{"loop", "deaf"} {
		if answer, err := Ask(newToy().View(), []byte(query)); !errors.Is(err, ErrBudget) || answer != nil {
			t.Errorf("the query %s is answered %q, %v", query, answer, err)
		}
	}
	over := func(b *Budget, steps int) (is bool) {
		defer func() { is = recover() != nil }()
		b.Spend(steps)
		return false
	}
	b := NewBudget(10)
	for i, c := range []struct {
		steps int
		over  bool
	}{{4, false}, {0, false}, {-3, false}, {6, false}, {0, false}, {1, true}, {0, true}} {
		if got := over(b, c.steps); got != c.over {
			t.Errorf("%d: after %d more steps it is over: %v", i, c.steps, got)
		}
	}
	if !over(NewBudget(10), 11) || over(nil, limits.MostSteps+1) {
		t.Error("more at once than there are, or a limit where there is none")
	}
}

// A copy refuses what does not come next, and what it was told stays as it was (V7, B15).
func TestWhatDoesNotFollowIsRefused(t *testing.T) {
	t.Parallel()
	_, all := sampleLog(t)
	another := sampleGenesis()
	another.Nonce = counting(2)
	reseal := func(r Record, change func(e *Entry)) Record {
		e := r.Entry
		change(&e)
		sealed, err := Seal(e)
		if err != nil {
			t.Fatal(err)
		}
		return sealed
	}
	for name, c := range map[string]struct {
		record Record
		want   error
		after  int // records that are there
	}{
		"the same again":        {all[1], ErrChain, 2},
		"a gap":                 {all[3], ErrChain, 2},
		"another index":         {reseal(all[2], func(e *Entry) { e.Index = 7 }), ErrChain, 2},
		"another log":           {reseal(all[2], func(e *Entry) { e.Log = another.ID() }), ErrChain, 2},
		"another one before it": {reseal(all[2], func(e *Entry) { e.Prev = counting(9) }), ErrChain, 2},
		"a term that is over":   {reseal(all[8], func(e *Entry) { e.Index, e.Prev, e.Term = 10, all[8].Hash(), 1 }), ErrChain, 9},
		"a goal again":          {reseal(all[2], func(e *Entry) { e.GoalID = "g1" }), ErrChain, 2},
		"another value before":  {reseal(all[1], func(e *Entry) { e.Diff = []byte("light\x00green\x00red") }), ErrDiff, 1},
		"no diff":               {reseal(all[1], func(e *Entry) { e.Diff = []byte("light") }), ErrMalformed, 1},
		"effects that are done": {reseal(all[4], func(e *Entry) { e.Index, e.Prev = 6, all[4].Hash() }), ErrChain, 5},
		"effects of nobody":     {reseal(all[4], func(e *Entry) { e.Upto.N = 7 }), ErrChain, 4},
		"not sealed":            {Record{}, ErrMalformed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			copied := NewCopy(sampleGenesis(), newToy)
			for _, r := range all[:c.after] {
				if err := copied.Apply(r); err != nil {
					t.Fatal(err)
				}
			}
			before := copied.Snapshot()
			if err := copied.Apply(c.record); !errors.Is(err, c.want) || errors.Is(err, ErrSpoiled) {
				t.Errorf("it says %v, want %v", err, c.want)
			}
			if !bytes.Equal(copied.Snapshot(), before) {
				t.Error("the copy has changed")
			}
			for _, r := range all[c.after:] {
				if err := copied.Apply(r); err != nil {
					t.Fatalf("it does not go on: %v", err)
				}
			}
		})
	}
}

// The leader cannot make such an entry either, and goes on after it has tried.
func TestTheLeaderIsRefusedToo(t *testing.T) {
	t.Parallel()
	c, _ := sampleLog(t)
	before := c.Snapshot()
	early := goal("g9", "light=red")
	twice := goal("g5", "light=red")
	twice.Term = 2
	wrong := goal("g9", "light=red")
	wrong.Term, wrong.Diff = 2, []byte("light\x00red\x00red")
	nobody := of(Performed)
	nobody.Term, nobody.Upto = 2, Key{Index: 4}
	empty := of(Changed)
	empty.Term = 2
	large := goal("g9", strings.Repeat("x", MostGoal+1))
	large.Term = 2
	for name, e := range map[string]struct {
		entry Entry
		want  error
	}{
		"a term that is over": {early, ErrChain}, "a goal again": {twice, ErrChain}, "a wrong diff": {wrong, ErrDiff},
		"effects that are done": {nobody, ErrChain}, "no members": {empty, ErrSize}, "a large goal": {large, ErrSize},
	} {
		if _, err := c.Next(e.entry); !errors.Is(err, e.want) {
			t.Errorf("%s: %v, want %v", name, err, e.want)
		}
	}
	if !bytes.Equal(c.Snapshot(), before) {
		t.Error("the copy has changed")
	}
}

// A record that says another state than the one that came of it spoils the copy: it takes nothing more over, and answers
// nobody (V7).
func TestAWrongStateSpoilsTheCopy(t *testing.T) {
	t.Parallel()
	_, all := sampleLog(t)
	e := all[1].Entry
	e.State = counting(3)
	wrong, err := Seal(e)
	if err != nil {
		t.Fatal(err)
	}
	c := NewCopy(sampleGenesis(), newToy)
	if err := c.Apply(all[0]); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(wrong); !errors.Is(err, ErrState) || !errors.Is(err, ErrSpoiled) {
		t.Fatalf("it says %v", err)
	}
	if err := c.Apply(all[1]); !errors.Is(err, ErrSpoiled) {
		t.Errorf("then it says %v", err)
	}
	if _, err := c.Next(of(Opening)); !errors.Is(err, ErrSpoiled) {
		t.Errorf("then Next says %v", err)
	}
	if _, err := c.Query([]byte("light")); !errors.Is(err, ErrSpoiled) {
		t.Errorf("then Query says %v", err)
	}
	if err := c.Scrub(); !errors.Is(err, ErrSpoiled) {
		t.Errorf("then Scrub says %v", err)
	}
	if _, err := c.Child(sampleGenesis()); !errors.Is(err, ErrSpoiled) {
		t.Errorf("then Child says %v", err)
	}
}

// A record has its diff wherever it is stored or sent, so history is never without one (V1, B13): a record from which it was
// taken is another one, which the next record does not follow, no head covers, and no copy takes over.
func TestARecordHasItsDiff(t *testing.T) {
	t.Parallel()
	_, all := sampleLog(t)
	e := all[1].Entry
	e.Diff = nil
	without, err := Seal(e)
	if err != nil {
		t.Fatal(err)
	}
	if without.Hash() == all[1].Hash() || all[2].Prev == without.Hash() {
		t.Error("the hash does not cover the diff")
	}
	if err := after(t, all[:1]).Apply(without); !errors.Is(err, ErrState) {
		t.Errorf("a copy takes it over: %v", err)
	}
	opened, err := Open(all[1].Raw())
	if err != nil || string(opened.Diff) != "light\x00\x00red" {
		t.Errorf("its diff is %q, %v", opened.Diff, err)
	}
}

// Memory that has lost a value which no diff touches is found by the next scrub, where it was lost: at the leader before
// it says that all is well, at others when they take the entry over.
func TestAScrubFindsWhatMemoryLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(c *Copy){
		"a value": func(c *Copy) { c.state.(*toy).texts["light"] = "pink" },
		"a key":   func(c *Copy) { delete(c.state.(*toy).texts, "light") },
		"a result": func(c *Copy) {
			c.order[0] = &Result{GoalID: c.order[0].GoalID, Index: c.order[0].Index, Result: []byte("x"), sum: c.order[0].sum}
		},
		"an effect": func(c *Copy) { c.effects[0].Body = []byte("x") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, all := sampleLog(t)
			for _, leads := range []bool{true, false} {
				c := NewCopy(sampleGenesis(), newToy)
				for _, r := range all[:7] {
					if err := c.Apply(r); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.Scrub(); err != nil {
					t.Fatalf("a whole copy is scrubbed: %v", err)
				}
				lose(c)
				if c.Hash() != all[6].State {
					t.Fatal("the hash shows it before the scrub")
				}
				err := c.Apply(all[7])
				if leads {
					c = after(t, all[:7])
					lose(c)
					_, err = c.Next(of(Scrubbed))
				}
				if !errors.Is(err, ErrSpoiled) || !errors.Is(err, ErrState) {
					t.Errorf("leads %v: it says %v", leads, err)
				}
			}
		})
	}
}

// after returns the copy after records.
func after(t *testing.T, records []Record) *Copy {
	t.Helper()
	c := NewCopy(sampleGenesis(), newToy)
	for _, r := range records {
		if err := c.Apply(r); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// A goal that comes again has the result of the first time, as long as results are kept; then its id is refused, since nobody
// can say whether it was executed.
func TestAdmit(t *testing.T) {
	t.Parallel()
	c := NewCopy(sampleGenesis(), newToy)
	kept := int(c.Genesis().Retention)
	next(t, c, goal("first", "light=red"))
	for i := range kept {
		known, found, err := c.Admit("first", []byte("light=red"), 0)
		if err != nil || !found || known.Index != 1 {
			t.Fatalf("%d entries later: %v %v", i, found, err)
		}
		if _, _, err := c.Admit("first", []byte("light=blue"), 0); !errors.Is(err, ErrGoalID) {
			t.Fatalf("another body: %v", err)
		}
		if _, found, err := c.Admit("new", []byte("light=red"), c.at.Index); found || err != nil {
			t.Fatalf("a new one: %v %v", found, err)
		}
		if _, _, err := c.Admit("new", []byte("light=red"), c.at.Index+1); !errors.Is(err, ErrMalformed) {
			t.Fatalf("one of an index that is not there: %v", err)
		}
		next(t, c, goal(fmt.Sprint(i), "light=red"))
	}
	if _, is := c.Lookup("first"); is || len(c.order) != kept {
		t.Errorf("%d results are kept", len(c.order))
	}
	// An id made at index since was first executed at since+1 or later. While that could be forgotten, it is refused.
	for since := range c.at.Index + 1 {
		_, _, err := c.Admit("never seen", nil, since)
		if couldBeForgotten := since+1+uint64(kept) <= c.at.Index; couldBeForgotten && !errors.Is(err, ErrOld) {
			t.Errorf("made at %d, and now it is %d: %v", since, c.at.Index, err)
		} else if since+uint64(kept) > c.at.Index && err != nil {
			t.Errorf("made at %d, and now it is %d: %v", since, c.at.Index, err)
		}
	}
	for _, since := range []uint64{^uint64(0), -uint64(kept)} {
		if _, _, err := c.Admit("never seen", nil, since); err == nil {
			t.Errorf("made at %d, it is admitted", since)
		}
	}
}

// No wall clock decides anything (S12): whatever an entry says about the time, the copy is the same.
func TestNoWallClockDecides(t *testing.T) {
	t.Parallel()
	a, b := NewCopy(sampleGenesis(), newToy), NewCopy(sampleGenesis(), newToy)
	for i, at := range []int64{0, 1 << 62, -1, -1 << 63, 7} {
		e := goal(fmt.Sprint(i), "light=red")
		next(t, a, e)
		e.At = at
		r := next(t, b, e)
		if opened, err := Open(r.Raw()); err != nil || opened.At != at {
			t.Errorf("the time %d is read as %d, %v", at, opened.At, err)
		}
	}
	if a.Hash() != b.Hash() {
		t.Error("the copies differ by the time that the entries say")
	}
}

// Effects wait in order until an entry says that they were performed, and only so many of them.
func TestTheOutboxIsBounded(t *testing.T) {
	t.Parallel()
	c := NewCopy(sampleGenesis(), newToy)
	for i := range limits.MostPending {
		next(t, c, goal(fmt.Sprint(i), "mail x"))
	}
	whole, err := Restore(c.Snapshot(), newToy)
	if err != nil || len(whole.Effects()) != limits.MostPending {
		t.Fatalf("a full outbox is not restored: %v", err)
	}
	r := next(t, c, goal("one more", "mail x"))
	if !strings.Contains(r.Fault, "outbox") || len(c.Effects()) != limits.MostPending {
		t.Errorf("one more: %+v, and %d wait", r.Entry, len(c.Effects()))
	}
	e := goal("forced", "mail x")
	e.Effects = []Effect{{Kind: "mail"}}
	if _, err := c.Next(e); !errors.Is(err, ErrChain) {
		t.Errorf("an entry with one more: %v", err)
	}
	performed := of(Performed)
	performed.Upto = Key{Index: limits.MostPending / 2}
	next(t, c, performed)
	if got := c.Effects(); len(got) != limits.MostPending/2 || got[0].Key.Index != limits.MostPending/2+1 {
		t.Errorf("then %d wait", len(got))
	}
	if r := next(t, c, goal("now", "mail x")); r.Fault != "" {
		t.Error(r.Fault)
	}
	if !slices.IsSortedFunc(c.Effects(), func(a, b Pending) int {
		if a.Key.Before(b.Key) {
			return -1
		}
		return 1
	}) {
		t.Error("they are out of order")
	}
}
