package crowd

import (
	"fmt"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/gossip/wire"
	"github.com/conchhq/conch/internal/world/story"
)

// Words implements story.World.
func (s *stage) Words() []story.Word {
	return []story.Word{
		{Form: "lose NUMBER", What: "so many of a hundred messages are lost", Do: func(a story.Args) error { return s.lose(a.Number) }, Undo: func(story.Args) error { return s.lose(0) }},
		{Form: "withdraw NODE", What: "its user says that it cannot work", Do: s.withdraw},
		{Form: "say NODE TEXT", What: "it publishes news", Do: s.say},
		{Form: "forge PLACES by NODE", What: "in each round the second node makes a heartbeat in which the first one leads", Do: s.forge},
	}
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	return []story.Fact{
		{Form: "agreed", What: "all nodes that can be reached name one leader, which leads", Holds: func(story.Args) (bool, string) { return s.r.agreed, s.r.split() }},
		{Form: "leaders NUMBER", What: "so many lead in their own view", Holds: func(a story.Args) (bool, string) {
			return s.r.leads() == a.Number, fmt.Sprintf("%d do", s.r.leads())
		}},
		{Form: "reign NUMBER", What: "in which the leader leads", Holds: func(a story.Args) (bool, string) {
			l := s.leads()
			if l == nil {
				return false, "nobody leads"
			}
			return l.believes.Reign == uint64(a.Number), fmt.Sprintf("it is %d", l.believes.Reign)
		}},
		{Form: "forgery refused", What: "somebody has refused a heartbeat that its node has not signed", Holds: func(story.Args) (bool, string) {
			return len(s.r.refusals[gossip.ErrSignature]) > 0, "nobody has"
		}},
		{Form: "heard TEXT", What: "everybody has heard that news", Holds: func(a story.Args) (bool, string) {
			heard := 0
			for _, n := range s.r.nodes {
				if s.r.seen[n.name+" "+a.Text+" "+a.Text] {
					heard++
				}
			}
			return heard == len(s.r.nodes)-1, fmt.Sprintf("%d of %d others have", heard, len(s.r.nodes)-1)
		}},
	}
}

// Kill implements story.World.
func (s *stage) Kill(node string) error {
	n, err := s.running(node)
	if err == nil {
		s.r.crash(n)
	}
	return err
}

// Start implements story.World.
func (s *stage) Start(node string) error {
	n := s.r.byName[node]
	if n.up {
		return fmt.Errorf("%s runs", node)
	}
	s.r.restart(n)
	return nil
}

// Freeze implements story.World.
func (s *stage) Freeze(node string) error { return s.pause(node, true) }

// Thaw implements story.World.
func (s *stage) Thaw(node string) error { return s.pause(node, false) }

func (s *stage) pause(node string, is bool) error {
	n, err := s.running(node)
	switch {
	case err != nil:
		return err
	case n.paused == is:
		return fmt.Errorf("%s %s", node, map[bool]string{true: "stands still already", false: "does not stand still"}[is])
	}
	s.r.pause(n, is)
	return nil
}

// Cut implements story.World. Nodes that are cut off from all others are a side of their own. Without electors each side names its
// own leader, and it is no fault when one of them gives way.
func (s *stage) Cut(l story.Link) error {
	s.r.scene.Plot.deposes = s.r.cfg.Electors == 0
	nodes := s.named(l.Nodes)
	switch {
	case l.Whole && !l.OneWay:
		s.r.tell(nil, "the crowd is parted: %d nodes and %d", len(nodes), len(s.r.nodes)-len(nodes))
		s.r.side(nodes, 1)
	case l.Whole && len(nodes) == 1:
		s.r.silence(nodes[0], true)
	case len(l.Places) == 1 && len(nodes) == len(s.r.nodes)-1 && l.OneWay:
		s.r.deafen(s.r.byName[l.Places[0]], true)
	default:
		s.links(l, true)
	}
	return nil
}

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error {
	for _, n := range s.named(l.Nodes) {
		if n.mute {
			s.r.silence(n, false)
		}
		if n.deaf {
			s.r.deafen(n, false)
		}
	}
	s.links(l, false)
	if !l.Whole {
		return nil
	}
	var apart []*node
	for _, n := range s.named(l.Nodes) {
		if n.side != 0 {
			apart = append(apart, n)
		}
	}
	if len(apart) > 0 {
		s.r.tell(nil, "the crowd is one again")
		s.r.side(apart, 0)
		s.r.asks()
	}
	return nil
}

// links cuts single links, or heals them. Nobody is judged for what it does while they are cut.
func (s *stage) links(l story.Link, cut bool) {
	changed := 0
	for _, a := range s.named(l.Nodes) {
		for _, b := range s.named(l.Places) {
			for i, way := range [][2]*node{{a, b}, {b, a}} {
				if i == 1 && l.OneWay || s.r.oneWay[way] == cut {
					continue
				}
				changed++
				if s.r.oneWay[way] = cut; cut {
					a.troubled, b.troubled = s.r.w.Now()+never, s.r.w.Now()+never
				} else {
					a.troubled, b.troubled = s.r.w.Now(), s.r.w.Now()
				}
			}
		}
	}
	if changed > 0 {
		s.r.tell(nil, "%d links %s", changed, map[bool]string{true: "are cut", false: "are whole again"}[cut])
	}
}

func (s *stage) named(names []string) (all []*node) {
	for _, name := range names {
		all = append(all, s.r.byName[name])
	}
	return all
}

func (s *stage) lose(percent int) error {
	if percent > 50 {
		return fmt.Errorf("a loss of %d %%: 0 to 50", percent)
	}
	s.r.cfg.Loss = percent
	s.r.tell(nil, "%d of a hundred messages are lost", percent)
	return nil
}

func (s *stage) withdraw(a story.Args) error {
	n, err := s.running(a.Node())
	if err == nil {
		s.r.withdraw(n)
	}
	return err
}

func (s *stage) say(a story.Args) error {
	n, err := s.running(a.Node())
	if err == nil {
		s.r.tell(n, "says %q", a.Text)
		s.r.news[a.Text] = s.r.w.Now()
		n.step(agent.Publish{Namespace: namespace, Topic: a.Text, Body: []byte(a.Text)})
	}
	return err
}

func (s *stage) forge(a story.Args) error {
	by, err := s.running(a.Node())
	if err == nil {
		of := s.r.byName[a.Places[0]]
		s.r.tell(by, "makes heartbeats of %s", of.name)
		s.r.lies(by, of, wire.Heartbeat{Reign: s.r.top, Leads: true, Stands: true, Wide: true, Host: of.name})
	}
	return err
}
