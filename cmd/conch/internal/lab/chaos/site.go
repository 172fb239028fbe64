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

// endPatience is how long a daemon may take to end after SIGTERM.
const endPatience = 5 * time.Second

// site is two conch nodes, apart from the nodes of the cluster, and clients that ask their gates. It
// lives as long as one injection, whose number is part of the names of its scopes.
type site struct {
	n          *nemesis
	injection  *Injection
	daemons    []*daemon
	stopAsking context.CancelFunc
	asking     context.Context
	askers     sync.WaitGroup

	mu      sync.Mutex          // guards the fields below
	leads   map[string]sighting // by scope, the newest leader that an asker saw
	long    int                 // acts of askers that requested answers with a longer life
	records map[string]*Gated
}

// sighting is a scope's leader as an asker saw it.
type sighting struct {
	epoch int64
	node  string
	at    fence.Instant
}

// open creates the daemons' folders and starts nothing.
func (n *nemesis) open(ctx context.Context, in *Injection, tokens bool) (*site, error) {
	s := &site{n: n, injection: in, leads: map[string]sighting{}, records: map[string]*Gated{}}
	s.asking, s.stopAsking = context.WithCancel(context.WithoutCancel(ctx))
	for i := range 2 {
		id := fmt.Sprintf("daemon-%d", i+1)
		dir, err := n.Server.Folder(fmt.Sprintf("%d-%s", in.Number, id))
		if err != nil {
			s.stopAsking()
			return nil, err
		}
		s.daemons = append(s.daemons, &daemon{id: id, dir: dir, tokens: tokens})
	}
	return s, nil
}

func (s *site) scope(name string) string { return fmt.Sprintf("%s-%d", name, s.injection.Number) }

// write writes a daemon's configuration.
func (s *site) write(d *daemon, roles ...role) error {
	return d.write(s.n.cfg.Lease, string(s.n.Cluster.cfg.Takeover), roles)
}

// ask starts an asker about a scope at a daemon.
func (s *site) ask(scope string, d *daemon, change func(*asker)) {
	a := newAsker(s, scope, d)
	change(a)
	s.askers.Go(func() { a.run(s.asking) })
}

// close ends the askers, then the daemons, and keeps the acts of the askers.
func (s *site) close(ctx context.Context) {
	until := fence.Boottime() // nobody looks for a leader any more
	s.stopAsking()
	s.askers.Wait()
	for _, d := range s.daemons {
		if d.end(endPatience) {
			s.n.violate(ctx, s.injection.Number, Recovers, "%s has not ended %s after SIGTERM", d.id, endPatience)
		}
		_ = os.RemoveAll(d.dir) // its parent is removed with the server
	}
	for _, g := range s.records {
		if g.From != 0 {
			g.Until = until
		}
		s.n.gated = append(s.n.gated, *g)
	}
}

// record returns the record of a scope. The caller holds the lock.
func (s *site) record(scope string) *Gated {
	g := s.records[scope]
	if g == nil {
		g = &Gated{Scope: scope}
		s.records[scope] = g
	}
	return g
}

// expectLeader records that a scope must be led from now until close.
func (s *site) expectLeader(scope string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record(scope).From = fence.Boottime()
}

// began notes the leader at once; ended keeps the act.
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
	g := s.record(scope)
	g.Acts = append(g.Acts, act)
}

// leader returns the leader with the highest epoch that the askers of a scope have seen.
func (s *site) leader(scope string) sighting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leads[scope]
}

// other returns the daemon that is not the sighted leader, and the one that is. Without a sighting
// the answer is arbitrary.
func (s *site) other(than sighting) (follower, leader *daemon) {
	if s.daemons[0].id == than.node {
		return s.daemons[1], s.daemons[0]
	}
	return s.daemons[0], s.daemons[1]
}
