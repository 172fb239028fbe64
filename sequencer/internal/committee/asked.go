package committee

import (
	"fmt"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

// firstTime reports whether an entry is dispatched for the first time: after a start what is stored is submitted again.
func (r *run) firstTime(n *node, e ledger.Entry) bool {
	first := !n.db.submitted[e.Grant.Assembled]
	n.db.submitted[e.Grant.Assembled] = true
	return first
}

// owes returns the ticket of a user, who is told by then; nil: nobody listens.
func (n *node) owes(then func(core.Accepted)) uint64 {
	n.tickets++
	n.answers[n.tickets] = func(a core.Accepted) {
		if delete(n.answers, a.Ticket); then != nil {
			then(a)
		}
	}
	return n.tickets
}

// answersOnce reports whether somebody waits for the answer to a ticket. Nobody waits for a second one.
func (n *node) answersOnce(ticket uint64, waits bool) bool {
	return n.r.Check(waits, OneAnswer, "%s answers ticket %d, for which nobody waits", n.name, ticket)
}

// handIn has the node take what a user asks for.
func (n *node) handIn(w *wish) {
	n.reach(func() {
		n.feed(core.Submit{
			Ticket: n.owes(func(a core.Accepted) { n.r.accepted(n, w, a) }), Contract: n.r.contract.Address,
			IntentRow: sender.IntentRow{Key: w.key, Payload: []byte(w.text)},
		})
	})
}

// cancel has a user cancel an intent.
func (n *node) cancel(w *wish) {
	w.given = true
	if row := n.db.find(w.key); row != nil {
		n.reach(func() {
			n.feed(core.Cancel{Ticket: n.owes(nil), Contract: n.r.contract.Address, Sequence: row.Sequence})
		})
	}
}

func (r *run) batch() int {
	if r.scene != nil {
		return r.scene.Plot.batch
	}
	return 0
}

// describe says where an intent of a node is, for a violation.
func (n *node) describe(w *wish) string {
	if !n.up {
		return "its node is down"
	}
	if n.Sender == nil {
		return "its node has not read it"
	}
	for _, s := range n.Sender.Snapshot() {
		if s.Key == w.key {
			text := fmt.Sprintf("%+v", s)
			if at := n.r.byAccount[s.Coordinator]; at != nil && at.up && at.Coordinator != nil {
				text += fmt.Sprintf("; there: %+v", at.Coordinator.Status())
			}
			return text
		}
	}
	return "its node does not know it"
}
