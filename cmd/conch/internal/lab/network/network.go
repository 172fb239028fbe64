package network

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// nowhere is where a relay leads before its node has said where it listens.
const nowhere = "127.0.0.1:1"

// Network has the relays of an experiment. A nil one has none, and none can be made. Safe for concurrent use.
type Network struct {
	mu     sync.Mutex
	relays []relay
	homes  map[netip.Addr]string // from where each node dials, if relays stand in front of nodes
}

// relay leads to a node.
type relay struct {
	proxy *tcpproxy.Proxy
	to    string
	from  string // who dials; empty: known by the address
}

// Between makes a relay that one node dials to reach another. Its target is not known before Lead.
func (n *Network) Between(from, to string) error {
	p, err := tcpproxy.New(nowhere)
	if err != nil {
		return fmt.Errorf("a relay from %s to %s: %w", from, to, err)
	}
	n.add(relay{p, to, from})
	return nil
}

// InFront makes a relay at an address, as host:port, that all dial to reach a node, which itself dials from home. It returns
// the relay's address. Its target is not known before Lead.
func (n *Network) InFront(node string, home netip.Addr, address string) (string, error) {
	p, err := tcpproxy.Listen(address, nowhere)
	if err != nil {
		return "", fmt.Errorf("a relay in front of %s: %w", node, err)
	}
	n.add(relay{proxy: p, to: node})
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.homes == nil {
		n.homes = map[netip.Addr]string{}
	}
	n.homes[home] = node
	return p.Addr(), nil
}

func (n *Network) add(r relay) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.relays = append(n.relays, r)
}

// Way returns the address of the relay that one node dials to reach another; empty if none is between them.
func (n *Network) Way(from, to string) string {
	if n == nil {
		return ""
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.relays {
		if r.to == to && (r.from == from || r.from == "") {
			return r.proxy.Addr()
		}
	}
	return ""
}

// Lead says where a node listens now. Connections that exist go on.
func (n *Network) Lead(to, address string) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.relays {
		if r.to == to {
			r.proxy.Retarget(address)
		}
	}
}

// Cut separates the nodes on one side from all others. A node that dials from an unknown address is on the other side.
func (n *Network) Cut(side map[string]bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	sides := map[netip.Addr]bool{} // a copy: it is read from other goroutines
	for home, node := range n.homes {
		sides[home] = side[node]
	}
	for _, r := range n.relays {
		own := side[r.to]
		if r.from == "" {
			r.proxy.Part(func(source netip.Addr) bool { return sides[source] != own })
		} else if side[r.from] != own {
			r.proxy.Blackhole(tcpproxy.Both)
		}
	}
}

// Standing names the ways to and from a node that have a connection which was made in a time, such as "a to b". Both ends are known.
func (n *Network) Standing(node string, after, before time.Time) (ways []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.relays {
		if (r.from == node || r.to == node) && r.proxy.Standing(after, before) > 0 {
			ways = append(ways, r.from+" to "+r.to)
		}
	}
	return ways
}

// Heal ends the cut.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.relays {
		r.proxy.Heal()
	}
}

// Close ends all relays and the connections through them.
func (n *Network) Close() {
	if n == nil {
		return
	}
	n.mu.Lock()
	relays := n.relays
	n.relays = nil
	n.mu.Unlock()
	for _, r := range relays {
		r.proxy.Close()
	}
}
