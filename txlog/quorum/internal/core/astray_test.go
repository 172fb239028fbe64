package core

import (
	"errors"
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// A leader that has executed what does not come next begins anew from its store: else it would lead a log that stands (V7).
func TestALeaderWhoseRecordDoesNotComeNext(t *testing.T) {
	t.Parallel()
	key, c, _, s := fortyRecords(t)
	core := coreOf(t, key, s)
	var acts []Act
	step := func(in Input) {
		for next := in; next != nil; {
			out := core.Step(0, next)
			acts = append(acts, out.Acts...)
			if next = nil; len(out.Writes) > 0 {
				for _, w := range out.Writes {
					if err := w.To(s); err != nil {
						t.Fatal(err)
					}
				}
				next = Written{}
			}
		}
	}
	for i := 0; i < 50 && !core.leads; i++ {
		step(Tick{})
	}
	if !core.leads {
		t.Fatal("nobody leads")
	}
	r, err := txlog.Seal(txlog.Entry{Kind: txlog.Executed, Log: c.Genesis().ID(), Index: 30, Term: core.term, Prev: txlog.Hash{1}, GoalID: "x", Leader: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	core.request(majority.Append{Record: r})
	step(Batch{})
	if !slices.ContainsFunc(acts, func(a Act) bool { b, is := a.(Restart); return is && errors.Is(b.Why, majority.ErrGivenUp) }) {
		t.Fatal("it leads on")
	}
	if again := coreOf(t, key, s); again.q == nil {
		t.Error("what it has stored is of no use")
	}
}
