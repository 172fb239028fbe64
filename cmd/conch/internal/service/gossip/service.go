package gossip

import (
	"context"
	_ "embed"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/certificate"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport/mtls"
)

//go:embed openapi.yaml
var openAPI string

// stateName is the file in the node's data_dir that has the incarnation of its last start.
const stateName = "gossip-incarnation"

// Kind is the service of [gossip].
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Check:   check,
		Examine: examine,
		OpenAPI: openAPI,
		Open:    open,
	}
}

// check reports a key that cannot sign statements. That it cannot be read at all is a fault of [identity].
func check(c config.Config, fault func(key string, err error)) {
	s := config.Of[*Section](c)
	if !s.there {
		return
	}
	if id, err := mtls.LoadIdentity(s.peers.Identity.Key, s.peers.Identity.Certificate); err == nil {
		fault("identity.key", keyFault(id))
	}
}

func open(f node.Frame) node.Service {
	s := &service{frame: f, began: time.Now(), over: make(chan struct{})}
	s.tells = &teller{board: f.Board, log: f.Log, clock: time.Now, quiet: newQuiet(), twins: &s.twins, ground: f.Ground}
	s.ctx, s.stop = context.WithCancel(f.Over)
	s.tells.ends = func() bool { return s.ctx.Err() != nil }
	a := &api{s, f.Log}
	s.routes = a.routes()
	f.Board.Offer(kindLeader, a.selects)
	f.Board.Offer(kindNews, a.selects)
	return s
}

// service keeps this node in the overlay from the start of the node to its end.
type service struct {
	node.Plain
	frame  node.Frame
	tells  *teller
	twins  twins
	began  time.Time
	routes []web.Route
	ctx    context.Context
	stop   context.CancelFunc
	over   chan struct{} // closed when keep has ended

	mu       sync.Mutex
	prepared bool
	kept     bool
	section  Section // with which the node began, with the peers of the last reload
	state    string  // file of the incarnation
	now      *member // nil: none, or it begins again
}

// Prepare implements node.Service. What cannot change while the node runs, Section.Restarts names.
func (s *service) Prepare(_ context.Context, c config.Config) (apply func(), err error) {
	next := *config.Of[*Section](c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared {
		if err := s.sameKey(); err != nil {
			return nil, err
		}
		return func() { s.reload(next) }, nil
	}
	if s.section = next; c.Node.DataDir != "" {
		s.state = filepath.Join(c.Node.DataDir, stateName)
	}
	if next.there {
		s.tells.first = next.Namespaces[0]
		if s.now, err = s.section.join(s.surroundings()); err != nil {
			return nil, err
		}
	}
	s.prepared = true
	return s.keep, nil
}

func (s *service) surroundings() surroundings {
	return surroundings{log: s.frame.Log, tell: s.tells.tell, twins: &s.twins, stateFile: s.state, began: s.began}
}

// sameKey refuses a file of the identity that has another key than the one with which this node signs. It needs the lock.
func (s *service) sameKey() error {
	if s.now == nil {
		return nil
	}
	id, err := mtls.LoadIdentity(s.section.peers.Identity.Key, s.section.peers.Identity.Certificate)
	if err == nil && gossip.Subject(id.Fingerprint()) != s.now.Self() {
		err = errors.New(s.section.peers.Identity.Key + " has another key than at the start of this node, and the others know it by that one: put it back, or restart the node")
	}
	return err
}

// reload takes other peers, and another seniority.
func (s *service) reload(next Section) {
	s.mu.Lock()
	s.section.peers.Peers, s.section.Seniority = next.peers.Peers, next.Seniority
	section, now := s.section, s.now
	s.mu.Unlock()
	if now == nil {
		return
	}
	if err := now.endpoint.Reload(section.endpoint(s.frame.Log)); err != nil {
		s.frame.Log.Error("the peers stay as they were", slog.Any("error", err))
	}
	now.rank(&section, s.began)
}

// keep begins to take part.
func (s *service) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return
	}
	s.kept = true
	s.frame.Log.Info("this node joins the overlay", slog.String("name", s.section.peers.Identity.Name), slog.String("listen", s.now.endpoint.Addr().String()),
		slog.String("fingerprint", s.now.endpoint.Fingerprint().String()), slog.Any("namespaces", s.section.Namespaces))
	m := s.now
	s.frame.Go(func() {
		defer close(s.over)
		s.takePart(m)
	})
}

// Pauses before a listener that has failed is opened again.
const (
	firstPause   = time.Second
	longestPause = time.Minute
)

// takePart is in the overlay until the node ends.
func (s *service) takePart(m *member) {
	pauses := pause.Growing{First: firstPause, Most: longestPause}
	for {
		began, text := time.Now(), "this node has left the overlay, and begins again"
		var err error
		if m != nil {
			s.frame.Ground.Join(place{m, s.first()})
			err = m.run(s.ctx)
			s.frame.Ground.Leave()
			if s.ctx.Err() != nil {
				return
			}
			s.away()
			s.tells.away(m.Status()) // after that: nobody who hears it finds the old leader named
			m = nil
		} else {
			if m, err = s.rejoin(); err == nil {
				continue
			}
			text = "the overlay cannot be joined, and is tried again"
		}
		wait := pauses.After(time.Since(began))
		s.frame.Log.Error(text, slog.Any("error", err), slog.Duration("in", wait))
		if pause.For(s.ctx, wait) != nil {
			return
		}
	}
}

// rejoin opens the listener again. A reload that comes meanwhile waits: its peers would be those of a listener that is not there yet.
func (s *service) rejoin() (m *member, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, err = s.section.join(s.surroundings()); err == nil {
		s.now = m
	}
	return m, err
}

// away notes that this node has left the overlay.
func (s *service) away() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = nil
}

// Member implements office.
func (s *service) Member() (now running, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return nil, s.section.there
	}
	return s.now, true
}

// Namespaces implements office.
func (s *service) Namespaces() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.section.Namespaces)
}

// Twins implements office.
func (s *service) Twins() []Twin { return s.twins.all(time.Now()) }

// Routes implements node.Service.
func (s *service) Routes() []web.Route { return s.routes }

// Collectors implements node.Service.
func (s *service) Collectors() []prometheus.Collector { return []prometheus.Collector{&collector{s}} }

// Papers implements node.Service.
func (s *service) Papers(now time.Time) []certificate.Paper {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now == nil {
		return nil
	}
	return peers.Shown(s.now.endpoint, now)
}

// Close implements node.Service.
func (s *service) Close() {
	s.stop()
	s.mu.Lock()
	m, kept := s.now, s.kept
	s.mu.Unlock()
	switch {
	case kept:
		<-s.over
	case m != nil:
		_ = m.close() // it never took part
	}
}
