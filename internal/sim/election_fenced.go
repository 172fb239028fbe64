package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/fence"
)

// fencedRole works behind the fenced door: transactions in the mint's own
// database, begun by whoever holds the door open and refused there if stale.
func (c *chair) fencedRole(t *tenure) {
	pause := c.p.r.w.Between(c.lease/10, c.lease/2)
	c.p.after(pause, func() {
		if t.shut || c.term != t {
			return
		}
		if token, err := c.gate.Require(fence.Fenced); err == nil {
			c.p.r.net.Tell(c.p.node.name, place, func() { c.p.r.db.fence(c.p, token) })
		}
		c.fencedRole(t)
	})
}

// fence begins a fenced transaction at the server. Its commit comes soon, or
// very late from a process that was frozen meanwhile, or not at all.
func (db *database) fence(p *process, token fence.Token) {
	r := db.r
	if db.down {
		return
	}
	db.expire()
	if r.breaks("fence-checks") {
		r.w.After(db.transaction(), func() {
			db.store.Ledger = append(db.store.Ledger, electiontest.Commit{Scope: token.Scope, Epoch: token.Epoch, Term: token.Term})
			db.committed()
		})
		return
	}
	id, err := db.store.Fence(db.now(), token)
	if err != nil {
		r.count("fence_stale")
		return
	}
	r.w.After(db.transaction(), func() {
		if p.dead && r.w.Chance(0.5) {
			return // its commit had not left
		}
		if db.expire(); db.store.CommitFenced(id) {
			db.committed()
		} else {
			r.count("fence_ended")
		}
	})
}

// transaction is how long one stays open after its fence.
func (db *database) transaction() time.Duration {
	switch w := db.r.w; {
	case db.r.quiet || w.Chance(0.8):
		return w.Between(100*time.Microsecond, 10*time.Millisecond)
	case w.Chance(0.7):
		return w.Between(0, baseLease/4)
	default:
		return w.Between(0, 3*baseLease)
	}
}

// committed holds the newest commit against the row, and against the commit before it
// of its scope: in one history of the database, epochs never go back. A commit may come
// after another term was minted and before that one commits anything.
func (db *database) committed() {
	db.r.count("fence_commits")
	all := db.store.Ledger
	last := all[len(all)-1]
	db.r.w.Note(place, "commit "+last.Scope, last.Epoch)
	if epoch := db.store.Epoch(last.Scope); last.Epoch < epoch {
		db.r.violated(FencedOrder, fmt.Sprintf("%s: epoch %d commits although the row is at %d", last.Scope, last.Epoch, epoch))
	}
	for _, c := range slices.Backward(all[:len(all)-1]) {
		if c.Scope == last.Scope {
			if c.Epoch > last.Epoch {
				db.r.violated(FencedOrder, fmt.Sprintf("%s: epoch %d commits after %d", c.Scope, last.Epoch, c.Epoch))
			}
			return
		}
	}
}
