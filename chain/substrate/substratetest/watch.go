package substratetest

// watch is those who watch one extrinsic, and the block that they were told it is in.
type watch struct {
	subscriptions []*subscription
	in            *block
}

// status tells those who watch an extrinsic what has become of it. Those who hear the last of it hear no more.
func (n *Node) status(hash [32]byte, status any, last bool) {
	w := n.watched[hash]
	if w == nil {
		return
	}
	for _, s := range w.subscriptions {
		s.push(n.spell(status))
		if last {
			delete(s.conn.subscriptions, s.key)
		}
	}
	if last {
		delete(n.watched, hash)
	}
}

func (n *Node) spell(status any) any {
	if word, is := status.(string); is && n.cfg.Chopsticks {
		return map[string]any{word: nil}
	}
	return status
}

func (n *Node) included(hash [32]byte, b *block) {
	n.status(hash, map[string]any{"inBlock": hexed(b.hash[:])}, false)
	if w := n.watched[hash]; w != nil {
		w.in = b
	}
}

func (n *Node) retract(hash [32]byte, b *block) {
	n.status(hash, map[string]any{"retracted": hexed(b.hash[:])}, false)
	if w := n.watched[hash]; w != nil {
		w.in = nil
	}
}

// forget ends a subscription.
func (n *Node) forget(s *subscription) {
	delete(s.conn.subscriptions, s.key)
	w := n.watched[s.hash]
	if w == nil {
		return
	}
	for i, one := range w.subscriptions {
		if one == s {
			w.subscriptions = append(w.subscriptions[:i:i], w.subscriptions[i+1:]...)
			break
		}
	}
	if len(w.subscriptions) == 0 {
		delete(n.watched, s.hash)
	}
}

// tellHeads tells the subscribers of all endpoints which block is the newest, and for whom finality has taken too long.
func (n *Node) tellHeads(made []*block) {
	for _, e := range n.endpoints {
		for _, b := range made {
			e.tell("chain_allHead", headerOf(b))
		}
		v := e.view(e.lag)
		if v.head == e.toldHead {
			continue
		}
		if before := e.toldHead; before != nil && before.runtime != v.head.runtime {
			e.tell("state_runtimeVersion", n.versionOf(v.head.runtime))
		}
		e.toldHead = v.head
		e.tell("chain_newHead", headerOf(v.head))
	}
	n.tellFinal() // an endpoint that lags learns of it with a new head
	for hash, w := range n.watched {
		if w.in != nil && w.in.number+finalityPatience < n.head().number {
			n.status(hash, map[string]any{"finalityTimeout": hexed(w.in.hash[:])}, true)
		}
	}
}

func (n *Node) tellFinal() {
	for _, e := range n.endpoints {
		if v := e.view(e.lag); v.final != e.toldFinal {
			e.toldFinal = v.final
			e.tell("chain_finalizedHead", headerOf(v.final))
		}
	}
}

// tell notifies all subscribers of one kind at an endpoint.
func (e *Endpoint) tell(kind string, value any) {
	for c := range e.conns {
		for _, s := range c.subscriptions {
			if s.kind == kind {
				s.push(value)
			}
		}
	}
}
