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
		{Form: "withdraw NODE", What: "its user says that it cannot work", Runs: true, Do: func(a story.Args) error { s.withdraw(s.byName[a.Node()]); return nil }},
		{Form: "say NODE TEXT", What: "it publishes news", Runs: true, Do: s.say},
		{Form: "forge PLACES by NODE", What: "in each round the second node makes a heartbeat in which the first one leads", Runs: true, Do: s.forge},
	}
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	return []story.Fact{
		{Form: "agreed", What: "all nodes that can be reached name one leader, which leads", Holds: func(story.Args) (bool, string) { return s.agreed, s.split() }},
		{Form: "leaders NUMBER", What: "so many lead in their own view", Holds: func(a story.Args) (bool, string) {
			return s.run.leads() == a.Number, fmt.Sprintf("%d do", s.run.leads())
		}},
		{Form: "reign NUMBER", What: "in which the leader leads", Holds: func(a story.Args) (bool, string) {
			l := s.leads()
			if l == nil {
				return false, "nobody leads"
			}
			return l.believes.Reign == uint64(a.Number), fmt.Sprintf("it is %d", l.believes.Reign)
		}},
		{Form: "forgery refused", What: "somebody has refused a heartbeat that its node has not signed", Holds: func(story.Args) (bool, string) {
			return len(s.refusals[gossip.ErrSignature]) > 0, "nobody has"
		}},
		{Form: "heard TEXT", What: "everybody has heard that news", Holds: func(a story.Args) (bool, string) {
			heard := 0
			for _, n := range s.nodes {
				if s.seen[n.name+" "+a.Text+" "+a.Text] {
					heard++
				}
			}
			return heard == len(s.nodes)-1, fmt.Sprintf("%d of %d others have", heard, len(s.nodes)-1)
		}},
	}
}

// Runs implements story.Node.
func (n *node) Runs() bool { return n.up }

// Stands implements story.Node.
func (n *node) Stands() bool { return n.up && n.paused }

// Kill implements story.Node.
func (n *node) Kill() { n.r.crash(n) }

// Start implements story.Node.
func (n *node) Start() { n.r.restart(n) }

// Freeze implements story.Node.
func (n *node) Freeze() error {
	n.r.pause(n, true)
	return nil
}

// Thaw implements story.Node.
func (n *node) Thaw() { n.r.pause(n, false) }

// Cut implements story.World. Nodes that are cut off from all others are a side of their own. Without electors each side names its
// own leader, and it is no fault when one of them gives way.
func (s *stage) Cut(l story.Link) error {
	s.scene.Plot.deposes = s.cfg.Electors == 0
	nodes := s.named(l.Nodes)
	switch {
	case l.Whole && !l.OneWay:
		s.tell(nil, "the crowd is parted: %d nodes and %d", len(nodes), len(s.nodes)-len(nodes))
		s.side(nodes, 1)
	case l.Whole && len(nodes) == 1:
		s.silence(nodes[0], true)
	case len(l.Places) == 1 && len(nodes) == len(s.nodes)-1 && l.OneWay:
		s.deafen(s.byName[l.Places[0]], true)
	default:
		s.links(l, true)
	}
	return nil
}

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error {
	for _, n := range s.named(l.Nodes) {
		if n.mute {
			s.silence(n, false)
		}
		if n.deaf {
			s.deafen(n, false)
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
		s.tell(nil, "the crowd is one again")
		s.side(apart, 0)
		s.asks()
	}
	return nil
}

// links cuts single links, or heals them. Nobody is judged for what it does while they are cut.
func (s *stage) links(l story.Link, cut bool) {
	changed := 0
	for _, a := range s.named(l.Nodes) {
		for _, b := range s.named(l.Places) {
			for i, way := range [][2]*node{{a, b}, {b, a}} {
				if i == 1 && l.OneWay || s.oneWay[way] == cut {
					continue
				}
				changed++
				if s.oneWay[way] = cut; cut {
					a.troubled, b.troubled = s.w.Now()+never, s.w.Now()+never
				} else {
					a.troubled, b.troubled = s.w.Now(), s.w.Now()
				}
			}
		}
	}
	if changed > 0 {
		s.tell(nil, "%d links %s", changed, map[bool]string{true: "are cut", false: "are whole again"}[cut])
	}
}

func (s *stage) named(names []string) (all []*node) {
	for _, name := range names {
		all = append(all, s.byName[name])
	}
	return all
}

func (s *stage) lose(percent int) error {
	if percent > 50 {
		return fmt.Errorf("a loss of %d %%: 0 to 50", percent)
	}
	s.cfg.Loss = percent
	s.tell(nil, "%d of a hundred messages are lost", percent)
	return nil
}

func (s *stage) say(a story.Args) error {
	n := s.byName[a.Node()]
	s.tell(n, "says %q", a.Text)
	s.news[a.Text] = s.w.Now()
	n.step(agent.Publish{Namespace: namespace, Topic: a.Text, Body: []byte(a.Text)})
	return nil
}

func (s *stage) forge(a story.Args) error {
	by, of := s.byName[a.Node()], s.byName[a.Places[0]]
	s.tell(by, "makes heartbeats of %s", of.name)
	s.lies(by, of, wire.Heartbeat{Reign: s.top, Leads: true, Stands: true, Wide: true, Host: of.name})
	return nil
}
