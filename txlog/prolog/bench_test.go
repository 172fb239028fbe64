package prolog

import (
	"context"
	"fmt"
	"testing"
	"time"

	library "github.com/axone-protocol/prolog/v3"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/kv"
	"github.com/conchhq/conch/txlog/prolog/internal/ontology"
	"github.com/conchhq/conch/txlog/prolog/internal/solve"
)

const naive = `
app([], L, L).
app([H|T], L, [H|R]) :- app(T, L, R).
nrev([], []).
nrev([H|T], R) :- nrev(T, S), app(S, [H], R).
range(N, N, [N]) :- !.
range(I, N, [I|T]) :- J is I + 1, range(J, N, T).
run(0) :- !.
run(N) :- range(1, 30, L), nrev(L, _), M is N - 1, run(M).
`

const inferences = 496 // of nrev30

func timed(of *time.Duration, do func()) {
	began := processor()
	do()
	*of += processor() - began
}

// BenchmarkNaiveReverse reverses lists of thirty elements the naive way, two hundred times, and has the machine of a library do the same in turn.
func BenchmarkNaiveReverse(b *testing.B) {
	const runs = 200
	s := loaded(b, naive)
	var ours, theirs time.Duration
	other := library.New(nil, nil)
	if err := other.Exec(naive); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		timed(&ours, func() {
			m := solve.New(txlog.NewBudget(1<<40), ontology.NewDraft(txlog.NewBudget(1<<40), s.base), false)
			t, _, err := read(m, fmt.Sprintf("run(%d)", runs))
			if err != nil {
				b.Fatal(err)
			}
			if is, err := m.Solve(t); !is || err != nil {
				b.Fatal(is, err)
			}
		})
		timed(&theirs, func() {
			sols, err := other.QueryContext(context.Background(), "run(20).")
			if err != nil {
				b.Fatal(err)
			}
			if !sols.Next() {
				b.Fatal(sols.Err())
			}
			_ = sols.Close()
		})
	}
	theirs *= 10
	b.ReportMetric(runs*inferences*float64(b.N)/ours.Seconds()/1000, "klips")
	b.ReportMetric(runs*inferences*float64(b.N)/theirs.Seconds()/1000, "klips-library")
	b.ReportMetric(float64(theirs)/float64(ours), "of-library")
}

// BenchmarkFact is what a goal costs the leader without its disk, that changes a fact among many: execute, apply, hash. Beside it in turn: one of package kv.
func BenchmarkFact(b *testing.B) {
	for _, facts := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(facts, " facts"), func(b *testing.B) {
			s, other := filled(b, facts), kv.New()
			for i := range facts {
				if err := other.Apply(txlog.Run(other, fmt.Appendf(nil, `{"op":"put","key":"visits/%d","value":0}`, i)).Diff); err != nil {
					b.Fatal(err)
				}
			}
			var ours, theirs time.Duration
			const turn = 100
			n := 0
			run := func(s txlog.State, goal string) {
				o := txlog.Run(s, []byte(goal))
				if err := s.Apply(o.Diff); err != nil || o.Fault != "" {
					b.Fatal(o.Fault, err)
				}
				s.Hash()
			}
			for b.Loop() {
				timed(&ours, func() {
					for i := range turn {
						k := (n + i) * 7919 % facts
						run(s, fmt.Sprintf("retract(visits(%d, N)), M is N + 1, assertz(visits(%d, M))", k, k))
					}
				})
				timed(&theirs, func() {
					for i := range turn {
						run(other, fmt.Sprintf(`{"op":"add","key":"visits/%d"}`, (n+i)*7919%facts))
					}
				})
				n += turn
			}
			b.ReportMetric(float64(ours.Nanoseconds())/turn/float64(b.N), "ns/goal")
			b.ReportMetric(float64(theirs)/float64(ours), "of-kv")
		})
	}
}

// filled returns an ontology of so many facts.
func filled(b *testing.B, facts int) *State {
	b.Helper()
	s := loaded(b, "")
	for from := 0; from < facts; from += 1000 {
		goal := fmt.Sprintf("forall(between(%d, %d, X), assertz(visits(X, 0)))", from, from+999)
		if err := s.Apply(txlog.Run(s, []byte(goal)).Diff); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkLookup looks facts up by their first argument, among few and among many.
func BenchmarkLookup(b *testing.B) {
	few, many := filled(b, 1000), filled(b, 100_000)
	hundred := loaded(b, "")
	if err := hundred.Apply(txlog.Run(hundred, []byte("forall(between(0, 99, X), assertz(visits(X, 0)))")).Diff); err != nil {
		b.Fatal(err)
	}
	var took [3]time.Duration
	views := []txlog.View{hundred.View(), few.View(), many.View()}
	n := 0
	for b.Loop() {
		for i, v := range views {
			timed(&took[i], func() {
				for k := range 100 {
					at := (n + k) * 7919 % []int{100, 1000, 100_000}[i]
					if _, err := txlog.Ask(v, fmt.Appendf(nil, `{"goal":"visits(%d, N)"}`, at)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
		n += 100
	}
	b.ReportMetric(float64(took[0].Nanoseconds())/100/float64(b.N), "ns-hundred")
	b.ReportMetric(float64(took[2].Nanoseconds())/100/float64(b.N), "ns-100000")
	b.ReportMetric(float64(took[2])/float64(took[0]), "of-hundred")
}
