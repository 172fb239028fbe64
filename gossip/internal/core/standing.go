package core

import (
	"errors"
	"maps"
	"slices"

	"github.com/conchhq/conch/gossip/internal/hint"
)

// errNoReason is told where a user withdraws its node and does not say why.
var errNoReason = errors.New("no reason is given")

// withdrawNode has this node stand back. If a person wants it, it remembers for how long.
func (c *Core) withdrawNode(in Withdraw) {
	if !in.Person {
		delete(c.owed, in.Namespace)
	}
	c.standBack(in.Namespace, in.Why)
	for _, st := range c.hint.Snapshot() {
		if in.Person && st.Namespace == in.Namespace && st.State == hint.Back {
			c.stays[in.Namespace] = st.Until
		}
	}
}

func (c *Core) standBack(namespace string, why error) {
	if why == nil {
		why = errNoReason
	}
	c.feedHint(hint.Withdraw{Namespace: namespace, Why: why.Error()})
}

// comeBack takes back what the program has said: at once, or when what a person has said is over.
func (c *Core) comeBack(namespace string) {
	if c.now < c.stays[namespace] {
		c.owed[namespace] = true
		return
	}
	c.feedHint(hint.Return{Namespace: namespace})
}

// returnOwed takes back what had to wait for a person's word.
func (c *Core) returnOwed() {
	if len(c.owed) == 0 {
		return
	}
	for _, namespace := range slices.Sorted(maps.Keys(c.owed)) {
		if c.now >= c.stays[namespace] {
			delete(c.owed, namespace)
			c.feedHint(hint.Return{Namespace: namespace})
		}
	}
}
