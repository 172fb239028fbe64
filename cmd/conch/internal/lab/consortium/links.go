//go:build unix

package consortium

import "github.com/conchhq/conch/internal/pg/tcpproxy"

// links has a proxy for each organisation and each of its peers: what the first one's [[peers]] names.
type links map[[2]string]*tcpproxy.Proxy

// nowhere is where a proxy leads before its node has said where it listens.
const nowhere = "127.0.0.1:1"

func newLinks(names []string) (links, error) {
	l := links{}
	for _, from := range names {
		for _, to := range names {
			if from == to {
				continue
			}
			p, err := tcpproxy.New(nowhere)
			if err != nil {
				l.close()
				return nil, err
			}
			l[[2]string{from, to}] = p
		}
	}
	return l, nil
}

// way returns where an organisation finds a peer.
func (l links) way(from, to *organisation) string {
	if proxy := l[[2]string{from.name, to.name}]; proxy != nil {
		return proxy.Addr()
	}
	return to.address
}

// leadTo says where an organisation's node listens now. It may be called from any goroutine.
func (l links) leadTo(name, addr string) {
	for pair, p := range l {
		if pair[1] == name {
			p.Retarget(addr)
		}
	}
}

// cut separates the organisations on one side from all others: nothing passes, and nobody is told.
func (l links) cut(side map[string]bool) {
	for pair, p := range l {
		if side[pair[0]] != side[pair[1]] {
			p.Blackhole(tcpproxy.Both)
		}
	}
}

func (l links) heal() {
	for _, p := range l {
		p.Heal()
	}
}

func (l links) close() {
	for _, p := range l {
		p.Close()
	}
}
