package gossip

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// What is kept of twins: nodes whose key or name two hosts have.
const (
	mostTwins = 16
	// A machine tells of twins that both run once a minute, and a second host that nobody lets in tries that as often or more often.
	twinsOver = 2 * time.Minute // after they were seen last, one of them is taken to be gone
	twinsFor  = time.Hour       // after that nobody is told of them any more
)

// twins remembers the nodes of which there are two, by name. It is safe for concurrent use.
type twins struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

// see notes a node. Of too many the later ones are left out: a node may invent keys.
func (t *twins) see(name string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(now)
	if _, was := t.seen[name]; !was && len(t.seen) >= mostTwins {
		return
	}
	if t.seen == nil {
		t.seen = map[string]time.Time{}
	}
	t.seen[name] = now
}

// all returns those that were seen in the last hour, by name.
func (t *twins) all(now time.Time) (all []Twin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(now)
	for _, name := range slices.Sorted(maps.Keys(t.seen)) {
		at := t.seen[name]
		all = append(all, Twin{name, at.UTC().Round(time.Millisecond), now.Sub(at) > twinsOver})
	}
	return all
}

func (t *twins) drop(now time.Time) {
	maps.DeleteFunc(t.seen, func(_ string, at time.Time) bool { return now.Sub(at) > twinsFor })
}
