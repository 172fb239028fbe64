package member

import (
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// A toy of an authority, of the kind that elects: what it may do, it does in any order, as a world's chance says. A
// majority of three whose records are no newer makes a term; a leader gives its records to one other at a time, some of
// them; what is of its term and at two, is committed. A leader that is deposed learns of it late, and stores until then.

// node is one member: its machine, and its part of the authority.
type node struct {
	w      *world
	name   string
	m      *Machine
	states []*notes // of the machine

	disk      []txlog.Record
	committed uint64
	up, cut   bool
	muted     bool // its machine has given a term up, and is not rebuilt

	term    uint64
	leader  string
	leads   bool
	pending []txlog.Record // appended, not stored
	match   map[string]uint64

	rebuilding bool
	open       bool
	performing []txlog.Key
}

func (n *node) start() {
	n.up, n.states, n.rebuilding, n.muted, n.open, n.performing = true, nil, false, false, false, nil
	n.leads, n.pending, n.leader = false, nil, ""
	c := Config{Self: n.name, Base: n.w.copyOf(n.disk[:n.committed]), Tail: n.disk[n.committed:], MostWaiting: 12, mostInFlight: 4, SnapshotEvery: 5}
	c.New = func() txlog.State {
		s := newNotes().(*notes)
		n.states = append(n.states, s)
		return s
	}
	// The copy from the disk has states of its own: the machine's memory is what a fault flips.
	base, err := txlog.Restore(c.Base.Snapshot(), c.New)
	if err != nil {
		n.w.fail("%s does not restore: %v", n.name, err)
		return
	}
	c.Base = base
	n.m = New(c)
}

func (n *node) crash() {
	n.up, n.leads, n.m = false, false, nil
	n.w.forget(n)
}

func (n *node) hear(f authority.Fact) { n.step(Heard{Fact: f}) }

func (n *node) step(in Input) {
	if n.up {
		n.w.perform(n, n.m.Step(n.w.now, in))
	}
}

func (n *node) last() txlog.Position {
	if len(n.disk) == 0 {
		return txlog.Position{}
	}
	return n.disk[len(n.disk)-1].Position()
}

func (n *node) reaches(other *node) bool {
	return n.up && other.up && (n == other || !n.cut && !other.cut)
}

func (n *node) depose(term uint64, leader string) {
	if n.term == term && n.leader == leader && !n.leads {
		return
	}
	n.term, n.leader, n.leads, n.pending = term, leader, false, nil
	n.hear(authority.Deposed{Term: term, Leader: leader})
}

// campaign makes a term, if a majority gives it.
func (n *node) campaign() {
	if !n.up || n.leads || n.muted {
		return
	}
	term, votes := n.term, 0
	for _, other := range n.w.nodes {
		if n.reaches(other) {
			term = max(term, other.term)
			mine, its := n.last(), other.last()
			if its.Term < mine.Term || its.Term == mine.Term && its.Index <= mine.Index {
				votes++
			}
		}
	}
	if votes < 2 {
		return
	}
	term++
	for _, other := range n.w.nodes {
		if other != n && n.reaches(other) {
			other.depose(term, "")
		}
	}
	n.term, n.leader, n.leads, n.pending, n.match = term, n.name, true, nil, map[string]uint64{n.name: uint64(len(n.disk))}
	n.hear(authority.Leads{Term: term})
}

// persist stores some of what was appended. A record that does not follow is no record.
func (n *node) persist() {
	if !n.leads || !n.up || len(n.pending) == 0 {
		return
	}
	many := 1 + n.w.chance.IntN(len(n.pending))
	var stored []txlog.Record
	for _, r := range n.pending[:many] {
		if r.Index == uint64(len(n.disk))+1 && (r.Index == 1 || r.Prev == n.last().Hash) {
			n.disk = append(n.disk, r)
			stored = append(stored, r)
		}
	}
	n.pending = n.pending[many:]
	n.match[n.name] = uint64(len(n.disk))
	if len(stored) > 0 {
		n.hear(authority.Stored{Records: stored})
	}
}

// give brings some of a leader's records to another one.
func (n *node) give(other *node) {
	if !n.leads || other == n || !n.reaches(other) {
		return
	}
	if other.term > n.term {
		n.depose(other.term, other.leader)
		return
	}
	if other.leader != n.name || other.leads {
		other.depose(n.term, n.name)
	}
	same := 0
	for same < len(n.disk) && same < len(other.disk) && n.disk[same].Hash() == other.disk[same].Hash() {
		same++
	}
	if fresh := n.disk[same:]; len(fresh) > 0 {
		fresh = slices.Clone(fresh[:1+n.w.chance.IntN(len(fresh))])
		if uint64(same) < other.committed {
			n.w.fail("entry %d is replaced at %s, and was committed", same+1, other.name)
			return
		}
		if err := other.m.Look(fresh); err != nil {
			n.w.refusals = append(n.w.refusals, fmt.Sprintf("%s refuses entry %d of %s: %v", other.name, fresh[0].Index, n.name, err))
			other.hear(authority.Refused{Member: other.name, Index: fresh[0].Index})
			n.hear(authority.Refused{Member: other.name, Index: fresh[0].Index})
			return
		}
		other.disk = append(other.disk[:same:same], fresh...)
		same += len(fresh)
		other.hear(authority.Stored{Records: fresh})
	}
	n.match[other.name] = uint64(same)
	n.commit()
	other.learn(min(n.committed, uint64(same)))
}

// commit counts what two have.
func (n *node) commit() {
	for index := uint64(len(n.disk)); index > n.committed && n.disk[index-1].Term == n.term; index-- {
		has := 0
		for _, upto := range n.match {
			if upto >= index {
				has++
			}
		}
		if has >= 2 {
			n.learn(index)
			return
		}
	}
}

func (n *node) learn(committed uint64) {
	if committed > n.committed {
		n.committed = committed
		n.hear(authority.Committed{Index: committed})
	}
}

// confirm answers a read, if a majority still knows of no newer leader than the one that is asked.
func (n *node) confirm(read uint64) {
	for _, l := range n.w.nodes {
		agree := 0
		for _, other := range n.w.nodes {
			if l.reaches(other) && other.term <= l.term {
				agree++
			}
		}
		if l.leads && n.reaches(l) && agree >= 2 && l.committed > 0 && l.disk[l.committed-1].Term == l.term {
			n.hear(authority.Confirmed{Read: read, Index: l.committed})
			return
		}
	}
}

// rebuild makes the copies anew from the disk.
func (n *node) rebuild() {
	if !n.up || !n.rebuilding {
		return
	}
	n.rebuilding, n.muted = false, false
	n.states = nil
	base, err := txlog.Restore(n.w.copyOf(n.disk[:n.committed]).Snapshot(), n.m.cfg.New)
	if err != nil {
		n.w.fail("%s cannot be made anew: %v", n.name, err)
		return
	}
	n.step(Rebuilt{Base: base, Tail: n.disk[n.committed:]})
}
