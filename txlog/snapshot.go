package txlog

import (
	"maps"
	"slices"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Snapshot returns the copy as bytes, from which a node begins that has not read the entries before. Its last record is in
// it, which says the hash of all that it restores to.
func (c *Copy) Snapshot() []byte { return withState(c.head(), c.state.Snapshot()) }

// head returns what comes before the state.
func (c *Copy) head() []byte {
	e := encoder{b: []byte{version}}
	e.bytes(c.genesis.Encode())
	e.bytes(c.last.Raw())
	e.members(c.members)
	e.hash(c.waiting.gone)
	e.number(uint64(len(c.effects)))
	for i := range c.effects {
		e.pending(&c.effects[i])
	}
	e.hash(c.kept.gone)
	e.number(uint64(len(c.order)))
	for _, of := range c.order {
		e.result(of)
	}
	return e.b
}

func withState(head, state []byte) []byte {
	e := encoder{b: append(make([]byte, 0, len(head)+len(state)+10), head...)}
	e.bytes(state)
	return e.b
}

// Child returns the copy with which a log begins that goes on where this one has come to, because the majority of its
// members was lost. The genesis says who decides now; its parent and its state are set here. Indices go on, terms begin
// anew. The error is that of Genesis.Check, or ErrSpoiled.
func (c *Copy) Child(g Genesis) (*Copy, error) {
	if err := c.Scrub(); err != nil {
		return nil, err
	}
	child := NewCopy(g, c.make)
	child.state, child.results, child.order, child.kept = c.make(), maps.Clone(c.results), slices.Clone(c.order), c.kept
	child.effects, child.waiting = slices.Clone(c.effects), c.waiting
	if err := child.state.Restore(c.state.Snapshot()); err != nil {
		return nil, err
	}
	g.Parent, g.State = c.at, child.Hash()
	if err := g.Check(); err != nil {
		return nil, err
	}
	child.genesis, child.at = g, g.Start()
	return child, nil
}

// Restore returns the copy that a snapshot is of. It has the hash that its last record says; before the first entry the one
// that the genesis says, if the log has a parent. Whether that record is in the log, a head says: the caller has to know.
// The error is ErrMalformed, ErrSize, ErrVersion or ErrState.
func Restore(snapshot []byte, makeState func() State) (*Copy, error) {
	if len(snapshot) > limits.MostSnapshot {
		return nil, fault(ErrSize, "a snapshot of %d bytes, of %d at most", len(snapshot), limits.MostSnapshot)
	}
	d := decoder{b: snapshot}
	d.version()
	genesis, last := d.bytes(limits.MostRecord, "a genesis"), d.bytes(limits.MostRecord, "an entry")
	if d.err != nil {
		return nil, d.err
	}
	g, err := DecodeGenesis(genesis)
	if err != nil {
		return nil, err
	}
	c := NewCopy(g, makeState)
	if len(last) > 0 {
		record, err := Open(last)
		if err != nil {
			return nil, err
		}
		if record.Log != c.at.Log || record.Index <= c.at.Index {
			return nil, fault(ErrMalformed, "its entry is %d of log %s, and its genesis is of %s", record.Index, record.Log.Short(), c.at.Log.Short())
		}
		c.move(record)
		c.changes = record.Kind.Changing(true)
	}
	if err := c.restore(&d); err != nil {
		return nil, err
	}
	if err := c.matches(); err != nil {
		return nil, err
	}
	return c, nil
}

// restore reads what comes after genesis and record.
func (c *Copy) restore(d *decoder) error {
	c.members, c.changed = d.members(), c.at.Index
	c.waiting = newQueue(d.hash())
	for range d.count(limits.MostPending, "effects") {
		if p := d.pending(); d.err == nil {
			c.wait(p)
		}
	}
	c.kept = newQueue(d.hash())
	for range d.count(limits.MostRetention, "results") {
		if of := d.result(); d.err == nil {
			of.sum = c.sumOf(&of)
			c.remember(&of)
		}
	}
	state := d.bytes(MostState, "a state")
	if err := d.end(); err != nil {
		return err
	}
	for i := 1; i < len(c.order); i++ {
		if c.order[i-1].Index >= c.order[i].Index {
			return fault(ErrMalformed, "its results are not in order")
		}
	}
	for i := 1; i < len(c.effects); i++ {
		if !c.effects[i-1].Key.Before(c.effects[i].Key) {
			return fault(ErrMalformed, "its effects are not in order")
		}
	}
	if len(c.results) != len(c.order) {
		return fault(ErrMalformed, "one goal has two results")
	}
	return c.state.Restore(state)
}

// matches checks that what was restored is what its last record says.
func (c *Copy) matches() error {
	want := c.genesis.State
	switch last, is := c.Last(); {
	case is:
		want = last.State
	case want.IsZero():
		want = NewCopy(c.genesis, c.make).Hash()
	}
	if now := c.Hash(); now != want {
		return fault(ErrState, "the snapshot at %d restores to %s, and the log says %s", c.at.Index, now.Short(), want.Short())
	}
	return nil
}

// Last returns the record at the copy's position. It is false before the log's first entry.
func (c *Copy) Last() (Record, bool) { return c.last, c.last.sealed != nil }

func (e *encoder) pending(p *Pending) {
	e.key(p.Key)
	e.effect(p.Effect)
}

func (d *decoder) pending() Pending { return Pending{Key: d.key(), Effect: d.effect()} }

func (e *encoder) result(of *Result) {
	e.text(of.GoalID)
	e.number(of.Index)
	e.hash(of.Goal)
	e.bytes(of.Result)
	e.text(of.Fault)
}

func (d *decoder) result() Result {
	return Result{
		GoalID: d.text(limits.MostGoalID, "a goal's id"), Index: d.number(), Goal: d.hash(),
		Result: d.bytes(limits.MostResult, "a result"), Fault: d.text(limits.MostFault, "a fault"),
	}
}
