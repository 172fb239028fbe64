package gossip

import (
	"slices"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport"
)

// place is a member as services of this node use it. They publish in one namespace, the first.
type place struct {
	m         *member
	namespace string
}

var _ node.Network = place{}

// Open implements node.Network.
func (p place) Open(subject string) (transport.Line, error) { return p.m.endpoint.Open(subject) }

// Peers implements node.Network.
func (p place) Peers() []string { return p.m.endpoint.Peers() }

// Keep implements node.Network.
func (p place) Keep(addresses map[string]string) { p.m.Keep(addresses) }

// Publish implements node.Network.
func (p place) Publish(topic string, body []byte) error {
	return p.m.Publish(p.namespace, topic, body)
}

// Withdraw implements node.Network.
func (p place) Withdraw(why error) {
	if why == nil {
		p.m.Return(p.namespace)
		return
	}
	p.m.Withdraw(p.namespace, why)
}

// first returns the namespace that the services of this node share; its suggested leader is the one that they hear of.
func (s *service) first() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.section.Namespaces[0]
}

// passes hands what concerns the first namespace to the services of this node, and reports whether one of them has taken it
// for its own, or would if this node had it.
func (t *teller) passes(e gossip.Event) (taken bool) {
	switch e := e.(type) {
	case gossip.Leader:
		name := ""
		if e.Leader.Proven { // another name is its bearer's own word
			name = e.Leader.Name
		}
		if e.Namespace == t.first {
			t.ground.Suggest(name)
		}
	case gossip.News:
		if e.Namespace == t.first && t.ground.Tell(node.News{Topic: e.Topic, Body: slices.Clone(e.Body), Via: e.Via}) {
			return true
		}
		return strings.HasPrefix(e.Topic, node.LogTopics)
	}
	return false
}
