package sim

import (
	"fmt"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// serve carries out one request at the server.
func (db *database) serve(c *conn, a election.Action, reply func(election.Input)) {
	if db.down {
		reply(lost())
		return
	}
	db.expire()
	if _, ok := a.(election.Connect); ok {
		db.begin(c)
		reply(election.Opened{})
		return
	}
	if !db.store.Alive(c.key) {
		reply(lost())
		return
	}
	if !db.r.quiet && db.r.w.Chance(0.01) {
		// The session lives on; whether the statement took is unknown.
		if db.r.w.Chance(0.5) {
			db.do(c, a, func(election.Input) {})
		}
		reply(election.Failed{Err: errStatement})
		return
	}
	db.do(c, a, reply)
}

func (db *database) do(c *conn, a election.Action, reply func(election.Input)) {
	switch a := a.(type) {
	case election.Beat:
		alive := db.beat(c, a.Pulses)
		reply(election.Beaten{Alive: alive})
		if c.p.ambushed && len(alive) > 0 && !db.r.quiet {
			db.r.spring(c.p)
		}
	case election.Release:
		reply(election.Parted{Current: db.release(c, a.Farewells)})
	case election.Try:
		results := db.try(c, a.Bids)
		if b := a.Bids[0]; len(a.Bids) == 1 && b.Block > 0 && results[0].Outcome == election.Busy {
			db.r.w.After(db.clock.For(db.r.w.Between(b.Block/2, b.Block)), func() {
				if db.expire(); !db.store.Alive(c.key) {
					reply(lost())
					return
				}
				reply(election.Tried{Results: db.try(c, a.Bids)})
			})
			return
		}
		reply(election.Tried{Results: results})
	}
}

func (db *database) beat(c *conn, pulses []election.Pulse) []bool {
	if db.r.breaks("settle-after-entry") {
		pulses = append([]election.Pulse(nil), pulses...)
		for i := range pulses {
			pulses[i].Settle = true
		}
	}
	alive, _ := db.store.Beat(db.now(), c.key, pulses) // the session lives: asked before
	for i, ok := range alive {
		if scope := pulses[i].Token.Scope; ok {
			db.beats[scope] = lastBeat{db.wall(), db.beats[scope].lease}
		}
	}
	return alive
}

func (db *database) try(c *conn, bids []election.Bid) []election.Result {
	results, _ := db.store.Try(db.wall(), c.key, bids)
	db.touch(c)
	for i := range results {
		if results[i].Outcome == election.Won {
			db.won(c, bids[i], &results[i])
		} else {
			db.r.count("bids_lost")
		}
	}
	return results
}

// touch puts the session's idle time back on the clock that counts it: the store
// has one clock, a server has two.
func (db *database) touch(c *conn) { _, _ = db.store.Beat(db.now(), c.key, nil) }

func (db *database) won(c *conn, b election.Bid, res *election.Result) {
	t := res.Token
	db.r.w.Note(c.p.name, fmt.Sprintf("wins %s, hold %s, epoch", t.Scope, res.Hold), t.Epoch)
	if last, ok := db.minted[t.Scope]; ok && t.Epoch <= last {
		db.r.violated(Epochs, fmt.Sprintf("%s: epoch %d was minted after %d", t.Scope, t.Epoch, last))
	}
	db.minted[t.Scope] = max(db.minted[t.Scope], t.Epoch)
	db.r.count("mints")
	if res.Handoff {
		db.r.count("handoffs")
	}
	before := db.beats[t.Scope]
	if db.r.breaks("no-server-clock") && !res.Handoff {
		res.Hold = max(0, before.at+before.lease-db.wall())
	}
	db.beats[t.Scope] = lastBeat{db.wall(), b.Lease}
	db.announce(t.Scope, t.Holder)
}

func (db *database) release(c *conn, farewells []election.Farewell) (current []bool) {
	farewells = append([]election.Farewell(nil), farewells...)
	for i := range farewells {
		f := &farewells[i]
		switch {
		case db.r.breaks("released-only-when-entered"):
			f.Released = f.Released || c.p.still(f.Token)
		case db.r.breaks("released-only-when-drained"):
			f.Released = f.Released || f.Reason == "drain timed out"
		}
		if f.Released {
			db.r.doors[f.Token.Scope].released(f.Token)
		}
	}
	current, _ = db.store.Release(db.wall(), c.key, farewells)
	db.touch(c)
	for _, f := range farewells {
		db.r.w.Note(c.p.name, fmt.Sprintf("releases %s (%v)", f.Token.Scope, f.Released), f.Token.Epoch)
		db.announce(f.Token.Scope, "")
	}
	return current
}

// still tells whether a process has shut a term and sees no act of it: all that
// a release promises, but for the term's own entry.
func (p *process) still(token fence.Token) bool {
	t := p.chairs[token.Scope].term
	return t != nil && t.token.Same(token) && t.shut && t.counted == 0
}
