package txlog

import (
	"cmp"
	"slices"
)

// Snapshot returns the copy as bytes, from which a node begins that has not read the entries before. Its last record is in it, which
// says the hash of all that it restores to.
func (c *Copy) Snapshot() []byte {
	e := encoder{b: []byte{version}}
	e.bytes(c.genesis.Encode())
	e.bytes(c.last.raw)
	e.members(c.members)
	e.key(c.upto)
	e.number(uint64(len(c.effects)))
	for _, p := range c.effects {
		e.key(p.Key)
		e.effects([]Effect{p.Effect})
	}
	e.number(uint64(len(c.order)))
	for _, of := range c.order {
		e.result(of)
	}
	e.bytes(c.state.Snapshot())
	return e.b
}

// Restore returns the copy that a snapshot is of. It has the hash that its last record says; at index 0 the one that the
// genesis says, if the log has a parent. Whether that record is in the log, a head says: the caller has to know.
// The error is ErrMalformed, ErrSize, ErrVersion or ErrState.
func Restore(snapshot []byte, makeState func() State) (*Copy, error) {
	if len(snapshot) > MostSnapshot {
		return nil, fault(ErrSize, "a snapshot of %d bytes, of %d at most", len(snapshot), MostSnapshot)
	}
	d := decoder{b: snapshot}
	d.version()
	genesis, last := d.bytes(MostRecord, "a genesis"), d.bytes(MostRecord, "an entry")
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
		if record.Log != c.at.Log {
			return nil, fault(ErrMalformed, "its entry is of log %s, and its genesis of %s", record.Log.Short(), c.at.Log.Short())
		}
		c.move(record)
	}
	if err := c.restore(&d); err != nil {
		return nil, err
	}
	return c, c.matches()
}

// restore reads what comes after genesis and record.
func (c *Copy) restore(d *decoder) error {
	c.members, c.upto = d.members(), d.key()
	for range d.count(len(d.b), "effects") {
		key := d.key()
		for _, f := range d.effects() {
			c.effects = append(c.effects, Pending{Key: key, Effect: f})
		}
	}
	for range d.count(MostRetention, "results") {
		if of := d.result(); d.err == nil {
			c.remember(&of)
		}
	}
	state := d.bytes(MostSnapshot, "a state")
	if err := d.end(); err != nil {
		return err
	}
	ordered := slices.IsSortedFunc(c.order, func(a, b *Result) int { return cmp.Compare(a.Index, b.Index) })
	if !ordered || len(c.results) != len(c.order) {
		return fault(ErrMalformed, "its results are not in order")
	}
	return c.state.Restore(state)
}

// matches checks that what was restored is what its last record says.
func (c *Copy) matches() error {
	want := c.last.State
	if c.at.Index == 0 {
		if want = c.genesis.State; want.IsZero() {
			want = NewCopy(c.genesis, c.make).Hash()
		}
	}
	if now := c.Hash(); now != want {
		return fault(ErrState, "the snapshot at %d restores to %s, and the log says %s", c.at.Index, now.Short(), want.Short())
	}
	return nil
}

// Last returns the record at the copy's position. It is false at index 0.
func (c *Copy) Last() (Record, bool) { return c.last, c.at.Index > 0 && c.last.raw != nil }

func (e *encoder) result(of *Result) {
	e.text(of.GoalID)
	e.number(of.Index)
	e.hash(of.Goal)
	e.bytes(of.Result)
	e.text(of.Fault)
}

func (d *decoder) result() Result {
	return Result{
		GoalID: d.text(MostGoalID, "a goal's id"), Index: d.number(), Goal: d.hash(),
		Result: d.bytes(MostResult, "a result"), Fault: d.text(MostFault, "a fault"),
	}
}
