package lab

import (
	"context"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/world"
)

// An interrupt does not wait for the runs that are under way. What was made until then is summed up, and nothing more.
func TestRunsAreInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	endless := make(chan struct{})
	run := func(seed uint64) world.Report {
		if seed > 1 {
			interrupt()
			<-endless
		}
		return world.Report{Steps: 7, Stats: map[string]int64{"all": 1}}
	}
	s := simulate(ctx, world.Report{Seed: 1}, 100, run, func(int64) {})
	if s.made > 1 || s.Steps != 7*s.made || s.Stats["runs"] != int64(s.made) {
		t.Errorf("%d runs were made, with %d steps: %v", s.made, s.Steps, s.Stats)
	}
	close(endless)
}

// The times of several runs are those of all that was asked for in any of them, and no sums.
func TestTimesOfSeveralRuns(t *testing.T) {
	t.Parallel()
	run := func(seed uint64) world.Report {
		r := world.Report{Stats: map[string]int64{"landed": 1}, Took: []time.Duration{time.Duration(seed) * time.Second}}
		if seed == 9 {
			r.Took = append(r.Took, time.Minute, 2*time.Minute)
		}
		r.Timed()
		return r
	}
	s := simulate(t.Context(), world.Report{Seed: 1}, 9, run, func(int64) {})
	want := map[string]int64{"landed": 9, "took_p50_ms": 6000, "took_p99_ms": 120000, "took_max_ms": 120000, "took_mean_ms": 225000 / 11}
	for name, n := range want {
		if s.Stats[name] != n {
			t.Errorf("%s is %d, want %d", name, s.Stats[name], n)
		}
	}
}
