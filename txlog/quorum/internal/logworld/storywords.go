package logworld

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/internal/world/story"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/core"
)

// Words implements story.World.
func (s *stage) Words() []story.Word {
	return []story.Word{
		{Form: "goal NODE TEXT", What: "a client asks the node for a goal: put KEY NUMBER, add KEY, or the goal itself", Do: s.goal},
		{Form: "goals NODE NUMBER", What: "a client asks for so many goals, one after the other", Do: s.goals},
		{Form: "again NODE", What: "the client of the last goal asks for it once more", Do: s.again},
		{Form: "read NODE NAME", What: "a client asks the node for a key", Do: s.read},
		{Form: "trap NODE NAME", What: "the node is killed when it has received, executed or stored the next goal, or when it is committed", Do: s.trap},
		{Form: "unplug NODES", What: "the process dies with its host: what was not synced is lost", Runs: true, Do: s.unplug, Undo: story.Each(s, story.Start)},
		{Form: "lose disk NODE", What: "the host dies and its disk is lost; it starts again as another member", Do: s.loseDisk, Undo: story.Each(s, story.Start)},
		{Form: "flip NODE NAME", What: "a bit of a key is wrong in the node's memory", Runs: true, Do: s.flip},
		{Form: "change members NODES", What: "the leader is asked to make these the members", Do: s.members},
		{Form: "suggest NODE", What: "it should lead, as gossip says", Do: func(a story.Args) error { s.suggests(s.byName[a.Node()]); return nil }},
		{Form: "forge NODE", What: "the node is told of a next entry by one that is no member", Runs: true, Do: s.forge},
	}
}

// Facts implements story.World.
func (s *stage) Facts() []story.Fact {
	number := func(of func(*node) int) func(story.Args) (bool, string) {
		return func(a story.Args) (bool, string) {
			n := of(s.byName[a.Node()])
			return n == a.Number, fmt.Sprintf("it is %d", n)
		}
	}
	return []story.Fact{
		{Form: "answered", What: "nobody waits for an answer", Holds: s.answered},
		{Form: "answer TEXT", What: "the last goal or question has an answer that says so", Holds: func(a story.Args) (bool, string) {
			if len(s.asked) == 0 || !s.asked[len(s.asked)-1].done {
				return false, "there is no answer"
			}
			last := s.asked[len(s.asked)-1].answer.what()
			return strings.Contains(last, a.Text), "it is: " + last
		}},
		{Form: "entries NUMBER", What: "so many are committed", Holds: func(a story.Args) (bool, string) {
			return s.top() == uint64(a.Number), fmt.Sprintf("it is %d", s.top())
		}},
		{Form: "index NODE NUMBER", What: "the node's copy has come so far", Holds: number(func(n *node) int { return int(n.at().Index) })},
		{Form: "executed NODE NUMBER", What: "so many goals the node has executed itself", Holds: number(func(n *node) int { return n.executions })},
		{Form: "equal", What: "all copies that run have all that is committed", Holds: s.equal},
		{Form: "refused NUMBER", What: "so many heads were refused by anybody", Holds: func(a story.Args) (bool, string) {
			return s.Stats["refused"] == int64(a.Number), fmt.Sprintf("it is %d", s.Stats["refused"])
		}},
		{Form: "members NODES", What: "these decide, as far as is committed", Holds: func(a story.Args) (bool, string) {
			now := memberNames(s.run.members())
			return slices.Equal(now, slices.Sorted(slices.Values(a.Nodes))), strings.Join(now, ", ") + " do"
		}},
		{Form: "waiting store", What: "a member's new store waits until the leader admits it", Holds: func(story.Args) (bool, string) {
			l := s.leader()
			return l != nil && len(l.core.Status().Renewed) > 0, "none does"
		}},
	}
}

func (s *stage) answered(story.Args) (bool, string) {
	for _, c := range s.clients {
		if c.hidden || c.now != nil && !c.now.done {
			return false, c.name + " waits"
		}
	}
	return true, ""
}

func (s *stage) equal(story.Args) (bool, string) {
	for _, n := range s.nodes {
		if at := n.at().Index; n.up && at != s.top() {
			return false, fmt.Sprintf("%s is at %d, and the log at %d", n.name, at, s.top())
		}
	}
	return true, ""
}

// goalOf reads a goal as a story writes it.
func (s *stage) goalOf(text string) []byte {
	words := strings.Fields(text)
	if len(words) == 3 && words[0] == "put" {
		if n, err := strconv.Atoi(words[2]); err == nil {
			return s.machine.Put(words[1], n)
		}
	}
	if len(words) == 2 && words[0] == "add" {
		return s.machine.Add(words[1])
	}
	return []byte(text)
}

func (s *stage) goal(a story.Args) error {
	s.asked = append(s.asked, s.client().asks(s.byName[a.Node()], s.goalOf(a.Text), ""))
	return nil
}

func (s *stage) goals(a story.Args) error {
	s.client().goals(s.byName[a.Node()], a.Number, func() {})
	return nil
}

func (s *stage) read(a story.Args) error {
	s.asked = append(s.asked, s.client().asks(s.byName[a.Node()], nil, a.Name))
	return nil
}

func (s *stage) again(a story.Args) error {
	if len(s.asked) == 0 || s.asked[len(s.asked)-1].goal == nil || !s.asked[len(s.asked)-1].done {
		return fmt.Errorf("no goal has its answer, so nobody asks for it again")
	}
	last := s.asked[len(s.asked)-1]
	again := &ask{by: last.by, id: last.id, goal: last.goal, since: last.since, again: true}
	s.asked = append(s.asked, again)
	last.by.home = s.byName[a.Node()]
	last.by.begins(again)
	return nil
}

func (s *stage) trap(a story.Args) error {
	point := map[string]string{"received": received, "executed": executed, "stored": stored, "committed": committed}[a.Name]
	if point == "" {
		return fmt.Errorf("there is no point %q on a goal's way: it is received, executed, stored or committed", a.Name)
	}
	s.traps = append(s.traps, &trap{point: point, on: s.byName[a.Node()], wait: never})
	return nil
}

func (s *stage) unplug(a story.Args) error {
	for _, name := range a.Nodes {
		s.byName[name].crash(true)
	}
	return nil
}

func (s *stage) loseDisk(a story.Args) error {
	s.byName[a.Node()].losesDisk(never)
	return nil
}

func (s *stage) flip(a story.Args) error {
	s.byName[a.Node()].flips(a.Name)
	return nil
}

func (s *stage) members(a story.Args) error {
	l := s.leader()
	if l == nil {
		return fmt.Errorf("nobody leads")
	}
	var next []txlog.Member
	for _, name := range a.Nodes {
		m, is := txlog.FindMember(s.run.members(), name)
		if n := s.byName[name]; !is {
			m = txlog.Member{Name: name, Key: fingerprint(n.key), Store: n.disk.id}
		}
		next = append(next, m)
	}
	s.asksOpenly(l, next)
	return nil
}

func (s *stage) forge(a story.Args) error {
	n, term := s.byName[a.Node()], uint64(1)
	if l := s.leader(); l != nil {
		term = l.term
	}
	by := s.run.members()[0].Name
	h := txlog.Head{Position: txlog.Position{Log: s.genesis.ID(), Index: s.top() + 1, Term: term, Hash: txlog.Hash{1}}, Member: by}
	s.tell(n, "is told of a head at %d that somebody else has signed", h.Index)
	n.put(core.Headed{Head: h.Sign(n.key), Via: by})
	return nil
}

// Runs implements story.Node.
func (n *node) Runs() bool { return n.up && n.process != nil }

// Stands implements story.Node.
func (n *node) Stands() bool { return n.up && n.paused }

// Kill implements story.Node.
func (n *node) Kill() { n.crash(false) }

// Start implements story.Node.
func (n *node) Start() {
	n.r.tell(n, "starts again")
	n.quits = false
	n.boot()
}

// Freeze implements story.Node.
func (n *node) Freeze() error {
	n.paused = true
	n.r.tell(n, "stands still")
	return nil
}

// Cut implements story.World.
func (s *stage) Cut(l story.Link) error {
	s.tell(nil, "the network %s", l.Cut())
	l.Ways(func(from, to string) { s.net.cut[way{s.byName[from], s.byName[to]}] = 1 })
	return nil
}

// Heal implements story.World.
func (s *stage) Heal(l story.Link) error {
	s.tell(nil, "the network %s", l.Healed())
	l.Ways(func(from, to string) { delete(s.net.cut, way{s.byName[from], s.byName[to]}) })
	return nil
}
