//go:build unix

package chaos

import (
	"context"
	"slices"
	"time"
)

const (
	// startMost is how long a process may take to start. A fault in that time may affect it.
	startMost = 5 * time.Second
	// noticeLeast is how long a process has, after the fault, to notice a lost connection and end.
	noticeLeast = 2 * time.Second
	// exitFailed is conch's exit code for a failed operation. A panic has 2, and a signal none.
	exitFailed = 1
)

// excused reports whether a death is a conch run that found no database at its start: it ends,
// and a service manager starts it again. A fault must have hidden the database when it started
// and until shortly before it ended.
func (e Evidence) excused(d death) bool {
	born := d.at.Add(-d.lived)
	return d.run && d.code == exitFailed && slices.ContainsFunc(e.Injections, func(in Injection) bool {
		t, _ := traitOf(in.Fault.Kind)
		switch {
		case t.place != database && (t.place != line || !in.of(d.node)):
			return false
		case in.At > d.at, in.At > born.Add(startMost):
			return false // the fault came after the death, or long after the start
		default:
			return in.Over == 0 || born <= in.Over && d.at <= in.Over.Add(max(e.Lease, noticeLeast))
		}
	})
}

// unexpectedDeaths reports the processes that ended unexpectedly.
func (n *nemesis) unexpectedDeaths(ctx context.Context, e Evidence) {
	n.mu.Lock()
	deaths := slices.Clone(n.deaths)
	n.mu.Unlock()
	for _, d := range deaths {
		if e.excused(d) {
			continue
		}
		what := "conch demo-node"
		if d.run {
			what = "conch run"
		}
		n.violate(ctx, e.before(d.at), Alive, "%s of %s ended unexpectedly after %s with code %d: %s", what, d.node, short(d.lived), d.code, d.words)
	}
}
