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

// daemonPair is two daemons, apart from the nodes of the cluster, and the askers of their gates. It
// lives as long as one injection, whose number is part of the names of its scopes.
type daemonPair struct {
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

// openPair creates the daemons' folders and starts nothing.
func (n *nemesis) openPair(ctx context.Context, in *Injection, tokens bool) (*daemonPair, error) {
	p := &daemonPair{n: n, injection: in, leads: map[string]sighting{}, records: map[string]*Gated{}}
	p.asking, p.stopAsking = context.WithCancel(context.WithoutCancel(ctx))
	for i := range 2 {
		id := fmt.Sprintf("daemon-%d", i+1)
		dir, err := n.Server.Folder(fmt.Sprintf("%d-%s", in.Number, id))
		if err != nil {
			p.stopAsking()
			return nil, err
		}
		p.daemons = append(p.daemons, &daemon{id: id, dir: dir, tokens: tokens})
	}
	return p, nil
}

func (p *daemonPair) scope(name string) string { return fmt.Sprintf("%s-%d", name, p.injection.Number) }

// write writes a daemon's configuration.
func (p *daemonPair) write(d *daemon, roles ...role) error {
	return d.write(p.n.cfg.Lease, string(p.n.Cluster.cfg.Takeover), roles)
}

// ask starts an asker about a scope at a daemon.
func (p *daemonPair) ask(scope string, d *daemon, change func(*asker)) {
	a := newAsker(p, scope, d)
	change(a)
	p.askers.Go(func() { a.run(p.asking) })
}

// close ends the askers, then the daemons, and keeps the acts of the askers.
func (p *daemonPair) close(ctx context.Context) {
	until := fence.Boottime() // nobody looks for a leader any more
	p.stopAsking()
	p.askers.Wait()
	for _, d := range p.daemons {
		if d.end(endPatience) {
			p.n.violate(ctx, p.injection.Number, Recovers, "%s has not ended %s after SIGTERM", d.id, endPatience)
		}
		_ = os.RemoveAll(d.dir) // its parent is removed with the server
	}
	for _, g := range p.records {
		if g.From != 0 {
			g.Until = until
		}
		p.n.gated = append(p.n.gated, *g)
	}
}

// record returns the record of a scope. The caller holds the lock.
func (p *daemonPair) record(scope string) *Gated {
	g := p.records[scope]
	if g == nil {
		g = &Gated{Scope: scope}
		p.records[scope] = g
	}
	return g
}

// expectLeader records that a scope must be led from now until close.
func (p *daemonPair) expectLeader(scope string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.record(scope).From = fence.Boottime()
}

// began notes the leader at once; ended keeps the act.
func (p *daemonPair) began(a *asker, act evidence.Act) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a.life > 0 {
		p.long++
	}
	if last := p.leads[a.scope]; act.Epoch > last.epoch || act.Epoch == last.epoch && act.Start > last.at {
		p.leads[a.scope] = sighting{act.Epoch, act.Node, act.Start}
	}
}

func (p *daemonPair) ended(scope string, act evidence.Act) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.record(scope)
	g.Acts = append(g.Acts, act)
}

// leader returns the leader with the highest epoch that the askers of a scope have seen.
func (p *daemonPair) leader(scope string) sighting {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leads[scope]
}

// other returns the daemon that is not the sighted leader, and the one that is. Without a sighting
// the answer is arbitrary.
func (p *daemonPair) other(than sighting) (follower, leader *daemon) {
	if p.daemons[0].id == than.node {
		return p.daemons[1], p.daemons[0]
	}
	return p.daemons[0], p.daemons[1]
}
