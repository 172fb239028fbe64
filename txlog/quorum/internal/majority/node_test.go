package majority

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// refuses reports whether it has left a message out for a reason, in any of its lives.
func (n *node) refuses(why error) bool {
	return slices.ContainsFunc(n.refused, func(r Refusal) bool { return errors.Is(r.Why, why) })
}

// step steps the machine and does what it asks for, in its order. A crash may come at each point.
func (n *node) step(in Input) {
	w := n.world
	if n.m == nil {
		return
	}
	out := n.m.Step(n.clock(), in)
	if out.Failed != nil {
		w.failed++
		w.t.Fatalf("%s: %v, at %T", n.name, out.Failed, in)
	}
	if out.Persist.Reset != nil && !out.Persist.Sync {
		w.t.Fatalf("%s goes on from a snapshot, says so, and a power cut takes it back", n.name)
	}
	n.endsChanges(out.Persist.Entries)
	dies := -1
	if w.crashes > 0 && w.rand.Float64() < w.crashes {
		dies = w.rand.IntN(4)
	}
	if dies == 0 {
		n.dies()
		return
	}
	n.disk.Write(out.Persist)
	if dies == 1 {
		n.dies()
		return
	}
	if out.Persist.Sync {
		n.disk.Sync()
	}
	if dies == 2 {
		n.dies()
		return
	}
	for _, m := range out.Messages {
		w.send(n.name, m)
	}
	n.refused = append(n.refused, out.Refused...)
	if dies == 3 {
		n.dies()
		return
	}
	if out.Door != nil {
		if out.Door.Term != n.door.Term {
			n.first = n.clock()
		}
		if w.early {
			out.Door.Opens = n.first
		}
		if out.Door.Term != n.door.Term || out.Door.Opens != n.door.Opens {
			n.shut()
		}
		n.door = *out.Door
	}
	for _, f := range out.Facts {
		n.hears(f)
	}
	if out.Behind != nil {
		n.fetch(*out.Behind)
	}
}

// endsChanges checks that only openings are stored while a change of members goes on: what else has come after a change says that it has
// ended (txlog.Kind.Changing), and a store that leaves counts on it.
func (n *node) endsChanges(stored []Entry) {
	for _, e := range stored {
		s := n.m.log.slot(e.Index)
		if s != nil && s.conf != nil && len(s.conf.leaving) > 0 && s.news(0) && !s.record.Kind.Changing(true) {
			n.world.t.Fatalf("%s has stored record %d, of kind %s, while a change of members goes on", n.name, s.record.Index, s.record.Kind)
		}
	}
}

// dies crashes, and starts again some time later.
func (n *node) dies() {
	n.crash()
	n.world.after(time.Duration(n.world.rand.Int64N(int64(30*round))), func() {
		if n.m == nil {
			n.start()
		}
	})
}

func (w *world) send(from string, m Message) {
	w.messages++
	copies := 1
	if w.rand.Float64() < w.twice {
		copies = 2
	}
	for range copies {
		if w.rand.Float64() < w.loss || w.cut(from, m.To) {
			continue
		}
		w.after(time.Millisecond+time.Duration(w.rand.Int64N(int64(w.slow))), func() {
			if w.cut(from, m.To) {
				return
			}
			for _, to := range w.nodes { // two stores of one name are both told: one of them refuses
				if to.name == m.To && to.m != nil {
					if to.paused {
						continue
					}
					to.step(Received{From: from, Bytes: m.Bytes})
				}
			}
		})
	}
}

// fetch gets records as a follower does, from anybody who has them.
func (n *node) fetch(at txlog.Position) {
	w := n.world
	life := n.life
	w.after(w.far+time.Duration(w.rand.Int64N(int64(5*round))), func() {
		if n.life != life || n.m == nil {
			return
		}
		have := uint64(len(n.disk.Kept().Records))
		for _, from := range w.nodes {
			kept := from.disk.Kept().Records
			if uint64(len(kept)) < at.Index || w.cut(from.name, n.name) {
				continue
			}
			if at.Index > have {
				n.disk.Keep(kept[have:at.Index])
				n.disk.Sync()
				n.toy.log, n.toy.committed = slices.Clone(n.disk.Kept().Records), at.Index
			}
			if at.Index > 0 {
				n.step(Reached{At: n.disk.Kept().Records[at.Index-1].Position()})
			} else {
				n.step(Reached{At: w.genesis.Start()})
			}
			return
		}
	})
}

// looks is how the toy looks before storing: what comes must follow what it has.
func (n *node) looks(records []txlog.Record) error {
	first := records[0].Index
	if first > uint64(len(n.toy.log))+1 || first <= n.toy.committed {
		n.world.t.Fatalf("%s looks at record %d, and has %d with %d committed", n.name, first, len(n.toy.log), n.toy.committed)
	}
	before := n.world.genesis.Start().Hash
	if first > 1 {
		before = n.toy.log[first-2].Hash()
	}
	for _, r := range records {
		if r.Prev != before {
			return txlog.ErrChain
		}
		before = r.Hash()
	}
	if n.toy.look != nil {
		return n.toy.look(records)
	}
	return nil
}

func (n *node) hears(f authority.Fact) {
	w := n.world
	w.facts[fmt.Sprintf("%T", f)]++
	if w.traced {
		w.trace = append(w.trace, fmt.Sprintf("%v %s %T %v", w.now, n.name, f, brief(f)))
	}
	if n.told != nil {
		n.told(f)
		n.toy.mute = true
	}
	switch f := f.(type) {
	case authority.Leads:
		n.grows(f.Term)
		if other, is := w.leaders[f.Term]; is {
			w.t.Fatalf("%s and %s lead in term %d", other, n.name, f.Term)
		}
		w.leaders[f.Term], n.leader = n.name, n.name
		if len(n.toy.log) < len(w.committed) {
			w.t.Fatalf("%s leads with %d records, and %d are committed", n.name, len(n.toy.log), len(w.committed))
		}
		for i, r := range w.committed {
			if n.toy.log[i].Hash() != r.Hash() {
				w.t.Fatalf("%s leads with another record %d than the committed one", n.name, i+1)
			}
		}
		n.toy.leads, n.toy.executed = f.Term, nil
		n.toy.opening = uint64(len(n.toy.log)) + 1
		n.execute(txlog.Entry{Kind: txlog.Opening})
	case authority.Deposed:
		n.grows(f.Term)
		n.toy.leads, n.toy.executed, n.leader = 0, nil, f.Leader
	case authority.Stored:
		n.stored(f)
	case authority.Dropped:
		if f.From > uint64(len(n.toy.log)) || f.From <= n.toy.committed {
			w.t.Fatalf("%s is told to drop from %d on; it has %d, %d committed", n.name, f.From, len(n.toy.log), n.toy.committed)
		}
		n.toy.log = n.toy.log[: f.From-1 : f.From-1]
	case authority.Committed:
		n.commits(f.Index)
	case authority.Confirmed:
		w.reads = append(w.reads, f)
	case authority.Refused:
		w.refusals = append(w.refusals, f)
	}
}

func (n *node) grows(term uint64) {
	if term < n.term {
		n.world.t.Fatalf("%s goes back from term %d to %d", n.name, n.term, term)
	}
	n.term = term
}

func (n *node) stored(f authority.Stored) {
	first := f.Records[0].Index
	if first > uint64(len(n.toy.log))+1 || first <= n.toy.committed {
		n.world.t.Fatalf("%s is told of record %d; it has %d, %d committed", n.name, first, len(n.toy.log), n.toy.committed)
	}
	n.toy.log = append(n.toy.log[:first-1], f.Records...)
	for _, r := range f.Records {
		if len(n.toy.executed) > 0 && n.toy.executed[0].Hash() == r.Hash() {
			n.toy.executed = n.toy.executed[1:]
		}
	}
}

func (n *node) commits(index uint64) {
	w := n.world
	if index > uint64(len(n.toy.log)) {
		w.t.Fatalf("%s is told that %d is committed, and has %d", n.name, index, len(n.toy.log))
	}
	for i := n.toy.committed; i < index; i++ {
		r := n.toy.log[i]
		switch {
		case i == uint64(len(w.committed)):
			w.committed = append(w.committed, r)
		case w.committed[i].Hash() != r.Hash():
			w.t.Fatalf("%s has another record %d than %s", n.name, i+1, w.committed[i].Leader)
		}
	}
	n.toy.committed = max(n.toy.committed, index)
}

// works executes goals, once the own term has opened.
func (n *node) works() {
	if n.toy.leads == 0 || n.toy.committed < n.toy.opening {
		return
	}
	for range n.world.most - len(n.toy.executed) {
		n.toy.goals++
		n.execute(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprintf("%s-%d-%d", n.name, n.toy.leads, n.toy.goals), Goal: []byte("x"), Diff: []byte("y")})
		if n.world.rand.IntN(3) == 0 {
			return
		}
	}
}

// execute makes a record and appends it.
func (n *node) execute(e txlog.Entry) {
	if n.toy.mute {
		return
	}
	e.Log, e.Term, e.Leader, e.Prev = n.world.genesis.ID(), n.toy.leads, n.name, n.world.genesis.Start().Hash
	e.Index = uint64(len(n.toy.log)) + 1
	if len(n.toy.log) > 0 {
		e.Prev = n.toy.log[len(n.toy.log)-1].Hash()
	}
	if k := len(n.toy.executed); k > 0 {
		e.Index, e.Prev = n.toy.executed[k-1].Index+1, n.toy.executed[k-1].Hash()
	}
	r, err := txlog.Seal(e)
	if err != nil {
		n.world.t.Fatal(err)
	}
	n.toy.executed = append(n.toy.executed, r)
	life := n.life
	n.world.after(0, func() {
		if n.life == life {
			n.step(Append{Record: r})
		}
	})
}

// changes proposes other members.
func (n *node) changes(members ...txlog.Member) {
	n.execute(txlog.Entry{Kind: txlog.Changed, Members: members})
}

func brief(f authority.Fact) string {
	if s, is := f.(authority.Stored); is {
		return fmt.Sprint(len(s.Records), " from ", s.Records[0].Index, " ", s.Records[0].Hash().Short())
	}
	return fmt.Sprintf("%+v", f)
}

// overlap returns two doors of different nodes that were open at one time.
func (w *world) overlap() (a, b opened, is bool) {
	all := slices.Clone(w.doors)
	for _, n := range w.nodes {
		if d := n.opened(); d.opens < d.ends {
			all = append(all, d)
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.who != b.who && a.opens < b.ends && b.opens < a.ends {
				return a, b, true
			}
		}
	}
	return a, b, false
}
