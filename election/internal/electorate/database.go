package electorate

import (
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/world"
)

// databaseName is the name of the database in the network.
const databaseName = "db"

// database is the server around the pure store: its clocks, connections and restarts.
type database struct {
	r     *run
	store *store.Store
	clock *world.Clock // counts idle time
	// stepped is the wall clock's distance from clock. Only the precedence after a transfer and
	// the age of a fence are counted on the wall clock.
	stepped time.Duration
	down    bool
	keys    []int64          // sessions that may live, in the order of their opening
	slow    time.Duration    // until it begins with what it is asked
	owners  map[int64]string // the nodes of all sessions
	// The highest epoch and the last heartbeat of each scope, and the hold of each term.
	minted map[string]int64
	beats  map[string]lastBeat
	holds  map[fence.Term]time.Duration

	waiters map[string][]*waiter // bids that wait for the fence of a scope
	behind  map[string][]func()  // transactions behind these bids
	refuses string               // the scope whose farewells all fail; empty: none
	starts  int                  // outages so far; no transaction outlives one
}

// lastBeat serves a mint that breaks no-server-clock: it computes holds from its timestamps.
type lastBeat struct{ at, lease time.Duration }

func newDatabase(r *run) *database {
	return &database{
		r: r, store: store.New(), clock: r.w.NewClock(int64(time.Hour), int64(r.w.Pick(40_001)-20_000)),
		minted: map[string]int64{}, beats: map[string]lastBeat{}, holds: map[fence.Term]time.Duration{},
		waiters: map[string][]*waiter{}, behind: map[string][]func(){}, owners: map[int64]string{},
	}
}

func (db *database) now() time.Duration  { return time.Duration(db.clock.Read()) }
func (db *database) wall() time.Duration { return db.now() + db.stepped }

// expire ends what has idled for too long and wakes its waiters.
func (db *database) expire() {
	if db.r.breaks("server-lease") {
		return
	}
	ended := db.store.Expire(db.now())
	slices.Sort(ended)
	for _, key := range ended {
		db.r.w.Note(databaseName, "session expires", key)
		db.r.tell("database", "ends the session of %s, which was silent for its lease", db.owners[key])
		db.wake(key)
	}
	for _, scope := range db.r.scopes {
		db.freed(scope)
	}
}

// end ends the session of one connection.
func (db *database) end(key int64) {
	if key == 0 || !db.store.Alive(key) {
		return
	}
	db.r.w.Note(databaseName, "session ends", key)
	db.r.tell("database", "ends the session of %s", db.owners[key])
	db.store.End(key)
	db.wake(key)
}

// begins has the server begin with what it is asked, late if it is slow.
func (db *database) begins(serve func()) {
	if db.slow > 0 {
		db.r.w.After(db.slow, serve)
		return
	}
	serve()
}

// unlock frees the locks of a session that lives on, as DISCARD ALL by a pooler does.
func (db *database) unlock(key int64) {
	if !db.store.Alive(key) {
		return
	}
	db.r.w.Note(databaseName, "session unlocked", key)
	db.store.Unlock(key)
	db.wake(key)
}

// advance raises an epoch by hand, once no transaction holds the fence.
func (db *database) advance(scope string) {
	if db.down || db.r.quiet {
		return
	}
	db.expire()
	if !db.store.Advance(db.wall(), scope) {
		db.r.count("advances_waited")
		db.r.w.After(db.r.w.Between(time.Millisecond, baseLease/10), func() { db.advance(scope) })
		return
	}
	db.r.count("advances")
	db.r.w.Note(databaseName, "advances "+scope, 0)
	db.announce(scope, "")
}

func (db *database) wake(key int64) {
	for _, n := range db.r.nodes {
		for _, p := range n.living() {
			if p.watches(key) {
				p.hearEnd(key, nil)
			}
		}
	}
}

func (db *database) isGone(p *process, key int64) {
	switch {
	case db.down:
		p.hearEnd(key, errStatement)
	case db.store.Gone(key):
		p.hearEnd(key, nil)
	}
}

// announce sends a notification to all but the new holder.
func (db *database) announce(scope, holder string) {
	for _, n := range db.r.nodes {
		for _, p := range n.living() {
			if holder == "" || p.id != holder {
				p.hear(core.Woken{Scope: scope, Holder: holder})
			}
		}
	}
}

// lockRow locks the row of a scope for a while, as a client that is no candidate.
func (db *database) lockRow(scope string, d time.Duration) {
	db.store.LockRow(scope, true)
	db.r.w.After(d, func() { db.store.LockRow(scope, false) })
}

// begin opens a session.
func (db *database) begin(c *conn, a core.Connect) {
	p := c.p
	c.key = db.store.Open(db.now(), mint.Candidate{
		ID: p.id, Lease: p.set.Lease, Longest: a.Longest, Scopes: a.Scopes, Takeover: p.set.Takeover,
	}, p.locks)
	db.keys = append(db.keys, c.key)
	db.owners[c.key] = p.node.name
	db.r.w.Note(p.name, "session", c.key)
	db.watchIdle(c)
	p.hear(core.Woken{}) // listening begins: changes may have been missed
}

// watchIdle is the server's idle timer of a session.
func (db *database) watchIdle(c *conn) {
	db.r.w.After(db.clock.For(c.p.set.Lease)+time.Microsecond, func() {
		if db.expire(); db.store.Alive(c.key) {
			db.watchIdle(c)
		}
	})
}

// outage stops the server for a while. It restarts if lag is negative, else it fails over. Most
// clients with a request under way get a reset; the others learn of it with their next request.
func (db *database) outage(d time.Duration, lag int) {
	var ended []int64
	for _, key := range db.keys {
		if db.store.Alive(key) {
			ended = append(ended, key)
		}
	}
	db.keys = nil
	db.starts++
	if db.r.cfg.Takeover == TakeoverMixed {
		lag = min(lag, 0)
	}
	if lag < 0 {
		db.r.w.Note(databaseName, "restarts", 0)
		db.r.tell("database", "stops, and comes back after %s", d)
		db.store.Restart()
	} else {
		db.r.w.Note(databaseName, "fails over", int64(lag))
		db.r.tell("database", "is lost, and after %s a standby takes its place that lacks %d transactions", d, lag)
		db.store.Promote(lag)
	}
	db.down = true
	db.r.w.After(d, func() {
		db.down = false
		db.r.tell("database", "is there again")
		for _, key := range ended {
			db.wake(key)
		}
	})
	for _, n := range db.r.nodes {
		for _, p := range n.living() {
			c, f := p.conn, p.flight
			if c != nil && f != nil && db.r.w.Chance(0.7) {
				c.down.Reset(func() { p.run(func() { p.answer(f, lost()) }) })
			}
			p.after(db.r.w.Between(0, 3*time.Second)+d, func() { p.post(core.Woken{}) })
		}
	}
}
