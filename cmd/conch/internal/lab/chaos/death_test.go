//go:build unix

package chaos

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// One wound, from 10 s to 12 s, healed at 12.5 s; a lease is one second.
func TestWhoMayEndUnasked(t *testing.T) {
	t.Parallel()
	const s = 1000 * ms
	for _, c := range []struct {
		name    string
		kind    Kind
		death   death
		excused bool
	}{
		{"a conch run without a database", PGKill, death{run: true, at: 11 * s, lived: time.Second, code: 1}, true},
		{"while the database comes back", PGKill, death{run: true, at: 12300 * ms, lived: time.Second, code: 1}, true},
		{"a connection of before is found dead after", Silent, death{run: true, at: 13 * s, lived: 2500 * time.Millisecond, code: 1}, true},
		{"a line that is silent for long", Silent, death{run: true, at: 12600 * ms, lived: 6600 * time.Millisecond, code: 1}, true},
		{"it panics", PGKill, death{run: true, at: 11 * s, lived: time.Second, code: 2, words: "panic: no"}, false},
		{"it is killed by somebody else", PGKill, death{run: true, at: 11 * s, lived: time.Second, code: -1}, false},
		{"a demo-node", PGKill, death{at: 11 * s, lived: time.Second, code: 1}, false},
		{"nothing was the matter with its line", Silent, death{node: "node-2", run: true, at: 11 * s, lived: time.Second, code: 1}, false},
		{"nor with anything that it needs", Kill9, death{run: true, at: 11 * s, lived: time.Second, code: 1}, false},
		{"all was well again when it started", PGKill, death{run: true, at: 13500 * ms, lived: 500 * time.Millisecond, code: 1}, false},
		{"all had been well for long when it ended", PGKill, death{run: true, at: 15 * s, lived: 4 * time.Second, code: 1}, false},
		{"before", PGKill, death{run: true, at: 9900 * ms, lived: time.Second, code: 1}, false},
		{"it had long been under way", PGKill, death{run: true, at: 11 * s, lived: 7 * time.Second, code: 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.death.node == "" {
				c.death.node = "node-1"
			}
			e := Evidence{Lease: time.Second, Wounds: []Wound{{
				Number: 1, Fault: Fault{Kind: c.kind}, Nodes: []string{"node-1"}, At: 10 * s, Done: 10100 * ms, Healed: 12 * s, Over: 12500 * ms,
			}}}
			n := &nemesis{Cluster: &Cluster{deaths: []death{c.death}}, view: &view{out: io.Discard}}
			n.unasked(t.Context(), e)
			if got := len(n.violations) == 0; got != c.excused {
				t.Fatalf("excused: %v", got)
			}
			if !c.excused && !strings.Contains(n.violations[0].Detail, fmt.Sprintf("code %d", c.death.code)) {
				t.Errorf("%+v does not say how it ended", n.violations[0])
			}
		})
	}
}

// A fault that is never over excuses whoever ends in it.
func TestWhoEndsInAFaultThatIsNotOver(t *testing.T) {
	t.Parallel()
	e := Evidence{Lease: time.Second, Wounds: []Wound{{Fault: Fault{Kind: PGKill}, At: 10 * ms}}}
	if !e.excused(death{run: true, at: 60000 * ms, lived: time.Second, code: 1}) {
		t.Error("there is no database, and it should have found one")
	}
}
