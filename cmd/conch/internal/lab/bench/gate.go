//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
)

// gateRounds is the number of timings, of which the least counts, in turn with the ceiling's. Nothing
// waits in these loops, so only the machine can make a timing longer.
const gateRounds = 7

// subject is one way to ask a gate, called n times in a row.
type subject struct {
	name string
	call func(n int)
}

type timing struct{ ns, allocs float64 }

// gate measures the cost of asking the gate, beside one reading of the clock that it uses.
func gate(ctx context.Context, cfg Config) (r Report, err error) {
	open, latch := fence.New("bench", nil)
	latch.Open(fence.Token{Scope: "bench", Holder: "one", Epoch: 1}, 0, math.MaxInt64)
	shut, _ := fence.New("bench", nil)
	subjects := gateSubjects(ctx, open, shut)
	for _, goroutines := range []int{1, 8} {
		cfg.Say("gate: %d goroutines …", goroutines)
		timings, err := inTurn(ctx, subjects, func(s subject) timing { return clocked(s.call, goroutines, cfg.amounts().loop) })
		if err != nil {
			return r, err
		}
		for i, s := range subjects {
			name := fmt.Sprintf("%s_%d", s.name, goroutines)
			r.beside(name, timings[i].ns, timings[0].ns, "ns/op")
			r.add(name+"_allocs", timings[i].allocs, "allocs/op")
		}
	}
	return r, nil
}

// inTurn times every subject once per round and returns the least timing of each.
func inTurn(ctx context.Context, subjects []subject, clock func(subject) timing) ([]timing, error) {
	rounds := make([][]timing, len(subjects))
	for round := range gateRounds {
		for _, i := range turn(round, len(subjects)) {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			rounds[i] = append(rounds[i], clock(subjects[i]))
		}
	}
	all := make([]timing, len(subjects))
	for i, of := range rounds {
		all[i] = least(of)
	}
	return all, nil
}

// turn returns the order of a round. Each round begins with another subject and runs in the opposite
// direction to the last, so that no subject always pays for what the one before it left behind.
func turn(round, many int) []int {
	order := make([]int, many)
	for i := range order {
		step := i
		if round%2 == 1 {
			step = many - i
		}
		order[i] = (round + step) % many
	}
	return order
}

// gateSubjects returns the subjects. The first is the ceiling.
func gateSubjects(ctx context.Context, open, shut *fence.Gate) []subject {
	errNotCalled := errors.New("not called")
	act := func(context.Context, fence.Token) error { return nil }
	each := func(f func()) func(int) {
		return func(n int) {
			for range n {
				f()
			}
		}
	}
	return []subject{
		{"clock", each(func() { _ = fence.Boottime() })},
		{"isopen", each(func() { _ = open.IsOpen(fence.Act) })},
		{"require", each(func() { _, _ = open.Require(fence.Act) })},
		{"ensure_epoch", each(func() { _ = open.EnsureEpoch(fence.Act, 1) })},
		{"do", each(func() { _ = open.Do(ctx, fence.Act, time.Second, act) })},
		{"isopen_shut", each(func() { _ = shut.IsOpen(fence.Act) })},
		{"require_shut", each(func() { _, _ = shut.Require(fence.Act) })},
		{"do_shut", each(func() {
			_ = shut.Do(ctx, fence.Act, time.Second, func(context.Context, fence.Token) error { return errNotCalled })
		})},
	}
}

// clocked calls from several goroutines at once for about the wanted time. With more goroutines than
// processors it counts processor time per call, so that one and eight goroutines compare.
func clocked(call func(n int), goroutines int, want time.Duration) timing {
	n := 1000
	for {
		spent, mallocs := burst(call, goroutines, n)
		if spent >= want/2 || n > 1<<28 {
			total := float64(n) * float64(goroutines)
			processors := float64(min(goroutines, runtime.GOMAXPROCS(0)))
			return timing{ns: float64(spent.Nanoseconds()) * processors / total, allocs: math.Round(mallocs / total)}
		}
		n = max(2*n, int(float64(n)*float64(want)/float64(max(spent, time.Microsecond))))
	}
}

func burst(call func(n int), goroutines, n int) (spent time.Duration, mallocs float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	var group sync.WaitGroup
	for range goroutines {
		group.Go(func() { call(n) })
	}
	group.Wait()
	spent = time.Since(began)
	runtime.ReadMemStats(&after)
	return spent, float64(after.Mallocs - before.Mallocs)
}

func least(all []timing) timing {
	var ns, allocs []float64
	for _, t := range all {
		ns, allocs = append(ns, t.ns), append(allocs, t.allocs)
	}
	return timing{ns: slices.Min(ns), allocs: slices.Min(allocs)}
}
