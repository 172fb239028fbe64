package core

import (
	"testing"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// A member may name any address as that of a node. Those that lead to nobody but this host, or to its link, are dialled only
// where this node is such a one too, or its configuration names them.
func TestWhatOthersNameIsNotThisHost(t *testing.T) {
	t.Parallel()
	for own, dials := range map[string]bool{"10.0.0.7:7443": false, "n7.example:7443": false, "127.0.0.1:7443": true} {
		at := map[string]string{}
		c := New(Settings{
			Hint:    hint.Config{Self: wire.Subject{1}, Incarnation: 1, Scheme: key("a"), Namespaces: []hint.Namespace{{Name: "site"}}},
			Overlay: overlay.Config{Self: overlay.Peer{Name: "a", Address: own}, Incarnation: 1},
			Peers:   []Peer{{Name: "known", Address: "127.0.0.1:1"}},
		})
		connect := func(p overlay.Peer) {
			c.connectPeer(p)
			for _, a := range c.out {
				if a, is := a.(Connect); is {
					at[a.Name] = a.Address
				}
			}
			c.out = nil
		}
		for _, address := range []string{"127.0.0.1:22", "127.9.9.9:22", "[::1]:22", "[::ffff:127.0.0.1]:22", "0.0.0.0:22", "169.254.169.254:80", "[fe80::1]:80", "224.0.0.1:80", "localhost:22", "LocalHost.:22", "x.localhost:22", ":22"} {
			if connect(overlay.Peer{Name: address, Address: address}); (at[address] == address) != dials {
				t.Errorf("a node at %s that is told of %s dials %q", own, address, at[address])
			}
		}
		connect(overlay.Peer{Name: "x", Address: "10.0.0.8:7443"})
		connect(overlay.Peer{Name: "y", Address: "y.example:7443"})
		connect(overlay.Peer{Name: "known", Address: "10.0.0.8:7443"})
		if at["x"] != "10.0.0.8:7443" || at["y"] != "y.example:7443" || at["known"] != "127.0.0.1:1" {
			t.Errorf("a node at %s dials %v", own, at)
		}
	}
}
