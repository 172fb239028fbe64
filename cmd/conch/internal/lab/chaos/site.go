//go:build unix

package chaos

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

// closing is what a daemon gets to end in order.
const closing = 5 * time.Second

// site is two daemons beside the machines, with strangers that ask them. It is there for
// one fault, whose number its scopes and its evidence have.
type site struct {
	n       *nemesis
	wound   *Wound
	daemons []*daemon
	leave   context.CancelFunc
	asking  context.Context
	askers  sync.WaitGroup

	mu     sync.Mutex
	leads  map[string]sighting // by scope, as the askers last heard
	long   int                 // acts of askers that had asked for more time
	stated map[string]*Gated
}

// sighting is a leader of a scope that an asker has met.
type sighting struct {
	epoch int64
	node  string
	at    fence.Instant
}

// open makes the folders of two daemons; nothing is started.
func (n *nemesis) open(ctx context.Context, w *Wound, tokens bool) (*site, error) {
	s := &site{n: n, wound: w, leads: map[string]sighting{}, stated: map[string]*Gated{}}
	s.asking, s.leave = context.WithCancel(context.WithoutCancel(ctx))
	for i := range 2 {
		id := fmt.Sprintf("daemon-%d", i+1)
		dir, err := n.Server.Folder(fmt.Sprintf("%d-%s", w.Number, id))
		if err != nil {
			s.leave()
			return nil, err
		}
		s.daemons = append(s.daemons, &daemon{id: id, dir: dir, tokens: tokens})
	}
	return s, nil
}

// scope names one of the site's.
func (s *site) scope(name string) string { return fmt.Sprintf("%s-%d", name, s.wound.Number) }

// write configures a daemon.
func (s *site) write(d *daemon, roles ...role) error {
	return d.write(s.n.cfg.Lease, string(s.n.Cluster.cfg.Takeover), roles)
}

// ask has strangers ask a daemon about a scope.
func (s *site) ask(scope string, d *daemon, change func(*asker)) {
	a := newAsker(s, scope, d)
	change(a)
	s.askers.Go(func() { a.run(s.asking) })
}

// close ends the strangers first, then the daemons, and keeps what the strangers did.
func (s *site) close(ctx context.Context) {
	until := fence.Boottime()
	s.leave()
	s.askers.Wait()
	for _, d := range s.daemons {
		if d.end(closing) {
			s.n.violate(ctx, s.wound.Number, Recovers, "%s has not ended %s after SIGTERM", d.id, closing)
		}
		_ = os.RemoveAll(d.dir) // the folder above goes with the server
	}
	for _, g := range s.stated {
		if g.From != 0 {
			g.Until = until
		}
		s.n.gated = append(s.n.gated, *g)
	}
}

// state is the record of a scope, with the lock.
func (s *site) state(scope string) *Gated {
	g := s.stated[scope]
	if g == nil {
		g = &Gated{Scope: scope}
		s.stated[scope] = g
	}
	return g
}

// due says that from now on somebody must lead a scope.
func (s *site) due(scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state(scope).From = fence.Boottime()
}

func (s *site) began(a *asker, act evidence.Act) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.life > 0 {
		s.long++
	}
	if last := s.leads[a.scope]; act.Epoch > last.epoch || act.Epoch == last.epoch && act.Start > last.at {
		s.leads[a.scope] = sighting{act.Epoch, act.Node, act.Start}
	}
}

func (s *site) ended(scope string, act evidence.Act) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.state(scope)
	g.Acts = append(g.Acts, act)
}

// leader is whom the askers of a scope met last, by epoch.
func (s *site) leader(scope string) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leads[scope]
}

// other is the daemon that a sighting is not of.
func (s *site) other(than sighting) (it, its *daemon) {
	if s.daemons[0].id == than.node {
		return s.daemons[1], s.daemons[0]
	}
	return s.daemons[0], s.daemons[1]
}
