package mtls

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Reload reads the files again and takes another configuration. A peer that is gone, or whose proof no longer holds, is
// disconnected at once; all others keep their connections, and see a new certificate of this node when they connect the
// next time. Self, Listen, Keepalive and Roam cannot change. If it returns an error nothing has changed.
func (e *Endpoint) Reload(c Config) error {
	e.reloading.Lock()
	defer e.reloading.Unlock()
	return e.reload(c)
}

func (e *Endpoint) reload(c Config) error {
	c = c.withDefaults()
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Self != e.cfg.Self || c.Listen != e.cfg.Listen || c.Keepalive != e.cfg.Keepalive || c.Roam != e.cfg.Roam {
		return errors.New("mtls: Self, Listen, Keepalive and Roam cannot change while the node runs: start it again")
	}
	read := c.stamp()
	self, known, err := c.load()
	if err != nil {
		return fmt.Errorf("mtls: %w", err)
	}
	e.mu.Lock()
	e.self, e.roster, e.latest, e.stamp = self, known, c, read
	gone := maps.Clone(e.peers)
	maps.DeleteFunc(gone, func(_ string, p *peer) bool { return p.guest })
	for _, p := range c.Peers {
		address, _ := p.address() // Validate has read it
		if old := e.peers[p.Name]; old != nil {
			e.moved(old, address, c)
			delete(gone, p.Name)
			continue
		}
		added := newPeer(p.Name, address, c)
		e.peers[p.Name] = added
		if e.running != nil && !e.over {
			e.start(added)
		}
	}
	for name := range gone {
		delete(e.peers, name)
	}
	e.prove(func(*conn) bool { return true })
	e.mu.Unlock()
	for _, p := range slices.Collect(maps.Values(gone)) {
		p.stop()
		p.log.Info("the peer was removed")
	}
	return nil
}

// moved gives a peer that stays its new address and limits.
func (e *Endpoint) moved(p *peer, address string, c Config) {
	p.guest, p.caller = false, false // it has become one of Config.Peers
	p.mu.Lock()
	other := p.address != address && !c.Roam // there only Connect says where to
	p.address, p.rate.perSecond, p.seldom = address, c.Rate, nil
	p.mu.Unlock()
	p.queue.limit(c.Queue)
	for _, link := range e.conns {
		if other && link.peer == p && !link.incoming {
			shut(link.tls)
		}
	}
	p.kick.Ring() // whatever kept it away may be cured
}
