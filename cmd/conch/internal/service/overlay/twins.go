package overlay

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// What is kept of twins: nodes whose key or name two hosts have.
const (
	mostTwins = 16
	twinsFor  = time.Hour // after they were seen last
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

// names returns those that were seen lately.
func (t *twins) names(now time.Time) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(now)
	return slices.Sorted(maps.Keys(t.seen))
}

func (t *twins) drop(now time.Time) {
	maps.DeleteFunc(t.seen, func(_ string, at time.Time) bool { return now.Sub(at) > twinsFor })
}
