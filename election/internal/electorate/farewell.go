package electorate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

var partings = map[mint.Outcome]string{mint.Said: "said", mint.Over: "over", mint.Locked: "locked"}

// serveFarewells answers farewells at once, unless farewell-waits-for-nobody is broken.
func (db *database) serveFarewells(c *conn, farewells []mint.Farewell, reply func(core.Input)) {
	if db.r.breaks("farewell-waits-for-nobody") {
		for _, f := range farewells {
			if db.store.RowTaken(f.Token.Scope) && db.store.Alive(c.key) {
				db.r.w.After(10*time.Millisecond, func() { db.serveFarewells(c, farewells, reply) })
				return
			}
		}
	}
	if !db.store.Alive(c.key) {
		reply(lost())
		return
	}
	answers, err := db.release(c, farewells)
	if err != nil {
		reply(core.Failed{Err: err})
		return
	}
	reply(core.Parted{Answers: answers})
}

func (db *database) release(c *conn, farewells []mint.Farewell) ([]mint.Parting, error) {
	farewells = append([]mint.Farewell(nil), farewells...)
	for i := range farewells {
		f := &farewells[i]
		switch {
		case db.r.breaks("released-only-when-entered"):
			f.Released = f.Released || c.p.actsOver(f.Token)
		case db.r.breaks("fast-waits-to-promise"):
			f.Released = f.Released || c.p.fastActed(f.Token) && f.Reason != "drain timed out"
		case db.r.breaks("released-only-when-drained"):
			f.Released = f.Released || f.Reason == "drain timed out"
		}
		if f.Released {
			db.r.doors[f.Token.Scope].released(f.Token)
		}
	}
	refused := func(f mint.Farewell) bool { return f.Token.Scope == db.refuses }
	if slices.ContainsFunc(farewells, refused) {
		db.touch(c)
		return nil, errStatement
	}
	if db.r.breaks("splits-farewells") && c.p.joined(farewells) {
		db.touch(c)
		return nil, store.ErrPoisoned
	}
	answers, err := db.store.Release(db.wall(), c.key, farewells)
	db.touch(c)
	if err != nil {
		db.r.count("farewells_poisoned")
		return nil, err
	}
	for i, f := range farewells {
		db.r.count("farewells_" + partings[answers[i].Outcome])
		db.r.w.Note(c.p.name, fmt.Sprintf("releases %s (%v): %s", f.Token.Scope, f.Released, partings[answers[i].Outcome]), f.Token.Epoch)
		if answers[i].Outcome == mint.Said {
			db.announce(f.Token.Scope, "")
		}
	}
	if free := db.store.Unlocked(); len(free) > 0 && !db.r.breaks(string(store.LockExcludes)) {
		db.r.Violated(LockKept, fmt.Sprintf("%v: led by a session whose own farewell has freed the lock", free))
	}
	return answers, nil
}

// joined sends all unsaid farewells in one call, without splitting it, and reports whether one
// that cannot be stored fails them all.
func (p *process) joined(farewells []mint.Farewell) (poisoned bool) {
	for _, f := range farewells {
		p.unsaid[f.Token.Scope] = f
	}
	for _, f := range p.unsaid {
		poisoned = poisoned || strings.Contains(f.Reason, store.Poison)
	}
	if !poisoned {
		clear(p.unsaid)
	}
	return poisoned
}

// repeats sends an unanswered farewell once more after its process has won the scope again, if
// win-drops-farewell is broken; the machine drops it.
func (p *process) repeats(won fence.Token) {
	f, ok := p.unsaid[won.Scope]
	if !ok || !p.r.breaks("win-drops-farewell") || p.conn == nil {
		return
	}
	delete(p.unsaid, won.Scope)
	c := p.conn
	c.up.Send(func() {
		if p.r.db.store.Alive(c.key) {
			_, _ = p.r.db.release(c, []mint.Farewell{f})
		}
	})
}

// fastActed reports whether a term's act door has opened under fast, without waiting.
func (p *process) fastActed(token fence.Token) bool {
	t := p.runners[token.Scope].term
	return p.set.Takeover == mint.Fast && t != nil && t.token.Same(token) && t.flag
}

// actsOver reports whether a process has shut a term and counts no act of it. A release promises
// that, and that the act door had opened.
func (p *process) actsOver(token fence.Token) bool {
	t := p.runners[token.Scope].term
	return t != nil && t.token.Same(token) && t.shut && t.counted == 0
}
