package electorate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/fence"
)

// fencedRole begins transactions behind the fenced door, in the mint's own database, which
// refuses them if the token is stale.
func (rn *runner) fencedRole(t *tenure) {
	pause := rn.p.r.w.Between(rn.lease/10, rn.lease/2)
	rn.p.after(pause, func() {
		if t.shut || rn.term != t {
			return
		}
		if token, err := rn.gate.Require(fence.Fenced); err == nil {
			rn.p.r.net.Tell(rn.p.node.name, databaseName, func() { rn.p.r.db.fence(rn.p, token) })
		}
		rn.fencedRole(t)
	})
}

// fence begins a fenced transaction at the server, which commits soon, very late or never.
func (db *database) fence(p *process, token fence.Token) {
	r := db.r
	if db.down {
		return
	}
	db.expire()
	if r.breaks("fence-checks") {
		r.w.After(db.transaction(), func() {
			db.store.Ledger = append(db.store.Ledger, store.Commit{Scope: token.Scope, Epoch: token.Epoch, Term: token.Term})
			db.committed()
		})
		return
	}
	db.transact(token, r.w.Chance(0.3), db.transaction(), func() bool { return p.dead && r.w.Chance(0.5) })
}

// transact runs a fenced transaction. Above READ COMMITTED it sees the row as at its begin, which
// may be some time before its fence. It never commits if its client has vanished.
func (db *database) transact(token fence.Token, above bool, lasts time.Duration, vanished func() bool) {
	w, begun, seen := db.r.w, db.starts, db.store.See(token.Scope)
	enter := func() {
		if begun == db.starts {
			db.passFence(token, above, seen, lasts, vanished)
		}
	}
	if !above {
		db.queue(token.Scope, enter)
		return
	}
	before := w.Between(0, 5*time.Millisecond)
	if !db.r.quiet && w.Chance(0.3) {
		before = w.Between(0, baseLease)
	}
	w.After(before, func() { db.queue(token.Scope, enter) })
}

// passFence passes the fence, and commits after the time lasts.
func (db *database) passFence(token fence.Token, above bool, seen store.Seen, lasts time.Duration, vanished func() bool) {
	r := db.r
	var id int64
	var err error
	if above {
		id, err = db.store.FenceClosely(db.wall(), token, seen)
	} else {
		id, err = db.store.Fence(db.wall(), token)
	}
	switch {
	case errors.Is(err, store.ErrAgain):
		r.count("fence_again")
		return
	case err != nil:
		r.count("fence_stale")
		if db.store.Current(token) {
			r.Violated(FenceHonest, fmt.Sprintf("%s: epoch %d leads, but the fence calls its token stale", token.Scope, token.Epoch))
		}
		return
	}
	db.store.Works(id, lasts > baseLease/4 && r.w.Chance(0.5), db.now())
	if above && !r.breaks("shares-for-an-instant") {
		r.w.After(r.w.Between(10*time.Microsecond, 200*time.Microsecond), func() { db.store.Unshare(id) })
	}
	r.w.After(lasts, func() {
		switch db.expire(); {
		case vanished():
			db.store.Works(id, false, db.now()) // an idle transaction ends after a lease
		case db.store.CommitFenced(id):
			db.committed()
			db.freed(token.Scope)
		default:
			r.count("fence_ended")
		}
	})
}

// transaction draws how long a transaction stays open after its fence.
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

// committed checks the newest commit against the scope's commit before it: in one history of
// the database, epochs never go back. It checks the row too, since a newer term may have been
// minted without a commit yet.
func (db *database) committed() {
	db.r.count("fence_commits")
	all := db.store.Ledger
	last := all[len(all)-1]
	db.r.w.Note(databaseName, "commit "+last.Scope, last.Epoch)
	if epoch := db.store.Epoch(last.Scope); last.Epoch < epoch {
		db.r.Violated(FencedOrder, fmt.Sprintf("%s: epoch %d commits although the row is at %d", last.Scope, last.Epoch, epoch))
	}
	for _, c := range slices.Backward(all[:len(all)-1]) {
		if c.Scope == last.Scope {
			if c.Epoch > last.Epoch {
				db.r.Violated(FencedOrder, fmt.Sprintf("%s: epoch %d commits after epoch %d", c.Scope, last.Epoch, c.Epoch))
			}
			return
		}
	}
}
