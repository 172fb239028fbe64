package lab

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/internal/world"
)

// shownViolations bounds the violations printed over many runs.
const shownViolations = 20

// summary sums up many runs: their total stats, and the first violations by seed.
type summary struct {
	world.Report
	made      int // runs
	violating int // of them, with a violation
	found     []finding
}

type finding struct {
	run int64
	world.Violation
}

// within makes one run; if ctx ends it is not waited for. What it still tells goes with this program.
func within(ctx context.Context, run func() world.Report) (world.Report, error) {
	over := make(chan world.Report, 1)
	go func() { over <- run() }()
	select {
	case r := <-over:
		return r, nil
	case <-ctx.Done():
		return world.Report{}, ctx.Err()
	}
}

// simulate makes the runs on all processors, from the first report's seed on. The result does not depend on the number of
// processors, since each run has its own world. If ctx ends the runs that are under way are not waited for, and count as not made.
func simulate(ctx context.Context, first world.Report, runs int, run func(seed uint64) world.Report, progress func(done int64)) summary {
	// A world is small, and what it drops is much: the collector would look at the whole some hundred times a run.
	defer debug.SetGCPercent(debug.SetGCPercent(800))
	first.Stats = map[string]int64{}
	total := summary{Report: first}
	var adding sync.Mutex
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(runs, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := next.Add(1) - 1; i < int64(runs) && ctx.Err() == nil; i = next.Add(1) - 1 {
				report := run(first.Seed + uint64(i))
				adding.Lock()
				if ctx.Err() == nil {
					total.add(i, report)
				}
				made := total.made
				adding.Unlock()
				progress(int64(made))
			}
		})
	}
	over := make(chan struct{})
	go func() {
		group.Wait()
		close(over)
	}()
	select {
	case <-over:
	case <-ctx.Done():
	}
	adding.Lock()
	defer adding.Unlock()
	total.finish(runs)
	return total
}

func (s *summary) add(run int64, r world.Report) {
	s.made++
	s.Steps += r.Steps
	s.Took = append(s.Took, r.Took...)
	s.Trace = r.Trace
	s.AddStats(r.Stats)
	if len(r.Violations) == 0 {
		return
	}
	s.violating++
	for _, v := range r.Violations {
		s.found = append(s.found, finding{run, v})
	}
	slices.SortStableFunc(s.found, func(a, b finding) int { return cmp.Compare(a.run, b.run) })
	s.found = s.found[:min(len(s.found), shownViolations)]
}

func (s *summary) finish(runs int) {
	s.Violations = []world.Violation{}
	for _, f := range s.found {
		s.Violations = append(s.Violations, f.Violation)
	}
	s.Timed()
	if runs > 1 {
		s.Trace = "" // only a single run has one
		s.Stats["runs"], s.Stats["violating_runs"] = int64(s.made), int64(s.violating)
	}
}

// progress returns a function that prints the number of finished runs every few seconds.
func (l lab) progress(runs int) func(done int64) {
	const every = 3 * time.Second
	var mu sync.Mutex
	said := time.Now()
	return func(done int64) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(said) >= every {
			said = time.Now()
			_, _ = fmt.Fprintf(l.Stderr, "%d of %d runs\n", done, runs)
		}
	}
}
