package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/transport"
	"github.com/conchhq/conch/transport/mtls"
)

// member is this node in the overlay, from the beginning of its listening to the end.
type member struct {
	*gossip.Agent

	endpoint *mtls.Endpoint
	own      transport.Claims // what has to be the same on all nodes
	log      *slog.Logger
	twins    *twins
	contacts []string
}

// surroundings are what a member needs besides its configuration.
type surroundings struct {
	log       *slog.Logger
	tell      func(gossip.Event)
	twins     *twins
	stateFile string    // of the incarnation; empty: none
	began     time.Time // when the node was started
}

// join listens, and makes the agent. It does not take part yet.
func (s *Section) join(o surroundings) (*member, error) {
	id, err := mtls.LoadIdentity(s.peers.Identity.Key, s.peers.Identity.Certificate)
	if err != nil {
		return nil, err
	}
	if err := keyFault(id); err != nil {
		return nil, err
	}
	endpoint, err := mtls.New(s.endpoint(o.log))
	if err != nil {
		return nil, node.PeersUnheard(s.peers.Identity.Listen, err)
	}
	unit, _ := s.pace()
	self := gossip.Subject(id.Fingerprint())
	cfg := gossip.Config{
		Transport: endpoint, Address: at(s.Advertise, endpoint.Addr()), Key: id.Signer(), Contacts: s.contacts(),
		Namespaces: s.namespaces(s.subjects(self)), Round: unit, StateFile: o.stateFile, Tell: o.tell, Reserved: s.reserved,
	}
	for _, p := range s.peers.Peers {
		key, _ := subjectOf(p)
		cfg.Peers = append(cfg.Peers, gossip.Peer{Name: p.Name, Address: hostOf(p.URL), Subject: key})
	}
	a, err := gossip.New(cfg)
	m := &member{a, endpoint, s.claims(self), o.log, o.twins, s.contacts()}
	if err == nil {
		err = endpoint.Claim(subjectClaims, m.own)
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	m.rank(s, o.began)
	return m, nil
}

// keyFault says why a key cannot sign what a node says: it has to be one of Ed25519.
func keyFault(id mtls.Identity) error {
	if _, err := gossip.SubjectOf(id.Signer()); err != nil {
		return fmt.Errorf("[gossip] needs another key: %w", err)
	}
	return nil
}

// endpoint returns the configuration of the connections.
func (s *Section) endpoint(log *slog.Logger) mtls.Config {
	c := s.peers.Endpoint(log)
	c.Roam, c.Source, c.Outward = true, s.Source, !transport.Inward(s.Advertise)
	return c
}

// at returns an advertised address, with the port that was taken if it has none of its own.
func at(advertise string, taken net.Addr) string {
	host, port, err := net.SplitHostPort(advertise)
	if err != nil || port != "0" {
		return advertise
	}
	_, port, _ = net.SplitHostPort(taken.String())
	return net.JoinHostPort(host, port)
}

// hostOf returns host:port of a URL.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// rank says where this node is in the order of candidates.
func (m *member) rank(s *Section, began time.Time) {
	for _, n := range s.Namespaces {
		m.Seniority(n, s.Gossip.rank(began))
	}
}

// Strangers implements running.
func (m *member) Strangers() map[mtls.Reason]uint64 {
	stats := m.endpoint.Stats()
	for reason, n := range stats.Named {
		stats.Strangers[reason] += n
	}
	return stats.Strangers
}

// Contacts implements running.
func (m *member) Contacts() []string { return m.contacts }

// Unreached implements running.
func (m *member) Unreached() (all []Unreached) {
	for name, p := range m.endpoint.Stats().Peers {
		if p.Away != "" && !p.Connected {
			all = append(all, Unreached{name, string(p.Away), p.AwaySince.UTC().Round(time.Millisecond)})
		}
	}
	slices.SortFunc(all, func(a, b Unreached) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// run takes part until ctx ends or the listener fails. It says goodbye while the connections still stand, and to all: nobody is let in
// any more from then on, so nobody comes after the goodbyes and takes the end of its connection for a fault.
func (m *member) run(ctx context.Context) error {
	listens, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	takesPart, leave := context.WithCancel(ctx)
	defer leave()
	context.AfterFunc(takesPart, m.endpoint.CloseDoor)
	failed := make(chan error, 1)
	go func() {
		defer leave()
		failed <- m.endpoint.Run(listens)
	}()
	var looking sync.WaitGroup
	looking.Go(func() { m.look(takesPart) })
	err := m.Run(takesPart)
	leave()
	looking.Wait()
	stop()
	return errors.Join(err, <-failed)
}

// lookEvery is how often this node compares itself with its neighbours.
const lookEvery = 2 * time.Second

// look names neighbours that are configured otherwise, until ctx ends.
func (m *member) look(ctx context.Context) {
	told, refused := map[string]string{}, map[string]uint64{}
	for pause.For(ctx, lookEvery) == nil {
		m.compare(m.log, told)
		m.seeTwins(refused)
	}
}

// seeTwins notes peers whose second host was refused since the last look, and this node if it is such a second host. The log has named
// both.
func (m *member) seeTwins(before map[string]uint64) {
	stats := m.endpoint.Stats()
	now := map[string]uint64{m.endpoint.Self(): stats.Twins}
	for name, p := range stats.Peers {
		now[name] = p.Refused[mtls.Twin]
	}
	for name, n := range now {
		if n > before[name] {
			m.twins.see(name, time.Now())
		}
	}
	clear(before)
	maps.Copy(before, now)
}

// close ends the listening of a member that never took part.
func (m *member) close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return m.endpoint.Run(ctx)
}
