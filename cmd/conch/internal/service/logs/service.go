package logs

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/transport/mtls"
)

//go:embed openapi.yaml
var openAPI string

// Kind is the service of [[logs]].
func Kind() node.Kind {
	return node.Kind{
		Section: func() config.Section { return new(Section) },
		Examine: examine,
		OpenAPI: openAPI,
		Open:    open,
	}
}

func open(f node.Frame) node.Service {
	s := &service{denied: newDenials()}
	s.tells = &teller{board: f.Board, log: f.Log}
	s.ctx, s.stop = context.WithCancel(f.Over)
	f.Over = s.ctx
	s.frame = f
	a := &api{shelf: s, denied: s.denied, log: f.Log}
	s.routes = a.routes()
	f.Board.Offer(kindEntry, a.selects)
	return s
}

// service has the logs of this node, from the start of the node to its end.
type service struct {
	node.Plain
	frame  node.Frame
	tells  *teller
	routes []web.Route
	denied *denials
	ctx    context.Context
	stop   context.CancelFunc
	busy   sync.WaitGroup // parts that run

	mu       sync.Mutex
	prepared bool
	parts    []*part // by namespace; they do not change once they are there
}

// Prepare implements node.Service. What cannot change while the node runs, Section.Restarts names.
func (s *service) Prepare(_ context.Context, c config.Config) (apply func(), err error) {
	section := *config.Of[*Section](c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared {
		return func() { s.reload(section.peers.Peers) }, nil
	}
	s.prepared = true
	if len(section.all) == 0 {
		return func() {}, nil
	}
	id, err := mtls.LoadIdentity(section.peers.Identity.Key, section.peers.Identity.Certificate)
	if err != nil {
		return nil, err
	}
	for _, l := range section.all {
		s.parts = append(s.parts, newPart(l, section.peers.Identity.Name, namesOf(section.peers.Peers), id.Signer(), s.frame, s.tells.tell))
	}
	slices.SortFunc(s.parts, func(a, b *part) int { return strings.Compare(a.Namespace, b.Namespace) })
	return s.keep, nil
}

// reload takes other [[peers]]: a node that is none any more decides nothing from now on.
func (s *service) reload(all []peers.Peer) {
	for _, r := range s.Parts() {
		r.reload(namesOf(all))
	}
}

func namesOf(all []peers.Peer) (names []string) {
	for _, p := range all {
		names = append(names, p.Name)
	}
	return names
}

// keep begins with all logs.
func (s *service) keep() {
	s.frame.Ground.Enter(s)
	for _, r := range s.Parts() {
		s.busy.Add(1)
		s.frame.Go(func() { r.vouch(s.ctx) })
		s.frame.Go(func() {
			defer s.busy.Done()
			r.run(s.ctx)
		})
	}
}

// Parts implements shelf.
func (s *service) Parts() []*part {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts
}

// Joined implements node.Guest.
func (s *service) Joined(n node.Network) {
	for _, r := range s.Parts() {
		if err := r.line.join(n); err != nil {
			s.frame.Log.Error("a log has no line to the other nodes", "log", r.Namespace, "error", err)
		}
	}
}

// Left implements node.Guest.
func (s *service) Left() {
	for _, r := range s.Parts() {
		r.line.leave()
	}
}

// Heard implements node.Guest.
func (s *service) Heard(n node.News) bool {
	for _, r := range s.Parts() {
		if n.Topic != topicOf(r.Namespace) {
			continue
		}
		if h := r.running(); h != nil {
			if err := h.Heard(n.Body, n.Via); err != nil {
				r.counts.refuse(reasonMalformed)
			}
		}
		return true
	}
	return false
}

// Suggested implements node.Guest.
func (s *service) Suggested(name string) {
	for _, r := range s.Parts() {
		r.suggest(name)
	}
}

// Routes implements node.Service.
func (s *service) Routes() []web.Route { return s.routes }

// Collectors implements node.Service.
func (s *service) Collectors() []prometheus.Collector {
	return []prometheus.Collector{&collector{s, s.denied}}
}

// Health implements node.Service.
func (s *service) Health() any {
	var all []Health
	for _, r := range s.Parts() {
		all = append(all, healthOf(r.status(time.Now())))
	}
	if all == nil {
		return nil
	}
	return all
}

// Close implements node.Service.
func (s *service) Close() {
	s.stop()
	s.busy.Wait()
	s.Left()
}

// find returns the part of a namespace.
func find(all []*part, namespace string) (*part, error) {
	var names []string
	for _, r := range all {
		if r.Namespace == namespace {
			return r, nil
		}
		names = append(names, r.Namespace)
	}
	if len(names) == 0 {
		return nil, errors.New("this node has no log: its configuration has no [[logs]]")
	}
	return nil, fmt.Errorf("%q is no log of this node: it has %s. A [[logs]] table gives it another one", namespace, strings.Join(names, ", "))
}
