//go:build unix

package chaos

import (
	"context"
	"slices"
	"time"
)

const (
	// young is how long a process may take to start: it may meet what comes meanwhile.
	young = 5 * time.Second
	// notice is what a process gets at least, when everything is well again, to hear of a
	// connection that was lost before, and to end.
	notice = 2 * time.Second
	// trouble is the exit code of a conch that could not do what it was rightly asked to. A
	// panic has 2, and a signal none.
	trouble = 1
)

// excused: a `conch run` that finds no database at its start ends, and a service manager
// starts it again. So there must have been a reason not to find it, when it started and
// until shortly before it ended.
func (e Evidence) excused(d death) bool {
	born := d.at.Add(-d.lived)
	return d.run && d.code == trouble && slices.ContainsFunc(e.Wounds, func(w Wound) bool {
		t, _ := traitOf(w.Fault.Kind)
		switch {
		case t.place != database && (t.place != line || !w.of(d.node)):
			return false
		case w.At > d.at, w.At > born.Add(young):
			return false // later, or when it had long been under way
		default:
			return w.Over == 0 || born <= w.Over && d.at <= w.Over.Add(max(e.Lease, notice))
		}
	})
}

// unasked are the processes that ended though nobody had asked for it.
func (n *nemesis) unasked(ctx context.Context, e Evidence) {
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
		n.violate(ctx, e.before(d.at), Alive, "%s of %s ended unasked after %s with code %d: %s", what, d.node, short(d.lived), d.code, d.words)
	}
}
