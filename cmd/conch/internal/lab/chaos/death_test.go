//go:build unix

package chaos

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
)

// A process that ends unasked is a violation, also a conch run that has no database: it waits for one.
func TestUnexpectedDeaths(t *testing.T) {
	t.Parallel()
	for _, d := range []death{{run: true, code: 1}, {run: true, code: 2, words: "panic: no"}, {code: -1}} {
		d.node, d.at, d.lived = "node-1", 11000*ms, time.Second
		n := &nemesis{Cluster: &Cluster{deaths: []death{d}}, screen: screen.New(screen.Config{Out: io.Discard})}
		n.unexpectedDeaths(t.Context(), Evidence{Lease: time.Second, Injections: []Injection{{Number: 1, Fault: Fault{Kind: PGKill}, At: 10000 * ms}}})
		if len(n.violations) != 1 || !strings.Contains(n.violations[0].Detail, fmt.Sprintf("code %d", d.code)) {
			t.Errorf("%+v: got %+v, want one violation with the code", d, n.violations)
		}
	}
}
