package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// bidding runs a machine with a thousand scopes. The mint answers after a millisecond, and fails
// each batch with a bad scope. It returns when each scope was first answered, and how many batches
// failed.
func bidding(span time.Duration, bad func(scope string) bool) (answered map[string]time.Duration, failed int) {
	set := core.Settings{
		Takeover: mint.Strict, Lease: 3 * time.Second, Heartbeat: 600 * time.Millisecond,
		CheckInterval: time.Second, BackoffMin: 200 * time.Millisecond, BackoffMax: 800 * time.Millisecond,
		RetryMax: 3 * time.Second, Seed: 1,
	}
	for n := range 1000 {
		set.Seats = append(set.Seats, core.SeatSettings{Scope: fmt.Sprintf("s%03d", n), Lease: 3 * time.Second, Margin: 300 * time.Millisecond, Late: 2700 * time.Millisecond})
	}
	m, now := core.NewMachine(set), base
	answered = map[string]time.Duration{}
	actions := m.Step(now, core.Tick{})
	for now < base.Add(span) {
		var in core.Input = core.Tick{}
		for _, a := range actions {
			switch a := a.(type) {
			case core.Connect:
				in = core.Opened{}
			case core.Beat:
				in = core.Beaten{Sent: now}
			case core.Try:
				in = tried(a, now, bad)
			}
		}
		switch in := in.(type) {
		case core.Failed:
			failed++
		case core.Tried:
			for _, r := range in.Results {
				if _, known := answered[r.Scope]; !known {
					answered[r.Scope] = now.Sub(base)
				}
			}
		}
		if _, idle := in.(core.Tick); idle {
			now = max(now, m.Next())
		} else {
			now = now.Add(time.Millisecond)
		}
		actions = m.Step(now, in)
	}
	return answered, failed
}

func tried(a core.Try, sent fence.Instant, bad func(string) bool) core.Input {
	in := core.Tried{Sent: sent}
	for _, b := range a.Bids {
		if bad(b.Scope) {
			return core.Failed{Err: errScript}
		}
		in.Results = append(in.Results, mint.Result{Scope: b.Scope, Outcome: mint.Held, Holder: "x", Process: 7})
	}
	return in
}

// One bad row delays the other scopes of its batch only for a moment.
func TestABadScopeFailsAlone(t *testing.T) {
	t.Parallel()
	answered, failed := bidding(time.Minute, func(scope string) bool { return scope == "s321" })
	if len(answered) != 999 {
		t.Errorf("%d scopes were answered, want the 999 good ones", len(answered))
	}
	for scope, after := range answered {
		if after > 3*time.Second {
			t.Errorf("%s waited for %s, want at most 3s", scope, after)
		}
	}
	if failed > 60 {
		t.Errorf("%d batches failed, want at most 60: the bad scope must end up alone", failed)
	}
}

// An error that is not about one scope does not become one error per scope.
func TestLastingErrorsAreNotSplitForEver(t *testing.T) {
	t.Parallel()
	_, failed := bidding(time.Minute, func(string) bool { return true })
	if failed > 20*60 {
		t.Errorf("%d batches failed in a minute, want at most 1200", failed)
	}
}
