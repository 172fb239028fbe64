//go:build unix

package chaos

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

// One injection from 10 s to 12 s, healed at 12.5 s; the lease is one second.
func TestExcusedDeaths(t *testing.T) {
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
		{"it finds afterwards that an old connection is dead", Silent, death{run: true, at: 13 * s, lived: 2500 * time.Millisecond, code: 1}, true},
		{"a line that is silent for a long time", Silent, death{run: true, at: 12600 * ms, lived: 6600 * time.Millisecond, code: 1}, true},
		{"it panics", PGKill, death{run: true, at: 11 * s, lived: time.Second, code: 2, words: "panic: no"}, false},
		{"something else kills it", PGKill, death{run: true, at: 11 * s, lived: time.Second, code: -1}, false},
		{"a demo-node", PGKill, death{at: 11 * s, lived: time.Second, code: 1}, false},
		{"its own line was fine", Silent, death{node: "node-2", run: true, at: 11 * s, lived: time.Second, code: 1}, false},
		{"the database was fine", Kill9, death{run: true, at: 11 * s, lived: time.Second, code: 1}, false},
		{"the fault was over when it started", PGKill, death{run: true, at: 13500 * ms, lived: 500 * time.Millisecond, code: 1}, false},
		{"the fault was long over when it ended", PGKill, death{run: true, at: 15 * s, lived: 4 * time.Second, code: 1}, false},
		{"it ended before the fault", PGKill, death{run: true, at: 9900 * ms, lived: time.Second, code: 1}, false},
		{"it had started long before", PGKill, death{run: true, at: 11 * s, lived: 7 * time.Second, code: 1}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.death.node == "" {
				c.death.node = "node-1"
			}
			e := Evidence{Lease: time.Second, Injections: []Injection{{
				Number: 1, Fault: Fault{Kind: c.kind}, Nodes: []string{"node-1"}, At: 10 * s, Done: 10100 * ms, Healed: 12 * s, Over: 12500 * ms,
			}}}
			n := &nemesis{Cluster: &Cluster{deaths: []death{c.death}}, view: &view{out: io.Discard}}
			n.unexpectedDeaths(t.Context(), e)
			if got := len(n.violations) == 0; got != c.excused {
				t.Fatalf("excused: got %v, want %v", got, c.excused)
			}
			if !c.excused && !strings.Contains(n.violations[0].Detail, fmt.Sprintf("code %d", c.death.code)) {
				t.Errorf("%+v does not say how it ended", n.violations[0])
			}
		})
	}
}

// A fault that is not over excuses every death in it.
func TestADeathDuringAFault(t *testing.T) {
	t.Parallel()
	e := Evidence{Lease: time.Second, Injections: []Injection{{Fault: Fault{Kind: PGKill}, At: 10 * ms}}}
	if !e.excused(death{run: true, at: 60000 * ms, lived: time.Second, code: 1}) {
		t.Error("a death without a database is not excused")
	}
}
