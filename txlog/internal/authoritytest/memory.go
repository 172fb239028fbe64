package authoritytest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// Memory is the members of one log, each with an authority, in memory: what any of them stores is stored at once by all that
// it reaches. It has no clock, no chance and no goroutine, so a test says what happens and in which order. It is not safe
// for concurrent use.
//
// The members do not change: a record of kind Changed is a record as any other.
type Memory struct{ nodes []*Node }

// Node is one member of a Memory: a [authority.Authority]. What it stores outlives a crash.
type Node struct {
	// Look, if there is one, is asked before records are stored that another member has made. After an error they are not, and
	// the leader is told Refused.
	Look func([]txlog.Record) error

	memory    *Memory
	name      string
	records   []txlog.Record
	committed uint64
	term      uint64 // the newest that it has taken part in
	leader    string
	leads     bool
	down      bool
	apart     bool     // on the smaller side of a cut
	reads     []uint64 // asked for, and not answered
	facts     []authority.Fact
}

var _ authority.Authority = (*Node)(nil)

// NewMemory returns a log whose members have these names. Nobody leads.
func NewMemory(names ...string) *Memory {
	m := &Memory{}
	for _, name := range names {
		m.nodes = append(m.nodes, &Node{memory: m, name: name})
	}
	slices.SortFunc(m.nodes, func(a, b *Node) int { return cmp.Compare(a.name, b.name) })
	return m
}

// Node returns the member with a name.
func (m *Memory) Node(name string) *Node {
	i := slices.IndexFunc(m.nodes, func(n *Node) bool { return n.name == name })
	if i < 0 {
		panic("txlogtest: no member is called " + name)
	}
	return m.nodes[i]
}

// Part cuts the named members off from all others. Among themselves they reach each other. Without names the cut ends.
func (m *Memory) Part(names ...string) {
	for _, n := range m.nodes {
		n.apart = slices.Contains(names, n.name)
	}
	m.settle()
}

// Crash ends a member without a word: facts that were not taken are lost, and it hears nothing until Start.
func (m *Memory) Crash(name string) {
	n := m.Node(name)
	n.down, n.leads, n.leader, n.reads, n.facts = true, false, "", nil, nil
}

// Start brings a member back, and returns what its user begins from: what it has stored, and up to where it knows that to be
// committed. Facts that are told from now on come after that.
func (m *Memory) Start(name string) (n *Node, records []txlog.Record, committed uint64) {
	n = m.Node(name)
	n.down = false
	n.facts = nil
	records, committed = slices.Clone(n.records), n.committed
	m.settle()
	return n, records, committed
}

// Facts returns what was told since it was last called.
func (n *Node) Facts() []authority.Fact {
	facts := n.facts
	n.facts = nil
	return facts
}

// Campaign implements [authority.Authority]: the member leads in a new term if a majority is reached whose records are no newer.
func (n *Node) Campaign() {
	if n.down || n.leads {
		return
	}
	term, votes := n.term, 0
	for _, other := range n.reached() {
		term = max(term, other.term)
		if other.last().Term < n.last().Term || other.last().Term == n.last().Term && len(other.records) <= len(n.records) {
			votes++
		}
	}
	if votes <= len(n.memory.nodes)/2 {
		return
	}
	term++
	for _, other := range n.reached() {
		if other != n {
			other.follow(term, n.name)
		}
	}
	n.term, n.leader, n.leads, n.reads = term, n.name, true, nil
	n.tell(authority.Leads{Term: term})
	n.memory.settle()
}

// Append implements [authority.Authority]. It panics if the record does not follow the one before: no authority could store it.
func (n *Node) Append(r txlog.Record) {
	if n.down || !n.leads || r.Term != n.term {
		return
	}
	if last := n.last(); r.Index != last.Index+1 || last.Index > 0 && r.Prev != last.Hash {
		panic(fmt.Sprintf("txlogtest: entry %d is appended after entry %d", r.Index, last.Index))
	}
	n.store(len(n.records), []txlog.Record{r})
	n.memory.settle()
}

// Confirm implements [authority.Authority]. Any member may ask that reaches the leader; it is answered once the leader has
// committed an entry of its own term.
func (n *Node) Confirm(read uint64) {
	if n.down {
		return
	}
	n.reads = append(n.reads, read)
	n.memory.settle()
}

func (n *Node) tell(f authority.Fact) { n.facts = append(n.facts, f) }

// reached returns the members that this one reaches, itself included.
func (n *Node) reached() (all []*Node) {
	for _, other := range n.memory.nodes {
		if !other.down && other.apart == n.apart {
			all = append(all, other)
		}
	}
	return all
}

func (n *Node) last() txlog.Position { return last(n.records) }

// follow takes the member into a newer term, or under the leader of its own.
func (n *Node) follow(term uint64, leader string) {
	if term == n.term && leader == n.leader {
		return
	}
	n.term, n.leader, n.leads, n.reads = term, leader, false, nil
	n.tell(authority.Deposed{Term: term, Leader: leader})
}

// store puts records behind the first keep ones.
func (n *Node) store(keep int, records []txlog.Record) {
	n.records = append(slices.Clone(n.records[:keep]), records...)
	n.tell(authority.Stored{Records: slices.Clone(records)})
}

// settle lets every leader tell those that it reaches what it has.
func (m *Memory) settle() {
	for _, n := range m.nodes {
		if n.leads && !n.down {
			n.spread()
		}
	}
}

// spread brings a leader's records to the members that it reaches, and says what is committed.
func (n *Node) spread() {
	for _, other := range n.reached() {
		if other.term > n.term {
			n.follow(other.term, "")
			return
		}
	}
	same := map[*Node]bool{n: true} // those that have all that the leader has
	for _, other := range n.reached() {
		if other != n {
			other.follow(n.term, n.name)
			same[other] = n.give(other)
		}
	}
	has := 0
	for _, is := range same {
		if is {
			has++
		}
	}
	majority := has > len(n.memory.nodes)/2
	// An entry of an older term is committed by one of the own: until then another leader may replace it.
	if majority && n.last().Term == n.term {
		for _, other := range n.reached() {
			if same[other] {
				other.commit(n.last().Index)
			}
		}
	}
	if majority && n.committed > 0 && n.records[n.committed-1].Term == n.term {
		for _, other := range n.reached() {
			for _, read := range other.reads {
				other.tell(authority.Confirmed{Read: read, Index: n.committed})
			}
			other.reads = nil
		}
	}
}

// give makes another member's records the leader's, and reports whether it has stored them.
func (n *Node) give(other *Node) bool {
	same := 0
	for same < len(n.records) && same < len(other.records) && n.records[same].Hash() == other.records[same].Hash() {
		same++
	}
	if same == len(n.records) {
		return true
	}
	fresh := n.records[same:]
	if other.Look != nil {
		if err := other.Look(slices.Clone(fresh)); err != nil {
			n.tell(authority.Refused{Member: other.name, Index: fresh[0].Index})
			return false
		}
	}
	other.store(same, fresh)
	return true
}

func (n *Node) commit(index uint64) {
	if index > n.committed {
		n.committed = index
		n.tell(authority.Committed{Index: index})
	}
}
