package electorate

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// Words implements story.World.
func (s *stage) Words() []story.Word {
	return []story.Word{
		{Form: "suspend NODES", What: "the whole machine sleeps: its processes stand still, and so do their timers; the clock of a gate does not", Do: s.suspend, Lasts: true},
		{Form: "drain NODE", What: "it lets its acts end, says that it is done, and lets others go first", Runs: true, Do: s.drain},
		{Form: "transfer NODE", What: "the leader hands over to that node", Do: s.transfer},
		{Form: "stop NODES", What: "the process ends as it is asked to, by SIGTERM", Runs: true, Do: s.stop, Undo: story.Each(s, story.Start)},
		{Form: "restart database", What: "it is down, and all sessions are gone", Do: s.restart, Lasts: true},
		{Form: "promote standby NUMBER", What: "the database fails over to a standby that lacks so many transactions", Do: s.promote},
		{Form: "slow database TIME", What: "it begins so late with what it is asked", Do: func(a story.Args) error { return s.slow(a.Time) }, Undo: func(story.Args) error { return s.slow(0) }},
		{Form: "end session NODE", What: "the database ends the node's session, as an administrator does", Do: func(a story.Args) error { s.reset(s.node(a.Node())); return nil }},
		{Form: "lock row", What: "another client locks the row of the leadership", Do: s.lockRow, Undo: s.unlockRow},
	}
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	open := func(a story.Args) bool { return s.mayAct(a.Node()) }
	says := func(a story.Args) string {
		return fmt.Sprintf("that of %s is %s", a.Node(), map[bool]string{true: "open", false: "shut"}[open(a)])
	}
	return []story.Fact{
		{Form: "epoch NUMBER", What: "the newest epoch that was given out", Holds: func(a story.Args) (bool, string) {
			now := s.db.store.Epoch(s.scope())
			return now == int64(a.Number), fmt.Sprintf("it is %d", now)
		}},
		{Form: "open gate NODE", What: "it may act", Holds: func(a story.Args) (bool, string) { return open(a), says(a) }},
		{Form: "shut gate NODE", What: "it may not", Holds: func(a story.Args) (bool, string) { return !open(a), says(a) }},
		{Form: "no two act", What: "no two could ever act at one time; it is judged at every moment, also where nobody says so", Holds: func(story.Args) (bool, string) {
			is := slices.ContainsFunc(s.Found, func(v world.Violation) bool { return v.Invariant == ActDoors })
			return !is, "two could"
		}},
	}
}

// mayAct reports whether the act door of one of a node's processes is open.
func (s *stage) mayAct(node string) bool {
	now := s.Now()
	return slices.ContainsFunc(s.doors[s.scope()].terms, func(t *tenure) bool {
		a, b := t.ownSpan(now, now+1)
		return t.p.node.name == node && !t.shut && a < b
	})
}

// Runs implements story.Node.
func (n *node) Runs() bool { return n.running != nil && !n.running.dead }

// Stands implements story.Node.
func (n *node) Stands() bool { return n.Runs() && n.running.stops > 0 }

// Kill implements story.Node.
func (n *node) Kill() {
	n.r.tell(n.name, "is killed")
	n.running.kill()
}

// Start implements story.Node.
func (n *node) Start() { n.boot(n.name) }

// Freeze implements story.Node.
func (n *node) Freeze() error {
	n.running.freeze()
	return nil
}

// Thaw implements story.Node.
func (n *node) Thaw() { n.running.thaw() }

// Cut implements story.World. Nodes talk to the database alone.
func (s *stage) Cut(l story.Link) error {
	return s.link(l, true, s.net.Cut, "is cut off from the database")
}

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error {
	l.OneWay = false
	return s.link(l, false, s.net.Heal, "reaches the database again")
}

func (s *stage) link(l story.Link, cuts bool, do func(from, to string), what string) error {
	back := slices.Contains(l.Nodes, "database")
	if back {
		l.Nodes = l.Places
	} else if !slices.Contains(l.Places, "database") {
		return fmt.Errorf("nodes talk to the database, and not to each other: cut %s from database", l.Nodes[0])
	}
	for _, n := range l.Nodes {
		cut := s.net.IsCut(n, databaseName) || s.net.IsCut(databaseName, n)
		if cut == cuts {
			continue
		}
		s.tell(n, "%s%s", what, map[bool]string{true: ", one way"}[l.OneWay])
		if !l.OneWay || !back {
			do(n, databaseName)
		}
		if !l.OneWay || back {
			do(databaseName, n)
		}
	}
	return nil
}

func (s *stage) suspend(a story.Args) error {
	for _, n := range a.Nodes {
		s.tell(n, "and its machine sleep")
		s.node(n).suspend(a.For)
	}
	return nil
}

// drain has a node give up what it leads, and rest.
func (s *stage) drain(a story.Args) error {
	s.asks(a.Node(), "is drained", core.StepDown{})
	return nil
}

func (s *stage) transfer(a story.Args) error {
	now := s.Leader()
	if now == "" {
		return fmt.Errorf("nobody leads, so nobody hands over to %s", a.Node())
	}
	s.asks(now, "hands over to "+a.Node(), core.StepDown{To: a.Node()})
	return nil
}

func (s *stage) asks(node, what string, how core.StepDown) {
	s.tell(node, "%s", what)
	how.Scope, how.Why, how.Timeout = s.scope(), core.ErrStepDown, 3*s.cfg.lease
	s.posts(node, core.Asked{StepDown: how})
}

func (s *stage) stop(a story.Args) error {
	for _, n := range a.Nodes {
		s.tell(n, "is asked to end")
		s.posts(n, core.Stop{Why: core.ErrStepDown, Timeout: 3 * s.cfg.lease})
	}
	return nil
}

func (s *stage) posts(node string, in core.Input) {
	p := s.node(node).running
	p.run(func() { p.post(in) })
}

func (s *stage) restart(a story.Args) error {
	s.db.outage(a.For, -1)
	return nil
}

func (s *stage) promote(a story.Args) error {
	s.db.outage(100*time.Millisecond, a.Number)
	return nil
}

func (s *stage) slow(late time.Duration) error {
	s.db.slow = late
	if late > 0 {
		s.tell("database", "is slow: it begins %s late", late)
	} else {
		s.tell("database", "is as quick as before")
	}
	return nil
}

func (s *stage) lockRow(story.Args) error {
	s.db.store.LockRow(s.scope(), true)
	s.tell("database", "has a client that locks the row")
	return nil
}

func (s *stage) unlockRow(story.Args) error {
	s.db.store.LockRow(s.scope(), false)
	s.tell("database", "has its row unlocked")
	return nil
}
