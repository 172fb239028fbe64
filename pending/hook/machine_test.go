package hook

import (
	"testing"
	"time"

	"github.com/conchhq/conch/pending"
)

// Where there are more events than one turn reads, the next turn follows at once: a burst is not told at the pace of idle turns.
func TestABurstIsReadWithoutPauses(t *testing.T) {
	t.Parallel()
	for read, want := range map[int]time.Duration{most: 0, most - 1: apart} {
		now := time.Second
		m := newMachine(now, Place{}, Health{}, func(*Event) bool { return true })
		if acts := m.Step(now, tick{}); len(acts) != 1 {
			t.Fatalf("it begins with %v, want one turn", acts)
		}
		var all []Event
		for i := range read {
			all = append(all, Event{ID: int64(i + 1), Event: pending.Event{Intent: pending.ID{byte(i), byte(i >> 8)}}})
		}
		again := false
		for _, a := range m.Step(now, turned{Events: all, Settled: int64(read)}) {
			if _, is := a.(turn); is {
				again = true
			}
		}
		if again != (want == 0) || m.turnAt-now != want {
			t.Errorf("after %d events it turns at once: %v, and may after %v; want after %v", read, again, m.turnAt-now, want)
		}
	}
}
