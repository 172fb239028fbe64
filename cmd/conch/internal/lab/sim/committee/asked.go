package committee

import (
	"fmt"

	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
)

// has reports whether an intent is stored.
func (d *database) has(s ledger.Sequence) bool {
	_, is := d.place[s]
	return is
}

func (d *database) hasKey(key string) bool {
	for _, l := range d.intents {
		if l.Key == key {
			return true
		}
	}
	return false
}

func (d *database) hasResult(key string) bool {
	for _, l := range d.intents {
		if _, over := d.results[l.Sequence]; l.Key == key && over {
			return true
		}
	}
	return false
}

// firstTime reports whether an entry is dispatched for the first time: after a start what is stored is submitted again.
func (r *run) firstTime(n *node, e ledger.Entry) bool {
	first := !n.db.submitted[e.Grant.Assembled]
	n.db.submitted[e.Grant.Assembled] = true
	return first
}

// cancel has a user cancel an intent.
func (n *node) cancel(w *wish) {
	w.given = true
	for _, l := range n.db.intents {
		if l.Key == w.key {
			n.toSender(sender.Cancel{Sequence: l.Sequence})
		}
	}
}

func (r *run) batch() int {
	if r.scene != nil {
		return r.scene.batch
	}
	return 0
}

// describe says where an intent of a node is, for a violation.
func (n *node) describe(w *wish) string {
	if !n.up {
		return "its node is down"
	}
	for _, s := range n.sender.Snapshot() {
		if s.Key == w.key {
			text := fmt.Sprintf("%+v", s)
			if at := n.r.byAccount[s.Coordinator]; at != nil && at.up {
				text += fmt.Sprintf("; there: %+v", at.coordinator.Status())
			}
			return text
		}
	}
	return "its node does not know it"
}
