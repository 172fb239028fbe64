package core_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// cored is a core of a process that leads some scopes.
type cored struct {
	*testing.T
	core *core.Core
	now  fence.Instant
}

func leadingCore(t *testing.T, scopes ...string) *cored {
	t.Helper()
	const lease = 3 * time.Second
	set := core.Settings{
		Lease: lease, Heartbeat: lease / 5, CheckInterval: lease / 3, BackoffMin: 200 * time.Millisecond,
		BackoffMax: 800 * time.Millisecond, RetryMax: lease, YieldAfterStep: lease, Takeover: mint.Strict, Seed: 1,
	}
	var results []mint.Result
	for _, scope := range scopes {
		set.Seats = append(set.Seats, core.SeatSettings{Scope: scope, Lease: lease, Margin: lease / 10, Late: lease - lease/10})
		results = append(results, mint.Result{Scope: scope, Outcome: mint.Won, Handoff: true, Token: fence.Token{Scope: scope, Holder: "me", Epoch: 1}})
	}
	c := &cored{T: t, core: core.New(set), now: 1}
	c.step(core.Tick{})
	c.step(core.Opened{})
	out := c.step(core.Tried{Sent: c.now, Results: results})
	if len(out.Gives) != len(scopes) || !did[core.Begin](out) || !did[core.Enter](out) {
		t.Fatalf("after the bid: %+v, want every gate open and every role begun", out)
	}
	return c
}

func (c *cored) step(all ...core.Input) core.Output {
	c.now = c.now.Add(time.Millisecond)
	return c.core.Step(c.now, all...)
}

// actions returns the actions of a kind.
func actions[A core.Action](out core.Output) (all []A) {
	for _, a := range out.Acts {
		if a, is := a.(A); is {
			all = append(all, a)
		}
	}
	return all
}

func did[A core.Action](out core.Output) bool { return len(actions[A](out)) > 0 }

// The order in which a term ends: shut the gate, cancel the role, drain the counted acts, mark the scope released.
// Nothing that comes early or twice changes it.
func TestATermEndsInOrder(t *testing.T) {
	t.Parallel()
	c := leadingCore(t, "s")
	out := c.step(core.Asked{StepDown: core.StepDown{Scope: "s", Why: core.ErrStepDown, Timeout: time.Minute}, Ticket: 7})
	shut, is := out.Gives[0].How.(core.Shut)
	if cancels := actions[core.Cancel](out); !is || len(out.Gives) != 1 || len(cancels) != 1 || !errors.Is(cancels[0].Why, shut.Why) || cancels[0].By == 0 || did[core.Drain](out) {
		t.Fatalf("the request gave %+v, want the gate shut and the role cancelled, and nothing drained", out)
	}
	if early := c.step(core.Ended{Scope: "s"}); len(early.Acts)+len(early.Gives) > 0 {
		t.Errorf("an early end gave %+v, want nothing", early)
	}
	if out = c.step(core.Returned{Scope: "s"}); len(out.Acts) != 1 || out.Acts[0] != core.Action(core.Drain{Scope: "s"}) {
		t.Fatalf("the role's return gave %+v, want its acts drained and nothing else", out)
	}
	if twice := c.step(core.Returned{Scope: "s"}); len(twice.Acts)+len(twice.Gives) > 0 {
		t.Errorf("a second Returned gave %+v, want nothing", twice)
	}
	out = c.step(core.Ended{Scope: "s"})
	if said := actions[core.Release](out); len(said) != 1 || !said[0].Farewells[0].Released || did[core.Answered](out) {
		t.Fatalf("the end of the acts gave %+v, want a farewell that promises it, and no answer yet", out)
	}
	out = c.step(core.Parted{Answers: []mint.Parting{{Outcome: mint.Said}}})
	if answers := actions[core.Answered](out); len(answers) != 1 || answers[0] != (core.Answered{Ticket: 7}) {
		t.Errorf("the answer to the farewell gave %+v, want the caller told", out)
	}
}

// All gates of a lost session shut before anything else is done.
func TestAllGatesShutFirst(t *testing.T) {
	t.Parallel()
	c := leadingCore(t, "s", "t", "u")
	out := c.step(core.Failed{Lost: true, Err: mint.ErrSessionLost})
	if len(out.Gives) != 3 || len(actions[core.Cancel](out)) != 3 || out.Acts[0] != core.Action(core.Disconnect{}) || len(out.Writes) != 1 {
		t.Fatalf("a lost session gave %+v, want three gates shut, then the session closed and three roles cancelled", out)
	}
	for i, scope := range []string{"s", "t", "u"} {
		gate, latch := fence.New(scope, func() fence.Instant { return c.now })
		latch.Open(fence.Token{Scope: scope}, 0, c.now.Add(time.Hour))
		if out.Gives[i].To(latch); out.Gives[i].Scope != scope || gate.IsOpen(fence.Fenced) {
			t.Errorf("the move %+v has left the gate of %s open", out.Gives[i], scope)
		}
	}
}

// A role that returns or stalls gives up its own term, and no later one.
func TestARoleGivesItsTermUp(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	token := fence.Token{Scope: "s", Epoch: 1}
	for what, in := range map[core.Input][]error{
		core.Resigned{Token: token}:                       {core.ErrResigned},
		core.Resigned{Token: token, Err: boom}:            {core.ErrResigned, boom},
		core.Resigned{Token: token, Err: core.ErrStalled}: {core.ErrStalled},
	} {
		out := leadingCore(t, "s").step(what)
		cancels := actions[core.Cancel](out)
		if len(cancels) != 1 {
			t.Errorf("%+v gave %+v, want the role cancelled", what, out)
			continue
		}
		for _, why := range in {
			if !errors.Is(cancels[0].Why, why) {
				t.Errorf("%+v cancelled the role with %v, want %v", what, cancels[0].Why, why)
			}
		}
	}
	if out := leadingCore(t, "s").step(core.Resigned{Token: fence.Token{Scope: "s", Epoch: 2}}); did[core.Cancel](out) {
		t.Errorf("the role of another term gave up this one: %+v", out)
	}
}

// A caller is answered when the scope is not led, or was lost; a retirement when the mint has taken the scope off the roll.
func TestCallersAreAnswered(t *testing.T) {
	t.Parallel()
	c := leadingCore(t, "s", "t")
	out := c.step(core.Asked{StepDown: core.StepDown{Scope: "s", Epoch: 2}, Ticket: 1})
	if len(out.Acts) != 1 || out.Acts[0] != core.Action(core.Answered{Ticket: 1, Err: core.ErrNotLeading}) {
		t.Errorf("a request for another epoch gave %+v, want ErrNotLeading", out)
	}
	if out = c.step(core.Retire{Scope: "s", Ticket: 2}); did[core.Answered](out) || !did[core.Enlist](out) || len(out.Writes) != 1 {
		t.Errorf("a retirement gave %+v, want the mint told and no answer yet", out)
	}
	if out = c.step(core.Enlisted{}); len(actions[core.Answered](out)) != 1 {
		t.Errorf("the mint's answer gave %+v, want the retirement answered", out)
	}
	c.step(core.Retire{Scope: "t", Ticket: 3})
	if out = c.step(core.Add{Seat: core.SeatSettings{Scope: "t", Lease: 3 * time.Second}}); len(actions[core.Answered](out)) != 1 {
		t.Errorf("the scope that was added again gave %+v, want the retirement answered", out)
	}
	c = leadingCore(t, "s")
	c.step(core.Asked{StepDown: core.StepDown{Scope: "s", Timeout: time.Minute}, Ticket: 4})
	c.now = c.now.Add(time.Second)
	if out = c.step(core.Tick{}); !did[core.Beat](out) {
		t.Fatalf("a second later: %+v, want a heartbeat", out)
	}
	if out = c.step(core.Beaten{Sent: c.now, Answers: []mint.Outcome{mint.Over}}); len(actions[core.Answered](out)) != 1 || !errors.Is(actions[core.Answered](out)[0].Err, core.ErrDeposed) {
		t.Errorf("a newer term gave %+v, want the caller told ErrDeposed", out)
	}
}

// What comes together leads to one request, and an input that asks of the machine finds what those before it have led to.
func TestWhatComesTogetherIsOneStep(t *testing.T) {
	t.Parallel()
	c := follower10(t, nil)
	c.step(core.Opened{})
	var all []core.Input
	for _, scope := range []string{"s", "t", "u"} {
		seat := core.SeatSettings{Scope: scope, Lease: time.Minute, Margin: 6 * time.Second, Late: 54 * time.Second}
		all = append(all, core.Add{Seat: seat}, core.Woken{Scope: scope})
	}
	out := c.step(append(all, core.Tick{})...)
	if asked := actions[core.Enlist](out); len(asked) != 1 || len(asked[0].Roll.Add) != 3 {
		t.Fatalf("three roles that come together gave %+v, want one request for all", out)
	}
	out = c.step(core.Enlisted{})
	if asked := actions[core.Try](out); len(asked) != 1 || len(asked[0].Bids) != 3 {
		t.Fatalf("the mint's answer gave %+v, want one request with three bids", out)
	}
	won := core.Tried{Sent: c.now, Results: []mint.Result{{Scope: "s", Outcome: mint.Won, Handoff: true, Token: fence.Token{Scope: "s", Epoch: 1}}}}
	out = c.step(won, core.Asked{StepDown: core.StepDown{Scope: "s", Timeout: time.Minute}, Ticket: 1})
	if len(out.Gives) != 2 || !did[core.Enter](out) || !did[core.Cancel](out) || did[core.Answered](out) {
		t.Errorf("a term that was won, and a request to give it up, gave %+v, want the term begun and its end", out)
	}
}

// Few waits go on at once. One that nobody wants ends a second later, unless it is wanted again.
func TestWaitsAreFew(t *testing.T) {
	t.Parallel()
	var scopes []string
	for i := range 10 {
		scopes = append(scopes, fmt.Sprintf("s%d", i))
	}
	c := follower10(t, scopes)
	out := c.heldBy(func(i int) int64 { return int64(10 + i) })
	waits := actions[core.Await](out)
	if len(waits) != 8 || waits[0].After != 0 {
		t.Fatalf("%d waits began, want 8 at once", len(waits))
	}
	if out = c.step(core.Waited{Process: waits[0].Process, Serial: waits[0].Serial}); len(actions[core.Await](out)) != 1 {
		t.Errorf("a wait that ended without an end gave %+v, want it to go on", out)
	}
	if out = c.step(core.Waited{Process: waits[0].Process, Serial: waits[0].Serial, Gone: true}); len(out.Acts) > 0 {
		t.Errorf("the answer to an earlier wait gave %+v, want nothing", out)
	}
	if out = c.step(core.Waited{Process: waits[1].Process, Serial: waits[1].Serial, Err: errors.New("no room")}); len(actions[core.Await](out)) != 1 || actions[core.Await](out)[0].After != 800*time.Millisecond {
		t.Errorf("a wait that failed gave %+v, want it again after a pause", out)
	}
	out = c.heldBy(func(int) int64 { return 99 })
	if waits = actions[core.Await](out); len(waits) != 1 || waits[0].After == 0 || did[core.Unwait](out) {
		t.Fatalf("a new holder gave %+v, want one more wait after a pause, and none cancelled", out)
	}
	at := c.now
	for c.now < at.Add(time.Second) {
		if out = c.step(core.Tick{}); did[core.Unwait](out) && c.now < at.Add(time.Second) {
			t.Fatalf("a wait was cancelled after %s", c.now.Sub(at))
		}
	}
	if n := len(actions[core.Unwait](out)); n != 8 {
		t.Errorf("%d waits were cancelled after a second, want 8", n)
	}
	if out = c.step(core.Waited{Process: 99, Serial: waits[0].Serial, Gone: true}); !did[core.Try](out) {
		t.Errorf("the holder's end gave %+v, want bids", out)
	}
}

func follower10(t *testing.T, scopes []string) *cored {
	t.Helper()
	const lease = time.Minute
	set := core.Settings{
		Lease: lease, Heartbeat: lease / 5, CheckInterval: lease / 3, BackoffMin: 200 * time.Millisecond,
		BackoffMax: 800 * time.Millisecond, RetryMax: lease, YieldAfterStep: lease, Takeover: mint.Strict, Seed: 1,
	}
	for _, scope := range scopes {
		set.Seats = append(set.Seats, core.SeatSettings{Scope: scope, Lease: lease, Margin: lease / 10, Late: lease - lease/10})
	}
	c := &cored{T: t, core: core.New(set), now: 1}
	c.step(core.Tick{})
	return c
}

// heldBy answers the next bids for all scopes with the process that holds each.
func (c *cored) heldBy(process func(i int) int64) core.Output {
	c.Helper()
	in := core.Input(core.Opened{})
	for range 100 {
		out := c.step(in)
		if tries := actions[core.Try](out); len(tries) == 1 && len(tries[0].Bids) == 10 {
			var results []mint.Result
			for i, b := range tries[0].Bids {
				results = append(results, mint.Result{Scope: b.Scope, Outcome: mint.Held, Holder: "other", Process: process(i)})
			}
			return c.step(core.Tried{Sent: c.now, Results: results})
		}
		c.now, in = c.core.Next(), core.Woken{}
	}
	c.Fatal("no bids for all scopes")
	return core.Output{}
}
