package electorate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/election/internal/electorate"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/worldtest"
)

// nightly returns how many of the seeds of make test-whole this run takes: a few by day, as many as it
// takes for everything to happen that must; many times as many with CONCH_NIGHTLY.
func nightly(seeds, few int) int {
	return slice(min(few, seeds), seeds, 40*seeds)
}

// slice returns how many seeds a test takes: with make test, make test-whole and make nightly.
func slice(day, whole, night int) int {
	switch {
	case worldtest.Nightly():
		return night
	case os.Getenv("CONCH_WHOLE") != "":
		return whole
	}
	return day
}

// each runs f for every number below n, on all processors: the worlds share nothing.
func each(n int, f func(i int)) {
	var all sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	all.Wait()
}

// config returns the world of a seed: 1 to 5 nodes, 1 to 3 scopes, equal or unequal leases.
func config(seed int, mode mint.Takeover) electorate.Config {
	return electorate.Config{
		Seed: uint64(seed), Nodes: 1 + seed%5, Scopes: 1 + seed%3, Steps: 1000, Takeover: mode, UnequalLeases: seed%2 == 0,
	}
}

// lockings are the values of Config.Locks.
var lockings = []string{electorate.LocksSession, electorate.LocksProcess, electorate.LocksMixed}

// S4, S9, S11, S12, F4, F5: under all faults at most one process acts, epochs grow, commits are
// in order, promises are true, and in the end one process leads.
func TestElection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode  mint.Takeover
		locks string
		seeds int
	}{
		{mint.Strict, electorate.LocksSession, 350}, {mint.Strict, electorate.LocksProcess, 350}, {mint.Strict, electorate.LocksMixed, 350},
		{mint.Keep, electorate.LocksSession, 125}, {mint.Keep, electorate.LocksProcess, 125}, {mint.Keep, electorate.LocksMixed, 125},
		{mint.Fast, electorate.LocksSession, 125}, {mint.Fast, electorate.LocksProcess, 125},
		{electorate.TakeoverMixed, electorate.LocksSession, 200}, {electorate.TakeoverMixed, electorate.LocksProcess, 200},
	} {
		t.Run(string(c.mode)+"/"+c.locks, func(t *testing.T) {
			t.Parallel()
			if worldtest.Raced && c.mode != mint.Strict && !worldtest.Nightly() {
				t.Skip("the run without the race detector has time for it")
			}
			var mu sync.Mutex
			sum := world.Report{Stats: map[string]int64{}}
			few := 60
			if c.locks == electorate.LocksMixed || c.mode == electorate.TakeoverMixed {
				few = 120 // what happens between the two kinds is rare
			}
			each(nightly(c.seeds, few), func(seed int) {
				cfg := config(seed, c.mode)
				cfg.Locks = c.locks
				r := electorate.Run(cfg)
				worldtest.Clean(t, r)
				mu.Lock()
				defer mu.Unlock()
				sum.AddStats(r.Stats)
			})
			total := sum.Stats
			eventful(t, total)
			// In a mixed world only two doors of fast may overlap; any other pair is a violation.
			if overlaps := total["overlaps"]; (overlaps > 0) != (c.mode == mint.Fast || c.mode == electorate.TakeoverMixed) {
				t.Errorf("%d overlaps in %s, want some only with fast among the takeovers", overlaps, c.mode)
			}
			if refused := total["fact_barred"]; (refused > 0) != (c.mode == electorate.TakeoverMixed) {
				t.Errorf("%d candidates refused in %s, want some only if takeovers differ", refused, c.mode)
			}
		})
	}
}

// eventful fails if the world was too gentle to prove anything.
func eventful(t *testing.T, total map[string]int64) {
	t.Helper()
	for _, name := range []string{
		"mints", "handoffs", "acts", "acts_refused", "acts_frozen", "fence_commits", "fence_stale", "fence_ended", "bids_lost",
		"advances", "advances_waited", "outlived",
		"fact_abandoned", "fact_blocked", "fact_draining", "fact_entered", "fact_evicted", "fact_following", "fact_late",
		"fact_lost", "fact_released", "fact_resumed", "fact_retrying",
		"fault_ambush", "fault_chain", "fault_clock_slew", "fault_clock_step", "fault_failover", "fault_kill",
		"fault_part", "fault_part_down", "fault_part_failover", "fault_part_reset", "fault_part_up",
		"fault_pause_long", "fault_pause_short", "fault_reset", "fault_restart_db", "fault_stall",
		"fault_step_down", "fault_stop", "fault_suspend", "fault_transfer", "fault_zombie", "fault_unlock_all", "fault_advance", "fault_role_ends", "fact_failed",
	} {
		if total[name] == 0 {
			t.Errorf("no run had any %s", name)
		}
	}
	t.Log(total)
}

// Equal configurations give equal reports and, byte for byte, equal traces.
func TestDeterminism(t *testing.T) {
	t.Parallel()
	seen, seeds := map[string]bool{}, slice(3, 12, 400)
	for seed := range seeds {
		for _, mode := range []mint.Takeover{mint.Strict, mint.Keep, mint.Fast} {
			cfg := config(seed, mode)
			cfg.Locks = lockings[seed%len(lockings)]
			var one, two bytes.Buffer
			cfg.Trace = &one
			first := electorate.Run(cfg)
			cfg.Trace = &two
			second := electorate.Run(cfg)
			if !reflect.DeepEqual(first, second) || !bytes.Equal(one.Bytes(), two.Bytes()) {
				t.Fatalf("seed %d in %s ran twice with different results: %s, %s", seed, mode, first.Trace, second.Trace)
			}
			cfg.Trace = nil
			if unseen := electorate.Run(cfg); !reflect.DeepEqual(first, unseen) {
				t.Fatalf("seed %d in %s runs differently without a trace", seed, mode)
			}
			if seen[first.Trace] {
				t.Errorf("seed %d in %s runs like another seed", seed, mode)
			}
			seen[first.Trace] = true
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	out, err := json.Marshal(electorate.Run(electorate.Config{Seed: 3, Steps: 100}))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"seed":3`, `"nodes":3`, `"steps":`, `"violations":[]`, `"stats":{`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the report lacks %s: %s", want, out)
		}
	}
	cfg := electorate.Config{Seed: 3, Nodes: 2, Takeover: mint.Strict, Break: "hold-waits"}
	for ; ; cfg.Seed++ {
		r := electorate.Run(cfg)
		if len(r.Violations) == 0 {
			continue
		}
		v := r.Violations[0]
		for _, want := range []string{"conch-lab sim election --nodes 2 --seed ", " --takeover strict --scopes 1 --steps 1500 --break hold-waits"} {
			if !strings.Contains(v.Replay, want) {
				t.Errorf("the replay line lacks %q: %s", want, v.Replay)
			}
		}
		return
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	if err := (electorate.Config{}).Validate(); err != nil {
		t.Error(err)
	}
	for want, cfg := range map[string]electorate.Config{
		"takeover": {Takeover: "slow"}, "nodes": {Nodes: -1}, "scopes": {Scopes: 99}, "steps": {Steps: -1}, "session, process, mixed": {Locks: "none"},
		"there are term-in-predicate": {Break: "everything"},
	} {
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}
