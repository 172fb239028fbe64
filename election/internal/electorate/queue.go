package electorate

import (
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
)

// waiter is a bid that waits for the fence of a scope for as long as it may block. Then it gives
// up its place in the queue, and the transactions behind it pass.
type waiter struct {
	c     *conn
	bid   mint.Bid
	ended []mint.Blocker // by this bid, before the wait
	reply func(core.Input)
}

// wait puts a bid into the queue of a fence.
func (db *database) wait(c *conn, b mint.Bid, busy core.Tried, reply func(core.Input)) {
	w := &waiter{c, b, busy.Results[0].Blockers, reply}
	db.waiters[b.Scope] = append(db.waiters[b.Scope], w)
	db.r.count("slices")
	db.r.w.After(db.clock.For(b.Block), func() {
		i := slices.Index(db.waiters[b.Scope], w)
		if i < 0 {
			return
		}
		db.waiters[b.Scope] = slices.Delete(db.waiters[b.Scope], i, i+1)
		db.letThrough(b.Scope)
		if db.expire(); db.down || !db.store.Alive(c.key) {
			reply(lost())
			return
		}
		reply(busy)
	})
}

// queue lets a transaction take a fence, behind the bids that wait for it.
func (db *database) queue(scope string, f func()) {
	if len(db.waiters[scope]) > 0 {
		db.behind[scope] = append(db.behind[scope], f)
		return
	}
	f()
}

// freed is called when a transaction with a fence may have ended.
func (db *database) freed(scope string) {
	if len(db.waiters[scope]) > 0 && !db.store.Fenced(scope) {
		db.r.w.After(time.Microsecond, func() { db.grant(scope) })
	}
}

// grant gives the fence to the bid that has waited longest.
func (db *database) grant(scope string) {
	if len(db.waiters[scope]) == 0 || db.store.Fenced(scope) {
		return
	}
	w := db.waiters[scope][0]
	db.waiters[scope] = db.waiters[scope][1:]
	in := db.tried(w.c, []mint.Bid{w.bid})
	if tried, ok := in.(core.Tried); ok {
		tried.Results[0].Blockers = append(w.ended, tried.Results[0].Blockers...)
	}
	w.reply(in)
	db.letThrough(scope)
	db.freed(scope)
}

// letThrough lets the transactions pass once no bid waits before them.
func (db *database) letThrough(scope string) {
	if len(db.waiters[scope]) > 0 {
		return
	}
	late := db.behind[scope]
	db.behind[scope] = nil
	for _, f := range late {
		db.r.w.After(time.Microsecond, func() { db.queue(scope, f) })
	}
}
