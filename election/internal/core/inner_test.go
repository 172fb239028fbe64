package core

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
)

// After a lease the mint has ended a session in which it hears nothing, but not where a holder keeps its scope as long as its connection lives: to
// give up a slow answer there would end a term that nothing else ends.
func TestHowLongAnAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		takeover     mint.Takeover
		lease        time.Duration
		opens, other time.Duration
	}{
		{mint.Strict, 3 * time.Second, 5 * time.Second, 3 * time.Second},
		{mint.Strict, 9 * time.Second, 9 * time.Second, 9 * time.Second},
		{mint.Keep, 3 * time.Second, 5 * time.Second, time.Minute},
		{mint.Keep, 9 * time.Second, 9 * time.Second, 90 * time.Second},
	} {
		core := &Core{machine: &Machine{set: Settings{Lease: c.lease, Takeover: c.takeover}}}
		if opens, other := core.Patience(Connect{}), core.Patience(Beat{}); opens != c.opens || other != c.other {
			t.Errorf("%v, lease %v: it waits for %v and %v, want %v and %v", c.takeover, c.lease, opens, other, c.opens, c.other)
		}
	}
}

// Who retires a scope hears so when the mint does not list it, and not while a session is being opened that lists it.
func TestARetirementWaitsForTheRoll(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seat   seat
		asking request
		waits  bool
	}{
		"it is listed":               {seat{retired: true, session: session{listed: true}}, nothing, true},
		"it may be listed":           {seat{retired: true, listedNext: true}, connecting, true},
		"it was to be listed once":   {seat{retired: true, listedNext: true}, nothing, false},
		"a session without it opens": {seat{retired: true}, connecting, false},
		"it is not taken yet":        {seat{}, nothing, true},
	} {
		c.seat.Scope = "a"
		m := &Machine{seats: []*seat{&c.seat}, asking: c.asking}
		if got := m.retireWaits("a"); got != c.waits {
			t.Errorf("%s: it waits %v", name, got)
		}
	}
}
