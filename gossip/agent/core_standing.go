package agent

import (
	"errors"
	"maps"
	"slices"

	"github.com/conchhq/conch/gossip"
)

// errNoReason is told where a user withdraws its node and does not say why.
var errNoReason = errors.New("no reason is given")

// withdraw has this node stand back. If a person wants it, it remembers for how long.
func (c *Core) withdraw(in Withdraw) {
	if !in.Person {
		delete(c.owed, in.Namespace)
	}
	c.standsBack(in.Namespace, in.Why)
	for _, st := range c.gossip.Snapshot() {
		if in.Person && st.Namespace == in.Namespace && st.State == gossip.Back {
			c.stays[in.Namespace] = st.Until
		}
	}
}

func (c *Core) standsBack(namespace string, why error) {
	if why == nil {
		why = errNoReason
	}
	c.suggest(gossip.Withdraw{Namespace: namespace, Why: why.Error()})
}

// comeBack takes back what the program has said: at once, or when what a person has said is over.
func (c *Core) comeBack(namespace string) {
	if c.now < c.stays[namespace] {
		c.owed[namespace] = true
		return
	}
	c.suggest(gossip.Return{Namespace: namespace})
}

// payBack takes back what had to wait for a person's word.
func (c *Core) payBack() {
	for _, namespace := range slices.Sorted(maps.Keys(c.owed)) {
		if c.now >= c.stays[namespace] {
			delete(c.owed, namespace)
			c.suggest(gossip.Return{Namespace: namespace})
		}
	}
}
