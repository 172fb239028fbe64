package site

import (
	"slices"

	"github.com/conchhq/conch/internal/world/story"
)

// Node implements story.World.
func (s *Site) Node(name string) story.Node { return s.All[slices.Index(s.Names, name)] }

// Leader implements story.World.
func (s *Site) Leader() string {
	if s.First == nil {
		return ""
	}
	return s.First.Name
}

// Cut implements story.World: processes are cut off from the database.
func (s *Site) Cut(l story.Link) error { return s.link(l, true) }

// Heal implements story.World.
func (s *Site) Heal(l story.Link) error { return s.link(l, false) }

func (s *Site) link(l story.Link, cut bool) error {
	for _, n := range l.Nodes {
		s.setCut(n, cut)
	}
	return nil
}

// Words implements story.World.
func (s *Site) Words() []story.Word {
	right := func(story.Args) error { s.set(0); return nil }
	away := func(is bool) func(story.Args) error { return func(story.Args) error { s.outage(is); return nil } }
	return []story.Word{
		{Form: "ahead TIME", What: "the database's clock goes so much ahead of the truth", Do: func(a story.Args) error { s.set(a.Time); return nil }, Undo: right},
		{Form: "behind TIME", What: "the database's clock goes so much behind the truth", Do: func(a story.Args) error { s.set(-a.Time); return nil }, Undo: right},
		{Form: "outage", What: "the database is away", Do: away(true), Undo: away(false)},
	}
}
