package mtls

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/transport"
)

// peer is what the endpoint knows of another node. It outlives connections, but for that of a guest.
type peer struct {
	name  string
	queue *queue // with Roam each connection has its own, guarded by the endpoint's mutex
	log   *slog.Logger
	kick  step.Wake // has a token when the peer was heard, so that the next try need not wait
	stop  func()    // ends the sender, and waits for it

	// Guarded by the endpoint's mutex.
	guest  bool      // it is dropped when nothing uses it
	caller bool      // a guest that has called
	uses   int       // connections, streams and calls
	newest *conn     // of those that wait for their turn
	proven time.Time // see PeerStats.CertificateEnds

	mu      sync.Mutex
	address string
	stats   PeerStats
	rate    rate
	claims  map[string]transport.Claims // by subject; nil before its first hello
	heardBy *conn                       // over which it speaks
	greet   bool                        // what this node claims has changed
	there   Reason                      // why nothing can be sent to it; empty if something can
	since   time.Time                   // when that began
	here    Reason                      // why its last connection was refused
	seldom  *seldom                     // of a guest: who comes and goes must not fill the log
	blamed  *seldom                     // of anybody else: strangers may connect in its name, wrong in several ways by turns
}

func newPeer(name, address string, c Config) *peer {
	return &peer{
		name: name, queue: newQueue(c.Queue), log: c.Log.With("peer", name), kick: step.NewWake(), stop: func() {},
		address: address, blamed: newSeldom(), rate: rate{perSecond: c.Rate}, stats: PeerStats{Refused: map[Reason]uint64{}},
	}
}

func (p *peer) count(change func(*PeerStats)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.stats)
}

func (p *peer) snapshot() PeerStats {
	outdated := p.queue.expired(time.Now())
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Outdated, s.Refused = s.Outdated+outdated, maps.Clone(s.Refused)
	if p.there != "" {
		s.Away, s.AwaySince = p.there, p.since
	}
	return s
}

// due reports whether a reason is to be logged, and notes it in its place then: what was not logged is no line that a later one would
// repeat.
func (p *peer) due(at *Reason, r Reason) bool {
	switch {
	case p.seldom != nil:
		return p.seldom.due(r)
	case *at == r, at == &p.here && !p.blamed.due(r):
		return false
	}
	*at = r
	return true
}

// refused counts a connection of the peer, or of somebody in its name, and logs the first of a kind: once a minute at most.
func (p *peer) refused(r *RefusalError) {
	p.mu.Lock()
	p.stats.Refused[r.Reason]++
	due := p.due(&p.here, r.Reason)
	p.mu.Unlock()
	if due {
		p.log.Warn("a connection was refused", "reason", r.Reason, "error", r.Err)
	}
}

// lost notes that nothing can be sent to the peer, and logs the first time for a reason.
func (p *peer) lost(r *RefusalError) {
	p.mu.Lock()
	if r.Reason != Ended && r.Reason != Unreachable { // these refuse nobody
		p.stats.Refused[r.Reason]++
	}
	p.stats.Connected = false
	if p.there != r.Reason {
		p.since = time.Now()
	}
	due := p.due(&p.there, r.Reason)
	p.mu.Unlock()
	if due {
		p.log.Warn("nothing can be sent to the peer", "reason", r.Reason, "error", r.Err)
	}
}

// reached notes that the peer has answered with its hello. What it claims there counts only as long as it has no connection
// of its own here: over that it says what has changed, and this answer may be older.
func (p *peer) reached(h hello) {
	p.mu.Lock()
	p.there, p.stats.Connected = "", true
	if p.heardBy == nil {
		p.claims = h.claims
	}
	p.mu.Unlock()
	p.log.Info("connected to the peer")
}

// heard notes a hello of a connection that the peer has made.
func (p *peer) heard(c *conn, h hello) {
	p.mu.Lock()
	before := p.heardBy
	p.heardBy, p.here, p.stats.Heard, p.claims = c, "", true, h.claims
	p.mu.Unlock()
	if before == nil {
		p.log.Info("the peer has connected")
	}
	if before != c {
		p.kick.Ring()
	}
}

// unheard notes that a connection of the peer has ended.
func (p *peer) unheard(c *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.heardBy == c {
		p.heardBy, p.stats.Heard = nil, false
	}
}

// spend counts what the peer has sent, and returns how long its reader has to wait.
func (p *peer) spend(bytes int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := p.rate.spend(bytes, time.Now())
	if wait > 0 {
		p.stats.Braked++
	}
	return wait
}

// start starts the sender, unless the node roams.
func (e *Endpoint) start(p *peer) {
	if e.cfg.Roam {
		return
	}
	ctx, cancel := context.WithCancel(e.running)
	var running sync.WaitGroup
	running.Go(func() {
		p.keep(ctx, func(ctx context.Context) error { return e.explain(refusalOf(e.attempt(ctx, p), p.name, Ended)) })
	})
	p.stop = func() { cancel(); running.Wait() }
}
