package node

import (
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/conchhq/conch/transport"
)

// Network is this node's place among others, for as long as it is there. One service has it, and others use it through
// the Ground.
type Network interface { //nolint:interfacebloat // what a service needs to talk with other nodes
	// Open opens a line of the connections to other nodes.
	Open(subject string) (transport.Line, error)
	// Peers returns the nodes that are connected, sorted.
	Peers() []string
	// Keep says to which nodes connections are needed, by name: those of the last call are not needed any more. The
	// address is where a node is that the configuration does not have.
	Keep(addresses map[string]string)
	// Publish has all nodes told something, under a topic of this node. What it said before under it is replaced.
	Publish(topic string, body []byte) error
	// Withdraw says that this node cannot do the work of the leader whom the others suggest, and why: they suggest another one. nil: it
	// can again.
	Withdraw(why error)
}

// News is what another node has published.
type News struct {
	Topic string
	Body  []byte
	Via   string // the neighbour that brought it first
}

// LogTopics begins the topics of the heads of logs. Gossip brings them to every node, whether it has the log or not, and they are
// no news to its users.
const LogTopics = "log/"

// Guest is a service that uses the network. Its methods are called one after another, and must not wait.
type Guest interface { //nolint:interfacebloat // all that changes for somebody who uses a network
	// Joined says that the network is there: lines may be opened.
	Joined(n Network)
	// Left says that it is there no more, and its lines with it.
	Left()
	// Heard takes news, and reports whether it is the guest's: then nobody else is told.
	Heard(news News) (taken bool)
	// Suggested names whom the others of the network suggest as leader; empty: nobody. It is a hint.
	Suggested(name string)
}

// Ground is where the service that has the network and those that use it meet: neither knows the other. It is safe for
// concurrent use.
type Ground struct {
	mu        sync.Mutex
	network   Network // nil: it is away
	guests    []Guest
	kept      map[string]map[string]string // by owner
	suggested string
	unfit     map[string]error // by owner
}

// Join is called by the service that has the network, once it is there.
func (g *Ground) Join(n Network) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.network = n
	n.Keep(g.all())
	if why := g.why(); why != nil {
		n.Withdraw(why)
	}
	for _, guest := range g.guests {
		guest.Joined(n)
	}
}

// Leave is called by the service that has the network, before it ends.
func (g *Ground) Leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.network == nil {
		return
	}
	g.network, g.suggested = nil, ""
	for _, guest := range g.guests {
		guest.Left()
	}
}

// Tell passes news to the guests, and reports whether one has taken it.
func (g *Ground) Tell(news News) (taken bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, guest := range g.guests {
		if guest.Heard(news) {
			return true
		}
	}
	return false
}

// Suggest passes on whom the others suggest as leader; empty: nobody.
func (g *Ground) Suggest(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.suggested = name
	for _, guest := range g.guests {
		guest.Suggested(name)
	}
}

// Enter adds a guest, and tells it how things stand.
func (g *Ground) Enter(guest Guest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guests = append(g.guests, guest)
	if g.network != nil {
		guest.Joined(g.network)
		guest.Suggested(g.suggested)
	}
}

// Suggested returns whom the others suggest as leader; empty: nobody.
func (g *Ground) Suggested() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.suggested
}

// Keep says to which nodes an owner needs connections, also once the network is there again; see Network. Those of its
// last call are not needed any more.
func (g *Ground) Keep(owner string, addresses map[string]string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil {
		g.kept = map[string]map[string]string{}
	}
	g.kept[owner] = maps.Clone(addresses)
	if g.network != nil {
		g.network.Keep(g.all())
	}
}

// Withdraw says that an owner cannot do a leader's work on this node, and why; nil: it can. It is repeated as long as its cause lasts. One
// owner that cannot is enough: one leader is suggested for all.
func (g *Ground) Withdraw(owner string, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before := g.why()
	if g.unfit == nil {
		g.unfit = map[string]error{}
	}
	if g.unfit[owner] = why; why == nil {
		delete(g.unfit, owner)
	}
	if now := g.why(); g.network != nil && (before != nil || now != nil) {
		g.network.Withdraw(now)
	}
}

// why merges what the owners say that cannot work; nil: all can. It needs the lock.
func (g *Ground) why() error {
	var all []error
	for _, owner := range slices.Sorted(maps.Keys(g.unfit)) {
		all = append(all, g.unfit[owner])
	}
	return errors.Join(all...)
}

// all merges what the owners keep. It needs the lock.
func (g *Ground) all() map[string]string {
	out := map[string]string{}
	for _, addresses := range g.kept {
		for name, address := range addresses {
			if out[name] == "" {
				out[name] = address
			}
		}
	}
	return out
}
