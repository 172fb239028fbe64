package committee

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/sequencer/ledger"
)

// fault does something bad, again and again.
func (r *run) fault() {
	if r.quiet {
		return
	}
	n := r.nodes[r.w.Pick(len(r.nodes))]
	other := r.nodes[r.w.Pick(len(r.nodes))]
	switch p := r.w.Pick(120); {
	case r.w.Chance(r.odds.restore):
		if n.backup != nil {
			n.restore()
		} else {
			n.backup = n.db.copied()
		}
	case p < 35:
		n.crash("")
	case p < 60 && n != other:
		r.cut(n, other, r.w.Between(time.Second, 15*time.Second))
	case p < 70:
		r.partition()
	case p < 75:
		n.backup = n.db.copied()
	case p < 78:
		n.restore()
	case p < 88:
		r.replay()
	case p < 100:
		of := r.w.Pick(itsKeys)
		n.away[of] = n.now() + r.w.Between(time.Second, 10*time.Second)
		r.tell(n.name, "cannot reach its %s, for %.0f s", [...]string{"database", "chain"}[of], (n.away[of] - n.now()).Seconds())
	case p < 105:
		n.drain(true)
		n.later(r.w.Between(time.Second, 10*time.Second), func() { n.drain(false) })
	case p < 110:
		n.look()
	default: // an indexer stands still
		was := n.lag
		n.lag += r.w.Between(time.Second, 10*time.Second)
		r.w.After(r.w.Between(time.Second, 10*time.Second), func() {
			if !r.quiet {
				n.lag = was
			}
		})
	}
	r.w.After(r.w.Between(200*time.Millisecond, 3*time.Second), r.fault)
}

// cut cuts a link in one direction or both, for a time.
func (r *run) cut(a, b *node, wait time.Duration) {
	r.Stats["cuts"]++
	both := r.w.Chance(0.5)
	r.net.Cut(a.name, b.name)
	if both {
		r.net.Cut(b.name, a.name)
	}
	r.tell("the network", "is cut from %s to %s%s, for %.0f s", a.name, b.name, map[bool]string{true: " and back"}[both], wait.Seconds())
	r.w.After(wait, func() {
		r.net.Heal(a.name, b.name)
		if both {
			r.net.Heal(b.name, a.name)
		}
	})
}

// partition parts the nodes into two for a time. The chain is there for all.
func (r *run) partition() {
	r.Stats["partitions"]++
	cut := 1 + r.w.Pick(max(1, len(r.nodes)-1))
	wait := r.w.Between(2*time.Second, 20*time.Second)
	r.tell("the network", "is parted: the first %d nodes and the others, for %.0f s", cut, wait.Seconds())
	for i, a := range r.nodes {
		for j, b := range r.nodes {
			if (i < cut) != (j < cut) {
				r.net.Cut(a.name, b.name)
				r.w.After(wait, func() { r.net.Heal(a.name, b.name) })
			}
		}
	}
}

// replay has somebody copy what is public: as it is, and as an entry of their own that has another's attempt and
// endorsements.
func (r *run) replay() {
	if len(r.chain.public) == 0 {
		return
	}
	e := r.chain.public[r.w.Pick(len(r.chain.public))]
	thief := r.nodes[r.w.Pick(len(r.nodes))]
	r.Stats["replays"]++
	r.tell(thief.name, "copies a public entry of %s", string(e.Owner))
	r.chain.send(fmt.Sprint(copies, r.w.Draw()), ledger.Sent{By: thief.account, Entries: []ledger.Entry{e}})
	if thief.account == e.Owner {
		return
	}
	e.Intent = ledger.Intent{Owner: thief.account, Sequence: ledger.Sequence{Lineage: 7, Counter: r.w.Draw()}}
	e.Grant = ledger.Grant{Assembled: r.scheme.Assembled(r.contract, e.Attempt), Coordinator: thief.account, ValidUntil: r.chain.head.Number() + 20}
	e.Grant.Signature = r.signer.Sign(thief.account, r.scheme.Granted(r.contract, e.Grant))
	r.chain.send(fmt.Sprint(copies, r.w.Draw()), ledger.Sent{By: thief.account, Entries: []ledger.Entry{e}})
}

// strikes reports whether a crash comes at a commit.
func (r *run) strikes() bool { return !r.quiet && r.w.Chance(r.odds.commit) }
