package bulletin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/internal/world/story"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/host"
)

// Words implements story.World.
func (s *stage) Words() []story.Word {
	return []story.Word{
		{Form: "goal NODE TEXT", What: "a client asks the node for a goal: put KEY NUMBER, add KEY, or the goal itself", Do: s.goal},
		{Form: "goals NODE NUMBER", What: "a client asks for so many goals, one after the other", Do: s.goals},
		{Form: "again NODE", What: "the client of the last goal asks for it once more", Do: s.again},
		{Form: "read NODE NAME", What: "a client asks the node for a key", Do: s.read},
		{Form: "trap NODE NAME", What: "the node is killed when it has received, executed or stored the next goal, or when it is committed", Do: s.trap},
		{Form: "unplug NODES", What: "the process dies with its host: what was not synced is lost", Do: s.unplug, Undo: s.start},
		{Form: "lose disk NODE", What: "the host dies and its disk is lost; it starts again as another member", Do: s.loseDisk, Undo: s.start},
		{Form: "flip NODE NAME", What: "a bit of a key is wrong in the node's memory", Do: s.flip},
		{Form: "change members NODES", What: "the leader is asked to make these the members", Do: s.members},
		{Form: "suggest NODE", What: "it should lead, as gossip says", Do: func(a story.Args) error { s.r.suggests(s.r.byName[a.Node()]); return nil }},
		{Form: "forge NODE", What: "the node is told of a next entry by one that is no member", Do: s.forge},
	}
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	number := func(of func(*node) int) func(story.Args) (bool, string) {
		return func(a story.Args) (bool, string) {
			n := of(s.r.byName[a.Node()])
			return n == a.Number, fmt.Sprintf("it is %d", n)
		}
	}
	return []story.Fact{
		{Form: "answered", What: "nobody waits for an answer", Holds: s.answered},
		{Form: "answer TEXT", What: "the last goal or question has an answer that says so", Holds: func(a story.Args) (bool, string) {
			if len(s.asks) == 0 || !s.asks[len(s.asks)-1].done {
				return false, "there is no answer"
			}
			last := s.asks[len(s.asks)-1].answer.what()
			return strings.Contains(last, a.Text), "it is: " + last
		}},
		{Form: "entries NUMBER", What: "so many are committed", Holds: func(a story.Args) (bool, string) {
			return s.r.top() == uint64(a.Number), fmt.Sprintf("it is %d", s.r.top())
		}},
		{Form: "index NODE NUMBER", What: "the node's copy has come so far", Holds: number(func(n *node) int { return int(n.at().Index) })},
		{Form: "executed NODE NUMBER", What: "so many goals the node has executed itself", Holds: number(func(n *node) int { return n.executions })},
		{Form: "equal", What: "all copies that run have all that is committed", Holds: s.equal},
		{Form: "refused NUMBER", What: "so many heads were refused by anybody", Holds: func(a story.Args) (bool, string) {
			return s.r.Stats["refused"] == int64(a.Number), fmt.Sprintf("it is %d", s.r.Stats["refused"])
		}},
		{Form: "members NODES", What: "these decide, as far as is committed", Holds: func(a story.Args) (bool, string) {
			now := memberNames(s.r.members())
			return slices.Equal(now, slices.Sorted(slices.Values(a.Nodes))), strings.Join(now, ", ") + " do"
		}},
		{Form: "waiting store", What: "a member's new store waits until the leader admits it", Holds: func(story.Args) (bool, string) {
			l := s.r.leader()
			return l != nil && len(l.core.Status().Renewed) > 0, "none does"
		}},
	}
}

func (s *stage) answered(story.Args) (bool, string) {
	for _, c := range s.r.clients {
		if c.hidden || c.now != nil && !c.now.done {
			return false, c.name + " waits"
		}
	}
	return true, ""
}

func (s *stage) equal(story.Args) (bool, string) {
	for _, n := range s.r.nodes {
		if at := n.at().Index; n.up && at != s.r.top() {
			return false, fmt.Sprintf("%s is at %d, and the log at %d", n.name, at, s.r.top())
		}
	}
	return true, ""
}

// goalOf reads a goal as a story writes it.
func goalOf(text string) []byte {
	words := strings.Fields(text)
	if len(words) == 3 && words[0] == "put" {
		if n, err := strconv.Atoi(words[2]); err == nil {
			return putGoal(words[1], n)
		}
	}
	if len(words) == 2 && words[0] == "add" {
		return addGoal(words[1])
	}
	return []byte(text)
}

func (s *stage) goal(a story.Args) error {
	s.asks = append(s.asks, s.client().asks(s.r.byName[a.Node()], goalOf(a.Text), ""))
	return nil
}

func (s *stage) goals(a story.Args) error {
	s.client().goals(s.r.byName[a.Node()], a.Number, func() {})
	return nil
}

func (s *stage) read(a story.Args) error {
	s.asks = append(s.asks, s.client().asks(s.r.byName[a.Node()], nil, a.Name))
	return nil
}

func (s *stage) again(a story.Args) error {
	if len(s.asks) == 0 || s.asks[len(s.asks)-1].goal == nil || !s.asks[len(s.asks)-1].done {
		return fmt.Errorf("no goal has its answer, so nobody asks for it again")
	}
	last := s.asks[len(s.asks)-1]
	again := &ask{by: last.by, id: last.id, goal: last.goal, since: last.since, again: true}
	s.asks = append(s.asks, again)
	last.by.home = s.r.byName[a.Node()]
	last.by.begins(again)
	return nil
}

func (s *stage) trap(a story.Args) error {
	point := map[string]string{"received": received, "executed": executed, "stored": stored, "committed": committed}[a.Name]
	if point == "" {
		return fmt.Errorf("there is no point %q on a goal's way: it is received, executed, stored or committed", a.Name)
	}
	s.r.traps = append(s.r.traps, &trap{point: point, on: s.r.byName[a.Node()], wait: never})
	return nil
}

func (s *stage) unplug(a story.Args) error {
	for _, name := range a.Nodes {
		n, err := s.running(name)
		if err != nil {
			return err
		}
		n.crash(true)
	}
	return nil
}

func (s *stage) loseDisk(a story.Args) error {
	s.r.byName[a.Node()].losesDisk(never)
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

func (s *stage) flip(a story.Args) error {
	n, err := s.running(a.Node())
	if err == nil {
		n.flips(a.Name)
	}
	return err
}

func (s *stage) members(a story.Args) error {
	l := s.r.leader()
	if l == nil {
		return fmt.Errorf("nobody leads")
	}
	var next []txlog.Member
	for _, name := range a.Nodes {
		m, is := txlog.FindMember(s.r.members(), name)
		if n := s.r.byName[name]; !is {
			m = txlog.Member{Name: name, Key: fingerprint(n.key), Store: n.disk.id}
		}
		next = append(next, m)
	}
	s.r.asksOpenly(l, next)
	return nil
}

func (s *stage) forge(a story.Args) error {
	n, err := s.running(a.Node())
	if err != nil {
		return err
	}
	term := uint64(1)
	if l := s.r.leader(); l != nil {
		term = l.term
	}
	by := s.r.members()[0].Name
	h := txlog.Head{Position: txlog.Position{Log: s.r.genesis.ID(), Index: s.r.top() + 1, Term: term, Hash: txlog.Hash{1}}, Member: by}
	s.r.tell(n, "is told of a head at %d that somebody else has signed", h.Index)
	n.put(host.Headed{Head: h.Sign(n.key), Via: by})
	return nil
}

// Kill implements story.World.
func (s *stage) Kill(node string) error {
	n, err := s.running(node)
	if err == nil {
		n.crash(false)
	}
	return err
}

// Start implements story.World.
func (s *stage) Start(node string) error {
	n := s.r.byName[node]
	if n.up {
		return fmt.Errorf("%s runs", node)
	}
	s.r.tell(n, "starts again")
	n.quits = false
	n.boot()
	return nil
}

// Freeze implements story.World.
func (s *stage) Freeze(node string) error {
	n, err := s.running(node)
	switch {
	case err != nil:
		return err
	case n.paused:
		return fmt.Errorf("%s stands still already", node)
	}
	n.paused = true
	s.r.tell(n, "stands still")
	return nil
}

// Thaw implements story.World.
func (s *stage) Thaw(node string) error {
	n := s.r.byName[node]
	if !n.up || !n.paused {
		return fmt.Errorf("%s does not stand still", node)
	}
	n.thaw()
	return nil
}

// Cut implements story.World.
func (s *stage) Cut(l story.Link) error {
	s.r.tell(nil, "the network %s", l.Cut())
	s.each(l, func(on way) { s.r.net.cut[on] = 1 })
	return nil
}

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error {
	s.r.tell(nil, "the network %s", l.Healed())
	s.each(l, func(on way) { delete(s.r.net.cut, on) })
	return nil
}

func (s *stage) each(l story.Link, do func(way)) {
	for _, a := range l.Nodes {
		for _, b := range l.Places {
			do(way{s.r.byName[a], s.r.byName[b]})
			if !l.OneWay {
				do(way{s.r.byName[b], s.r.byName[a]})
			}
		}
	}
}
