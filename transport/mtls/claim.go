package mtls

import (
	"fmt"

	"github.com/conchhq/conch/transport"
)

// Claim implements transport.Claimer.
func (e *Endpoint) Claim(subject string, claims transport.Claims) error {
	if subject == "" || len(subject) > mostName {
		return fmt.Errorf("the subject %.80q has %d bytes, and 1 to %d are allowed", subject, len(subject), mostName)
	}
	for key, value := range claims {
		if len(key) > mostKey || len(value) > mostValue {
			return fmt.Errorf("the claim %.140q has a key of %d bytes and a value of %d: %d and %d are allowed", key, len(key), len(value), mostKey, mostValue)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	all := len(claims)
	for other, said := range e.claims {
		if other != subject {
			all += len(said)
		}
	}
	if all > mostClaims {
		return fmt.Errorf("%d claims of all subjects, and %d are allowed", all, mostClaims)
	}
	e.claims[subject] = claims.Clone()
	for _, p := range e.peers {
		p.greetAgain()
	}
	return nil
}

// Claimed implements transport.Claimer.
func (e *Endpoint) Claimed(name, subject string) (transport.Claims, bool) {
	p := e.peer(name)
	if p == nil {
		return nil, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims == nil {
		return nil, false
	}
	return p.claims[subject].Clone(), true
}

// hello returns the packet in which this node says who it is.
func (e *Endpoint) hello() []byte {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return (&hello{version: version, from: e.cfg.Self, claims: e.claims}).packet()
}

// greetAgain makes the sender say hello once more.
func (p *peer) greetAgain() {
	p.mu.Lock()
	p.greet = true
	p.mu.Unlock()
	p.queue.ready.Ring()
}

// greeting reports whether a hello is due, and that it no longer is.
func (p *peer) greeting() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.greet
	p.greet = false
	return due
}
