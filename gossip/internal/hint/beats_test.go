package hint

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/internal/wire"
)

// A subject that says much more than a heartbeat a round is heard, and so much of it only is passed on: its relays never
// look like a flood to their peers.
func TestAFloodOfHeartbeats(t *testing.T) {
	t.Parallel()
	for name, subject := range map[string]func(i int) string{
		"one key":   func(int) string { return "a" },
		"many keys": func(i int) string { return fmt.Sprint("s", i) },
	} {
		m, n, passed := crowded(9), 0, 0
		var now time.Duration
		for range 50 {
			now += m.cfg.Round
			for p := range 8 {
				var all []wire.Said
				for range 200 {
					n++
					beat := wire.Heartbeat{Stands: true, Seniority: uint64(n)}
					all = append(all, invented(subject(n), uint64(n), "", 0, beat.Body()))
				}
				for _, a := range m.brings(now, fmt.Sprint("p", p), all...) {
					if s, is := a.(Send); is {
						passed += len(s.Parcel.Said)
					}
				}
			}
		}
		if most := 58 * (mostBeats + standbys*beatsEach); passed > most || passed < 50 {
			t.Errorf("%s: %d of %d heartbeats were passed on in 50 rounds; want %d at most", name, passed, n, most)
		}
		for _, k := range m.Snapshot()[0].Known {
			if name == "one key" && k.Seniority+200 < uint64(n) {
				t.Errorf("none of the last peer's heartbeats is known: %d of %d", k.Seniority, n)
			}
		}
		out := m.brings(now+m.cfg.Round, "p8", invented("b", 1, "", 0, wire.Heartbeat{Stands: true, Leads: true, Reign: 9}.Body()))
		if name == "one key" && len(out) < 2 {
			t.Errorf("another leader is not passed on: %+v", out)
		}
	}
}
