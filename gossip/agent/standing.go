package agent

import "github.com/conchhq/conch/gossip"

// withdraw has this node stand back.
func (c *core) withdraw(namespace string, why error) {
	if why == nil {
		why = errNoReason
	}
	c.suggest(gossip.Withdraw{Namespace: namespace, Why: why.Error()})
}

// standBack has it stand back since a person wants it, and remembers for how long.
func (c *core) standBack(namespace string, why error) {
	c.withdraw(namespace, why)
	for _, st := range c.gossip.Snapshot() {
		if st.Namespace == namespace && st.State == gossip.Back {
			c.stays[namespace] = st.Until
		}
	}
}

// comeBack takes back what the program has said: at once, or when what a person has said is over.
func (c *core) comeBack(namespace string) {
	if c.now() < c.stays[namespace] {
		c.owed[namespace] = true
		return
	}
	c.suggest(gossip.Return{Namespace: namespace})
}

// payBack takes back what had to wait for a person's word.
func (c *core) payBack() {
	for namespace := range c.owed {
		if c.now() >= c.stays[namespace] {
			delete(c.owed, namespace)
			c.suggest(gossip.Return{Namespace: namespace})
		}
	}
}
