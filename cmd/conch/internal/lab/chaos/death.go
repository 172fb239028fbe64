//go:build unix

package chaos

import (
	"context"
	"slices"
)

// unexpectedDeaths reports the processes that ended unexpectedly.
func (n *nemesis) unexpectedDeaths(ctx context.Context, e Evidence) {
	n.mu.Lock()
	deaths := slices.Clone(n.deaths)
	n.mu.Unlock()
	for _, d := range deaths {
		what := "conch demo-node"
		if d.run {
			what = "conch run"
		}
		if d.page {
			what = "conch node"
		}
		n.violate(ctx, e.before(d.at), Alive, "%s of %s ended unexpectedly after %s with code %d: %s", what, d.node, short(d.lived), d.code, d.words)
	}
}
