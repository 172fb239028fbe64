package electorate

import (
	"fmt"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
)

// serve carries out one request at the server.
func (db *database) serve(c *conn, a core.Action, reply func(core.Input)) {
	if db.down {
		reply(lost())
		return
	}
	db.expire()
	if connect, ok := a.(core.Connect); ok {
		db.begin(c, connect)
		reply(core.Opened{})
		return
	}
	if !db.store.Alive(c.key) {
		reply(lost())
		return
	}
	_, beat := a.(core.Beat)
	fails := beat && c.p.failing
	if fails {
		c.p.failing = false
	}
	if !db.r.quiet && (fails || db.r.w.Chance(0.01)) {
		// The session lives on; whether the statement took effect is unknown.
		if db.r.w.Chance(0.5) {
			db.do(c, a, func(core.Input) {})
		}
		reply(core.Failed{Err: errStatement})
		return
	}
	db.do(c, a, reply)
}

func (db *database) do(c *conn, a core.Action, reply func(core.Input)) {
	switch a := a.(type) {
	case core.Beat:
		answers, err := db.beat(c, a.Pulses)
		if err != nil {
			reply(lost())
			return
		}
		reply(core.Beaten{Answers: answers})
		if c.p.ambushed && len(answers) > 0 && !db.r.quiet {
			db.r.spring(c.p)
		}
	case core.Enlist:
		if err := db.store.Enlist(db.now(), c.key, a.Roll); err != nil {
			reply(lost())
			return
		}
		reply(core.Enlisted{})
	case core.Release:
		db.serveFarewells(c, a.Farewells, reply)
	case core.Try:
		reply = db.r.waylay(c, reply)
		db.store.Look(c.key, a.Bids)
		db.serveBids(c, a.Bids, func(in core.Input) {
			tried, ok := in.(core.Tried)
			b := a.Bids[0]
			if !ok || len(a.Bids) > 1 || b.Block == 0 || tried.Results[0].Outcome != mint.Busy {
				reply(in)
				return
			}
			db.wait(c, b, tried, reply)
		})
	}
}

// serveBids is the second half of a bid, which may have to wait for locked rows.
func (db *database) serveBids(c *conn, bids []mint.Bid, reply func(core.Input)) {
	if db.r.quiet || db.r.w.Chance(0.7) {
		reply(db.tried(c, bids))
		return
	}
	db.r.w.After(db.r.w.Between(0, baseLease/10), func() { reply(db.tried(c, bids)) })
}

func (db *database) tried(c *conn, bids []mint.Bid) core.Input {
	if db.expire(); !db.store.Alive(c.key) {
		return lost()
	}
	// A mint may have room for some of the bids only, or for none.
	switch n := len(bids); {
	case n > 1 && db.r.w.Chance(0.1):
		bids = bids[:1+db.r.w.Pick(n-1)]
	case !db.r.quiet && db.r.w.Chance(0.01):
		return core.Tried{Results: []mint.Result{{Scope: bids[0].Scope, Outcome: mint.Full, Why: errFull}}}
	}
	results, err := db.try(c, bids)
	if err != nil {
		return lost()
	}
	return core.Tried{Results: results}
}

func (db *database) beat(c *conn, pulses []mint.Pulse) ([]mint.Outcome, error) {
	if db.r.breaks("settle-after-entry") || db.r.breaks("fast-waits-to-promise") {
		pulses = append([]mint.Pulse(nil), pulses...)
		for i, p := range pulses {
			pulses[i].Settle = p.Settle || db.r.breaks("settle-after-entry") || c.p.fastActed(p.Token)
		}
	}
	answers, err := db.store.Beat(db.now(), c.key, pulses)
	for i, answer := range answers {
		if scope := pulses[i].Token.Scope; answer == mint.Renewed {
			db.beats[scope] = lastBeat{db.wall(), db.beats[scope].lease}
		}
	}
	return answers, err
}

func (db *database) try(c *conn, bids []mint.Bid) ([]mint.Result, error) {
	ended := len(db.store.Evicted)
	results, err := db.store.Try(db.wall(), c.key, bids)
	for _, age := range db.store.Evicted[ended:] {
		if age < bids[0].Lease {
			db.r.Violated(EvictsTheOld, fmt.Sprintf("%s: a transaction was ended after it had held the fence for %s, which is less than a lease of %s", bids[0].Scope, age, bids[0].Lease))
		}
	}
	if err != nil {
		return nil, err // a tombstone: others have declared this process dead
	}
	db.touch(c)
	for i := range results {
		if results[i].Outcome == mint.Won {
			db.won(c, bids[i], &results[i])
		} else {
			db.r.count("bids_lost")
		}
	}
	return results, nil
}

// touch sets the session's last use by the idle clock: Try and Release take the wall clock.
func (db *database) touch(c *conn) { _, _ = db.store.Beat(db.now(), c.key, nil) }

func (db *database) won(c *conn, b mint.Bid, res *mint.Result) {
	t := res.Token
	db.r.w.Note(c.p.name, fmt.Sprintf("wins %s, hold %s, epoch", t.Scope, res.Hold), t.Epoch)
	if last, ok := db.minted[t.Scope]; ok && t.Epoch <= last {
		db.r.Violated(Epochs, fmt.Sprintf("%s: epoch %d was minted after %d", t.Scope, t.Epoch, last))
	}
	db.minted[t.Scope] = max(db.minted[t.Scope], t.Epoch)
	db.r.count("mints")
	db.holds[t.Term] = res.Hold
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
