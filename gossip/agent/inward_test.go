package agent

import (
	"testing"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/transport"
)

// called notes where a node dials.
type called struct {
	transport.Roamer

	at map[string]string
}

func (*called) Self() string                   { return "a" }
func (c *called) Connect(name, address string) { c.at[name] = address }

// A member may name any address as that of a node. Those that lead to nobody but this host, or to its link, are dialled only
// where this node is such a one too, or its configuration names them.
func TestWhatOthersNameIsNotThisHost(t *testing.T) {
	t.Parallel()
	for own, dials := range map[string]bool{"10.0.0.7:7443": false, "n7.example:7443": false, "127.0.0.1:7443": true} {
		to := &called{at: map[string]string{}}
		cfg := Config{
			Transport: to, Address: own, Self: wire.Subject{1}, Scheme: key("a"), Namespaces: []gossip.Namespace{{Name: "site"}},
			Peers: []Peer{{Name: "known", Address: "127.0.0.1:1"}}, Clock: systemClock(),
		}.withDefaults()
		a := &Agent{cfg: cfg, core: NewCore(cfg.settings(1)), mail: newMailbox()}
		connect := func(p spray.Peer) {
			a.core.connect(p)
			_ = a.perform(a.core.out)
			a.core.out = nil
		}
		for _, address := range []string{"127.0.0.1:22", "127.9.9.9:22", "[::1]:22", "[::ffff:127.0.0.1]:22", "0.0.0.0:22", "169.254.169.254:80", "[fe80::1]:80", "224.0.0.1:80", "localhost:22", "LocalHost.:22", "x.localhost:22", ":22"} {
			if connect(spray.Peer{Name: address, Address: address}); (to.at[address] == address) != dials {
				t.Errorf("a node at %s that is told of %s dials %q", own, address, to.at[address])
			}
		}
		connect(spray.Peer{Name: "x", Address: "10.0.0.8:7443"})
		connect(spray.Peer{Name: "y", Address: "y.example:7443"})
		connect(spray.Peer{Name: "known", Address: "10.0.0.8:7443"})
		if to.at["x"] != "10.0.0.8:7443" || to.at["y"] != "y.example:7443" || to.at["known"] != "127.0.0.1:1" {
			t.Errorf("a node at %s dials %v", own, to.at)
		}
	}
}
