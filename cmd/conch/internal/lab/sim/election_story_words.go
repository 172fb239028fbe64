package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/story"
)

// Words implements story.World.
func (s *stage) Words() []story.Word {
	return []story.Word{
		{Form: "suspend NODES", What: "the whole machine sleeps: its processes stand still, and so do their timers; the clock of a gate does not", Do: s.suspend, Lasts: true},
		{Form: "drain NODE", What: "it lets its acts end, says that it is done, and lets others go first", Do: s.drain},
		{Form: "transfer NODE", What: "the leader hands over to that node", Do: s.transfer},
		{Form: "stop NODES", What: "the process ends as it is asked to, by SIGTERM", Do: s.stop, Undo: s.start},
		{Form: "restart database", What: "it is down, and all sessions are gone", Do: s.restart, Lasts: true},
		{Form: "promote standby NUMBER", What: "the database fails over to a standby that lacks so many transactions", Do: s.promote},
		{Form: "slow database TIME", What: "it begins so late with what it is asked", Do: func(a story.Args) error { return s.slow(a.Time) }, Undo: func(story.Args) error { return s.slow(0) }},
		{Form: "end session NODE", What: "the database ends the node's session, as an administrator does", Do: func(a story.Args) error { s.r.reset(s.r.node(a.Node())); return nil }},
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
			now := s.r.db.store.Epoch(s.scope())
			return now == int64(a.Number), fmt.Sprintf("it is %d", now)
		}},
		{Form: "open gate NODE", What: "it may act", Holds: func(a story.Args) (bool, string) { return open(a), says(a) }},
		{Form: "shut gate NODE", What: "it may not", Holds: func(a story.Args) (bool, string) { return !open(a), says(a) }},
		{Form: "no two act", What: "no two could ever act at one time; it is judged at every moment, also where nobody says so", Holds: func(story.Args) (bool, string) {
			is := slices.ContainsFunc(s.r.Found, func(v world.Violation) bool { return v.Invariant == ActDoors })
			return !is, "two could"
		}},
	}
}

// mayAct reports whether the act door of one of a node's processes is open.
func (s *stage) mayAct(node string) bool {
	now := s.Now()
	return slices.ContainsFunc(s.r.doors[s.scope()].terms, func(t *tenure) bool {
		a, b := t.ownSpan(now, now+1)
		return t.p.node.name == node && !t.shut && a < b
	})
}

// process returns the living process of a node.
func (s *stage) process(node string) (*process, error) {
	if p := s.r.node(node).running; p != nil && !p.dead {
		return p, nil
	}
	return nil, fmt.Errorf("%s does not run", node)
}

// Kill implements story.World.
func (s *stage) Kill(node string) error {
	p, err := s.process(node)
	if err == nil {
		s.r.tell(node, "is killed")
		p.kill()
	}
	return err
}

// Start implements story.World.
func (s *stage) Start(node string) error {
	if _, err := s.process(node); err == nil {
		return fmt.Errorf("%s runs", node)
	}
	s.r.node(node).boot(node)
	return nil
}

func (s *stage) start(a story.Args) error {
	for _, n := range a.Nodes {
		if err := s.Start(n); err != nil {
			return err
		}
	}
	return nil
}

// Freeze implements story.World.
func (s *stage) Freeze(node string) error {
	p, err := s.process(node)
	if err == nil {
		p.freeze()
	}
	return err
}

// Thaw implements story.World.
func (s *stage) Thaw(node string) error {
	p, err := s.process(node)
	switch {
	case err != nil:
		return err
	case p.stops == 0:
		return fmt.Errorf("%s does not stand still", node)
	}
	p.thaw()
	return nil
}

// Cut implements story.World. Nodes talk to the database alone.
func (s *stage) Cut(l story.Link) error {
	return s.link(l, true, s.r.net.Cut, "is cut off from the database")
}

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error {
	l.OneWay = false
	return s.link(l, false, s.r.net.Heal, "reaches the database again")
}

func (s *stage) link(l story.Link, cuts bool, do func(from, to string), what string) error {
	back := slices.Contains(l.Nodes, "database")
	if back {
		l.Nodes = l.Places
	} else if !slices.Contains(l.Places, "database") {
		return fmt.Errorf("nodes talk to the database, and not to each other: cut %s from database", l.Nodes[0])
	}
	for _, n := range l.Nodes {
		cut := s.r.net.IsCut(n, databaseName) || s.r.net.IsCut(databaseName, n)
		if cut == cuts {
			continue
		}
		s.r.tell(n, "%s%s", what, map[bool]string{true: ", one way"}[l.OneWay])
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
		s.r.tell(n, "and its machine sleep")
		s.r.node(n).suspend(a.For)
	}
	return nil
}

// drain has a node give up what it leads, and rest.
func (s *stage) drain(a story.Args) error {
	return s.asks(a.Node(), "is drained", election.StepDown{})
}

func (s *stage) transfer(a story.Args) error {
	now := s.Leader()
	if now == "" {
		return fmt.Errorf("nobody leads, so nobody hands over to %s", a.Node())
	}
	return s.asks(now, "hands over to "+a.Node(), election.StepDown{To: a.Node()})
}

func (s *stage) asks(node, what string, how election.StepDown) error {
	p, err := s.process(node)
	if err != nil {
		return err
	}
	s.r.tell(node, "%s", what)
	how.Scope, how.Why, how.Timeout = s.scope(), election.ErrStepDown, 3*s.r.cfg.lease
	p.run(func() { p.post(election.Asked{StepDown: how}) })
	return nil
}

func (s *stage) stop(a story.Args) error {
	for _, n := range a.Nodes {
		p, err := s.process(n)
		if err != nil {
			return err
		}
		s.r.tell(n, "is asked to end")
		p.run(func() { p.post(election.Stop{Why: election.ErrStepDown, Timeout: 3 * s.r.cfg.lease}) })
	}
	return nil
}

func (s *stage) restart(a story.Args) error {
	s.r.db.outage(a.For, -1)
	return nil
}

func (s *stage) promote(a story.Args) error {
	s.r.db.outage(100*time.Millisecond, a.Number)
	return nil
}

func (s *stage) slow(late time.Duration) error {
	s.r.db.slow = late
	if late > 0 {
		s.r.tell("database", "is slow: it begins %s late", late)
	} else {
		s.r.tell("database", "is as quick as before")
	}
	return nil
}

func (s *stage) lockRow(story.Args) error {
	s.r.db.store.LockRow(s.scope(), true)
	s.r.tell("database", "has a client that locks the row")
	return nil
}

func (s *stage) unlockRow(story.Args) error {
	s.r.db.store.LockRow(s.scope(), false)
	s.r.tell("database", "has its row unlocked")
	return nil
}
