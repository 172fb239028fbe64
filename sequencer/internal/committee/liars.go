package committee

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// lie is what a member says that its machines do not. It is the node that the second range names.
type lie struct {
	name, what string
	gains      time.Duration                                              // by which others' payments wait longer
	says       func(n *node, to ledger.Account, body wire.Body) wire.Body // instead of what leaves; nil: nothing leaves
	acts       func(n *node)                                              // often
}

const (
	liesFrom    = 3 * time.Second
	liesEvery   = 100 * time.Millisecond
	liesRange   = 20               // blocks
	honestTakes = 10 * time.Second // an intent at most, where nobody lies
	idlesFor    = 11 * time.Second // a coordinator that does nothing, until it is left
	keepsFor    = 20 * time.Second // what a liar hands over and keeps, until it locks nothing
)

// withLies makes a world of each lie. The first one has none, so that it is seen what a lie costs.
func withLies() (all []scene) {
	for _, l := range slices.Concat([]lie{{name: "nothing", what: "nothing: all are honest"}}, lies) {
		all = append(all, scene{
			Name: "liar-" + l.name, What: "a member lies: " + l.what, In: Config{Range: liesRange, Faults: 70 * time.Second},
			Plot: Plot{ends: honestTakes + l.gains, lie: &l, set: (*run).liar},
		})
	}
	return all
}

// liar sets a member to lie while the others' users pay from three purses of a few notes.
func (r *run) liar() {
	_, bad, _ := r.cast()
	for _, n := range r.nodes {
		n.slow = 30 * time.Millisecond // they are far from each other: what comes often enough can be in the way of every step
	}
	for i, n := range r.others(bad) {
		for j, purse := range []string{"red", "green", "blue"} {
			r.wish(time.Second+time.Duration(i)*100*time.Millisecond, n, fmt.Sprintf("give %s %d", purse, 100+j), uint64(100+j))
		}
		r.stream(n, 4, 4*time.Second, 64*time.Second, "move red green 1", 0)
		r.stream(n, 4, 6*time.Second, 64*time.Second, "move green blue 1", 0)
		r.stream(n, 4, 8*time.Second, 64*time.Second, "move blue red 1", 0)
	}
	if l := r.scene.Plot.lie; l.says == nil && l.acts == nil {
		return
	}
	bad.lies = r.scene.Plot.lie
	r.w.After(liesFrom, func() { r.lying(bad) })
}

func (r *run) lying(n *node) {
	if n.lies.acts != nil && n.up {
		n.lies.acts(n)
	}
	r.w.After(liesEvery, func() { r.lying(n) })
}

// said is what leaves a node instead of a message; nothing if the second is false.
func (n *node) said(to ledger.Account, msg wire.Message) (wire.Message, bool) {
	if n.lies == nil || n.lies.says == nil || n.now() < liesFrom {
		return msg, true
	}
	msg.Body = n.lies.says(n, to, msg.Body)
	return msg, msg.Body != nil
}

// liar is the incarnation of what it makes up.
func (n *node) liar() wire.Incarnation {
	i := n.fetcher
	i[15]++
	return i
}

// tells sends a request of its own to each other node.
func (n *node) tells(body func(to *node) wire.Body) {
	for _, to := range n.r.others(n) {
		n.requests++
		if b := body(to); b != nil {
			n.r.carry(n, to.account, wire.Message{
				Contract: n.r.contract.Address, Height: n.r.chain.final.Number(), Wait: time.Second, Body: b,
				Request: wire.RequestID{Incarnation: n.liar(), Number: n.requests},
			})
		}
	}
}

// made returns a made-up attempt on a state, which creates the same contents anew, with a grant to the liar and
// endorsements that nobody has given. They are right if the liar has asked for them, and withholds the entry.
func (n *node) made(id ledger.StateID, right bool) (e wire.Dispatch) {
	r, payload := n.r, fmt.Appendf(nil, "lie move %v", id)
	n.requests++
	e.Whole = wire.Whole{Payload: payload, Attempt: ledger.Attempt{
		Intent:  ledger.Intent{Owner: n.account, Sequence: ledger.Sequence{Lineage: 9, Counter: n.requests}},
		Payload: domain.PayloadHash(payload), Inputs: []ledger.StateID{id},
	}}
	if s, is := n.Book.State(id); is {
		e.Outputs, e.Attempt.Outputs = []domain.Secret{s.Secret}, []ledger.Hash{s.Secret.Commitment()}
	}
	hash := r.scheme.Assembled(r.contract, e.Attempt)
	e.Grant = ledger.Grant{Assembled: hash, Coordinator: n.account, ValidUntil: 1 << 62}
	e.Grant.Signature = r.signer.Sign(n.account, r.scheme.Granted(r.contract, e.Grant))
	for i := range r.contract.Needed {
		signature := []byte("nobody's signature, which is long enough")
		if right {
			signature = r.signer.Sign(r.contract.Members[i], hash)
		}
		e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: i, Signature: signature})
	}
	return e
}
