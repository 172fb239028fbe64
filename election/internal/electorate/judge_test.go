package electorate

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
)

// These tests break a world by hand, to show that its checks can fail.

// leading returns a world without faults, and the runner of a process that leads.
func leading(t *testing.T, cfg Config) (*run, *runner) {
	t.Helper()
	r := newRun(cfg.WithDefaults())
	r.quiet = true
	for _, n := range r.nodes {
		n.boot(n.name)
	}
	for !r.led() {
		if r.w.Now() > time.Minute || !r.step() {
			t.Fatal("no process leads within a minute")
		}
	}
	terms := r.doors[r.scopes[0]].terms
	last := terms[len(terms)-1]
	return r, last.p.runners[last.token.Scope]
}

func broken(r *run, invariant string) bool { return world.Report{Violations: r.Found}.Has(invariant) }

// A world may halt: here a process has lost its session and opens no other, so no event is left.
func TestAHaltIsAViolation(t *testing.T) {
	t.Parallel()
	for _, mode := range []mint.Takeover{mint.Strict, mint.Fast, TakeoverMixed} {
		r, c := leading(t, Config{Break: "connect-again", Takeover: mode})
		r.reset(c.p.node)
		r.awaitLeaders()
		if _, more := r.w.Next(); more {
			t.Errorf("%s: an event is left, want none", mode)
		}
		if !broken(r, Liveness) || !strings.Contains(r.Found[0].Replay, "--nodes 1 ") {
			t.Errorf("%s: the world halted without a leader; found %v, want a liveness violation with --nodes 1", mode, r.Found)
		}
	}
}

// A scope without candidates needs no leader.
func TestAnEndWithoutCandidates(t *testing.T) {
	t.Parallel()
	r := newRun(Config{Nodes: 2}.WithDefaults())
	for _, n := range r.nodes {
		n.seats[0].Never = true
		n.boot(n.name)
	}
	if r.awaitLeaders(); len(r.Found) > 0 {
		t.Errorf("found %v, want nothing", r.Found)
	}
}

// Both doors of the real gate are checked, open and shut.
func TestTheGateIsAsked(t *testing.T) {
	t.Parallel()
	elsewhere := func(c *runner) { _, c.latch = fence.New(c.scope, c.p.now) }
	for what, doctor := range map[string]func(c *runner){
		"a gate that stays open": func(c *runner) {
			elsewhere(c)
			c.moveGate(core.Move{How: core.Shut{Token: c.term.token, Why: context.Canceled}})
		},
		"a gate that stays open when its process is killed": func(c *runner) {
			elsewhere(c)
			c.p.kill()
		},
		"a fenced door that is shut during the hold": func(c *runner) {
			c.term.actFrom = c.term.deadline
			c.latch.Suspend()
		},
	} {
		r, c := leading(t, Config{Nodes: 1})
		doctor(c)
		r.doors[c.scope].judge(r.w.Now(), r.w.Now()+1)
		if !broken(r, GateRule) {
			t.Errorf("%s was not seen", what)
		}
	}
}

// A command may outlive a killed process, until its keeper kills it.
func TestACommandOutlivesItsConch(t *testing.T) {
	t.Parallel()
	outlived, ended := 0, 0
	for seed := range uint64(20) {
		r, c := leading(t, Config{Nodes: 1, Seed: seed})
		h, term, now := r.doors[c.scope], c.term, r.w.Now()
		c.p.kill()
		until := now
		if from, to := term.span(now, now+time.Hour); from < to {
			until = to
		}
		last := c.p.node.clock.When(int64(term.killAt))
		if until != now && until != last {
			t.Errorf("seed %d: the command may act until %s, want %s, when its keeper kills it", seed, until, last)
		}
		if until == now {
			ended++
			continue
		}
		outlived++
		r.w.After(last-now, func() {}) // so that an event comes at last
		for r.w.Now() < last {
			r.step()
		}
		if h.judge(r.w.Now(), r.w.Now()+1); len(h.terms) > 0 && h.terms[0] == term {
			t.Errorf("seed %d: the term still counts at %s, want it past", seed, r.w.Now())
		}
	}
	if outlived == 0 || ended == 0 {
		t.Errorf("%d commands went on and %d ended at once, want some of both", outlived, ended)
	}
}
