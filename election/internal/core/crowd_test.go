package core_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// crowd is a machine with many seats, and a mint that takes a while for each call.
type crowd struct {
	*testing.T
	m    *core.Machine
	now  fence.Instant
	took time.Duration // by each call
	room int           // bids that the mint tries in one call; 0: it answers Full
	held bool          // another process holds every scope
	// The requests so far, in order.
	tries []core.Try
	beats []fence.Instant
	asked map[string]int
	facts map[core.Kind]int
}

// newCrowd connects and bids once, after change has set up the mint.
func newCrowd(t *testing.T, seats int, change func(*crowd)) *crowd {
	t.Helper()
	const lease = 3 * time.Second
	set := core.Settings{
		Lease: lease, Heartbeat: lease / 5, CheckInterval: lease / 3, BackoffMin: 200 * time.Millisecond,
		BackoffMax: 800 * time.Millisecond, RetryMax: lease, YieldAfterStep: lease, Takeover: mint.Strict, Seed: 1,
	}
	for i := range seats {
		set.Seats = append(set.Seats, core.SeatSettings{
			Scope: fmt.Sprintf("s%05d", i), Lease: lease, Margin: lease / 10, Late: lease - lease/10,
		})
	}
	c := &crowd{
		T: t, m: core.NewMachine(set), now: 1, took: 50 * time.Millisecond, room: seats,
		asked: map[string]int{}, facts: map[core.Kind]int{},
	}
	change(c)
	c.answer(c.step(core.Tick{}))
	return c
}

// step feeds the machine and returns its request to the mint, if any.
func (c *crowd) step(all ...core.Input) (ask core.Action) {
	for _, a := range c.m.Step(c.now, all...) {
		switch a := a.(type) {
		case core.Connect, core.Beat, core.Try, core.Release:
			ask = a
		case core.Report:
			c.facts[a.Fact.Kind]++
		case core.Open:
			if a.Deadline <= c.now {
				c.Errorf("at %s a gate opens after its deadline", time.Duration(c.now))
			}
		}
	}
	return ask
}

// answer answers a request and those that follow at once, until there is none.
func (c *crowd) answer(ask core.Action) {
	for ask != nil && c.now < fence.Instant(time.Minute) {
		sent := c.now
		c.now = c.now.Add(c.took)
		switch a := ask.(type) {
		case core.Connect:
			ask = c.step(core.Opened{})
		case core.Beat:
			if len(a.Pulses) > 0 {
				c.beats = append(c.beats, sent)
			}
			ask = c.step(core.Beaten{Sent: sent, Answers: slices.Repeat([]mint.Outcome{mint.Renewed}, len(a.Pulses))})
		case core.Try:
			c.tries = append(c.tries, a)
			ask = c.step(core.Tried{Sent: sent, Results: c.results(a)})
		default:
			c.Fatalf("unexpected request %T", ask)
		}
	}
}

func (c *crowd) results(a core.Try) (results []mint.Result) {
	if c.room == 0 {
		return []mint.Result{{Scope: a.Bids[0].Scope, Outcome: mint.Full, Why: errors.New("no room")}}
	}
	for _, b := range a.Bids[:min(len(a.Bids), c.room)] {
		c.asked[b.Scope]++
		r := mint.Result{Scope: b.Scope, Outcome: mint.Held, Holder: "other", Process: 7}
		if !c.held {
			r = mint.Result{Scope: b.Scope, Outcome: mint.Won, Handoff: true}
			r.Token = fence.Token{Scope: b.Scope, Holder: "me", Epoch: 1, Term: fence.Term{1}}
		}
		results = append(results, r)
	}
	return results
}

// run lets the time d pass.
func (c *crowd) run(d time.Duration) {
	for end := c.now.Add(d); ; {
		next := c.m.Next()
		if next == 0 || next > end {
			c.now = end
			return
		}
		c.now = max(c.now, next)
		c.answer(c.step(core.Tick{}))
	}
}

// Bids for many scopes leave room for the heartbeats of those that are led: a call has at most one
// batch of bids, and a heartbeat that is due comes before the next batch.
func TestBatchesLeaveRoomForHeartbeats(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 10_000, func(c *crowd) { c.took = 200 * time.Millisecond })
	if len(c.asked) != 10_000 || len(c.tries) != 20 {
		t.Fatalf("%d scopes were bid for in %d calls, want 10000 in 20", len(c.asked), len(c.tries))
	}
	for _, try := range c.tries {
		if len(try.Bids) != 500 {
			t.Errorf("a call has %d bids, want 500", len(try.Bids))
		}
	}
	if c.facts[core.Late] > 0 || len(c.beats) == 0 {
		t.Errorf("%d gates were late and %d heartbeats sent during the bids, want none and some", c.facts[core.Late], len(c.beats))
	}
	for i := 1; i < len(c.beats); i++ {
		if gap := c.beats[i].Sub(c.beats[i-1]); gap > 720*time.Millisecond+2*c.took {
			t.Errorf("%s passed between two heartbeats", gap)
		}
	}
}

// At rest a follower of ten thousand scopes sends one poll per check interval, with as many bids as
// fit into a call, and reaches every scope.
func TestPollsAreJoinedAndReachAll(t *testing.T) {
	t.Parallel()
	c := follower(t, 10_000)
	for scope := range c.asked {
		c.asked[scope] = 0
	}
	c.tries = nil
	const span = 24 * time.Second
	c.run(span)
	if n := len(c.tries); n < 20 || n > 30 {
		t.Errorf("%d polls in %s, want one per check interval of 1s", n, span)
	}
	for scope, n := range c.asked {
		if n == 0 {
			t.Fatalf("%s was never polled in %d calls", scope, len(c.tries))
		}
	}
}

func follower(t *testing.T, seats int) *crowd {
	t.Helper()
	c := newCrowd(t, seats, func(c *crowd) { c.held = true })
	if c.facts[core.Following] != seats {
		t.Fatalf("%d scopes are followed, want all", c.facts[core.Following])
	}
	return c
}

// S7: the end of the holder's process, or a notification, wakes all seats; none of them waits for a poll.
func TestWakeOfACrowd(t *testing.T) {
	t.Parallel()
	c := follower(t, 3000)
	c.held, c.tries = false, nil
	before := c.now
	c.answer(c.step(core.Woken{Process: 7}))
	if c.facts[core.Acquired] != 3000 || len(c.tries) != 6 {
		t.Errorf("%d scopes were won in %d calls, want 3000 in 6", c.facts[core.Acquired], len(c.tries))
	}
	if took := c.now.Sub(before); took > 9*c.took {
		t.Errorf("winning took %s, want at most 9 calls", took)
	}
	// Many notifications that came at once are one step, and at most one call.
	d := follower(t, 3000)
	d.tries = nil
	var hints []core.Input
	for i := range 400 {
		hints = append(hints, core.Woken{Scope: fmt.Sprintf("s%05d", i*7), Holder: "another"})
	}
	d.answer(d.step(hints...))
	d.run(60 * time.Millisecond)
	if len(d.tries) != 1 || len(d.tries[0].Bids) != 400 {
		t.Errorf("%d calls", len(d.tries))
	}
}

// A mint that tries only some bids is asked for the rest. A mint without room is left alone for a
// while, which is reported once for all scopes.
func TestMintWithLittleRoom(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 1000, func(c *crowd) { c.room = 30 })
	if len(c.asked) != 1000 || c.facts[core.Acquired] != 1000 {
		t.Errorf("%d scopes were bid for and %d won, want 1000 of each", len(c.asked), c.facts[core.Acquired])
	}
	for scope, n := range c.asked {
		if n != 1 {
			t.Errorf("%s was bid for %d times, want once", scope, n)
		}
	}
	d := newCrowd(t, 1000, func(d *crowd) { d.room, d.held = 30, true })
	clear(d.asked)
	d.run(50 * time.Second)
	if len(d.asked) < 900 {
		t.Errorf("polls reached %d of 1000 scopes, want at least 900", len(d.asked))
	}
	f := newCrowd(t, 1000, func(f *crowd) { f.room = 0 })
	f.run(10 * time.Second)
	if n := len(f.tries); n < 3 || n > 20 {
		t.Errorf("a mint without room was asked %d times in 10s, want 3 to 20", n)
	}
	if n := f.facts[core.Retrying]; n != len(f.tries) {
		t.Errorf("%d facts were reported for %d Full answers", n, len(f.tries))
	}
	f.room = 1000
	f.run(4 * time.Second)
	if f.facts[core.Acquired] != 1000 {
		t.Errorf("%d scopes were won once there was room, want 1000", f.facts[core.Acquired])
	}
}
