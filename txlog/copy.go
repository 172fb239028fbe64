package txlog

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strconv"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Copy is a log's content at one index: the state, and what is needed to go on from there. Leader, members and followers
// have the same one; Apply checks each entry against what is here, so nobody takes a wrong one over (B15, V7).
//
// A copy is used by one goroutine at a time.
type Copy struct {
	genesis Genesis
	make    func() State
	state   State
	at      Position
	last    Record // at the position; none at index 0
	members []Member
	changed uint64 // see ChangedAt
	changes bool   // see Changing
	results map[string]*Result
	order   []*Result // by index
	kept    queue     // of the results
	effects []Pending // by key
	waiting queue     // of the effects
	spoiled error

	readings []*underway // by when they began
	photo    *Photo      // one that is whole

	room []byte // for what is hashed
}

// Result is what came of a goal that is in the log.
type Result struct {
	GoalID string
	Index  uint64
	Goal   Hash // of its body
	Result []byte
	Fault  string

	sum Hash // of all that is above
}

// Pending is an effect that has not been said to be performed.
type Pending struct {
	Key Key
	Effect
}

// NewCopy returns the copy before the first entry of a log. One of a log with a parent is made by Child, or by Restore.
func NewCopy(g Genesis, makeState func() State) *Copy {
	return &Copy{
		genesis: g, make: makeState, state: makeState(), at: g.Start(), members: slices.Clone(g.Members), changed: g.Start().Index, results: map[string]*Result{},
	}
}

// Genesis returns how the log began.
func (c *Copy) Genesis() Genesis { return c.genesis }

// Position returns the place of the last entry that was applied.
func (c *Copy) Position() Position { return c.at }

// Members returns the members as of the last entry. It must not be changed.
func (c *Copy) Members() []Member { return c.members }

// ChangedAt returns the index of the entry that has made the members; of a copy that was restored, an index up to which they may have
// changed: the snapshot does not say when they did.
func (c *Copy) ChangedAt() uint64 { return c.changed }

// Changing reports whether the last change of members may go on, as far as the entries say; of a copy that was restored at an opening it
// does.
func (c *Copy) Changing() bool { return c.changes }

// Effects returns what is to be performed, in order. It must not be changed.
func (c *Copy) Effects() []Pending { return c.effects }

// View returns the state as it is now, for questions: see Ask. The error is ErrSpoiled.
func (c *Copy) View() (View, error) {
	if c.spoiled != nil {
		return nil, fault(ErrSpoiled, "%w", c.spoiled)
	}
	return c.state.View(), nil
}

// Query asks the state as it is now. The error is the asker's fault, or ErrSpoiled.
func (c *Copy) Query(query []byte) ([]byte, error) {
	view, err := c.View()
	if err != nil {
		return nil, err
	}
	return Ask(view, query)
}

// Execute runs a goal, and changes nothing. A goal whose effects would find no room among those that wait has failed.
func (c *Copy) Execute(goal []byte) Outcome {
	o := Run(c.state, goal)
	if len(c.effects)+len(o.Effects) > limits.MostPending {
		return Failed("the outbox is full: " + strconv.Itoa(len(c.effects)) + " effects wait to be performed, of " + strconv.Itoa(limits.MostPending) + " at most")
	}
	return o
}

// Lookup returns what came of a goal, if its result is kept.
func (c *Copy) Lookup(goalID string) (Result, bool) {
	found := c.results[goalID]
	if found == nil {
		return Result{}, false
	}
	return *found, true
}

// Admit says what to do with a goal: found, it was executed, and the result is what came of it; else it may be executed.
// Since is an index that was committed before the goal's id was first used. The error is ErrGoalID, ErrOld, or ErrMalformed
// if the copy has not come to that index.
func (c *Copy) Admit(goalID string, goal []byte, since uint64) (known Result, found bool, err error) {
	known, found = c.Lookup(goalID)
	switch {
	case found && known.Goal != hashOf("goal", goal):
		return Result{}, false, fault(ErrGoalID, "%q", goalID)
	case found:
		return known, true, nil
	case since > c.at.Index:
		return Result{}, false, fault(ErrMalformed, "it was made at index %d, and the log is at %d", since, c.at.Index)
	case c.at.Index-since >= c.genesis.Retention:
		return Result{}, false, fault(ErrOld, "it was made at index %d, the log is at %d, and results are kept for %d", since, c.at.Index, c.genesis.Retention)
	}
	return Result{}, false, nil
}

// Next makes the record that comes next of an entry's kind and content, and applies it. The other fields are the copy's
// to fill: log, index, prev and state. The error is one of Apply's, or ErrSize. After an error nothing has changed, unless it
// is ErrSpoiled.
func (c *Copy) Next(e Entry) (Record, error) {
	e.Log, e.Index, e.Prev, e.State = c.at.Log, c.at.Index+1, c.at.Hash, Hash{}
	e.clean()
	if err := c.follows(&e); err != nil {
		return Record{}, err
	}
	if err := e.Check(); err != nil {
		return Record{}, err
	}
	var came *Result
	if e.Kind == Executed {
		came = c.resultOf(&e)
	}
	if err := c.change(&e, came); err != nil {
		return Record{}, err
	}
	if err := c.scrubbed(&e); err != nil {
		return Record{}, err
	}
	if err := c.readOn(); err != nil {
		return Record{}, err
	}
	e.State = c.Hash()
	record, err := Seal(e)
	if err != nil {
		return Record{}, c.spoil(err)
	}
	record.result.Store(came)
	c.move(record)
	return record, nil
}

// Apply takes an entry over. The error is ErrChain, ErrDiff or ErrMalformed, after which nothing has changed, or ErrSpoiled,
// with ErrState if the entry says another state than the one that came of it, or a scrub has found that memory is wrong.
func (c *Copy) Apply(record Record) error {
	if record.sealed == nil {
		return fault(ErrMalformed, "an entry that is not sealed")
	}
	if err := c.follows(&record.Entry); err != nil {
		return err
	}
	if err := c.change(&record.Entry, c.came(record)); err != nil {
		return err
	}
	if now := c.Hash(); now != record.State {
		return c.spoil(fault(ErrState, "entry %d says %s, and it is %s", record.Index, record.State.Short(), now.Short()))
	}
	if err := c.scrubbed(&record.Entry); err != nil {
		return err
	}
	if err := c.readOn(); err != nil {
		return err
	}
	c.move(record)
	return nil
}

// follows checks that an entry comes next.
func (c *Copy) follows(e *Entry) error {
	switch {
	case c.spoiled != nil:
		return fault(ErrSpoiled, "%w", c.spoiled)
	case e.Log != c.at.Log:
		return fault(ErrChain, "it is of log %s, and this is %s", e.Log.Short(), c.at.Log.Short())
	case e.Index != c.at.Index+1: // after the last one comes 0, which Check refuses
		return fault(ErrChain, "it is entry %d, and %d comes next", e.Index, c.at.Index+1)
	case e.Prev != c.at.Hash:
		return fault(ErrChain, "entry %d follows %s, and before it is %s", e.Index, e.Prev.Short(), c.at.Hash.Short())
	case e.Term < c.at.Term:
		return fault(ErrChain, "entry %d is of term %d, and term %d has begun", e.Index, e.Term, c.at.Term)
	}
	return nil
}

// change makes an entry's changes, all or none. What came of its goal is kept.
func (c *Copy) change(e *Entry, came *Result) error {
	switch e.Kind {
	case Executed:
		if c.results[e.GoalID] != nil {
			return fault(ErrChain, "goal %q is executed a second time", e.GoalID)
		}
		if len(c.effects)+len(e.Effects) > limits.MostPending {
			return fault(ErrChain, "entry %d has effects, and %d wait to be performed", e.Index, len(c.effects))
		}
		if err := c.state.Apply(e.Diff); err != nil {
			return err
		}
		c.remember(came)
		for i, f := range e.Effects {
			f.Body = bytes.Clone(f.Body)
			c.wait(Pending{Key: Key{Index: e.Index, N: uint64(i)}, Effect: f})
		}
	case Changed:
		c.members, c.changed = slices.Clone(e.Members), e.Index
	case Performed:
		last := slices.IndexFunc(c.effects, func(p Pending) bool { return p.Key == e.Upto })
		if last < 0 {
			return fault(ErrChain, "entry %d says that effect %d of entry %d was performed, and it does not wait", e.Index, e.Upto.N, e.Upto.Index)
		}
		for _, p := range c.effects[:last+1] {
			c.waiting.drop(p.sum())
		}
		c.effects = slices.Clone(c.effects[last+1:])
	case Opening, Scrubbed:
	}
	c.changes = e.Kind.Changing(c.changes)
	c.forget(e.Index)
	return nil
}

// move says where the copy is now.
func (c *Copy) move(record Record) { c.at, c.last = record.Position(), record }

// remember keeps a result.
func (c *Copy) remember(of *Result) {
	c.results[of.GoalID] = of
	c.order = append(c.order, of)
	c.kept.add(of.sum)
}

// resultOf returns what came of the goal of an entry. It does not keep the whole record in memory, whose parts these are.
func (c *Copy) resultOf(e *Entry) *Result {
	of := &Result{GoalID: e.GoalID, Index: e.Index, Goal: hashOf("goal", e.Goal), Result: bytes.Clone(e.Result), Fault: e.Fault}
	of.sum = c.sumOf(of)
	return of
}

// came returns what came of the goal of a record, nil if it has none. Two copies of one node share it.
func (c *Copy) came(r Record) *Result {
	if r.Kind != Executed {
		return nil
	}
	if r.result.Load() == nil {
		r.result.CompareAndSwap(nil, c.resultOf(&r.Entry))
	}
	return r.result.Load()
}

func (c *Copy) sumOf(of *Result) Hash {
	e := encoder{b: c.room[:0]}
	e.result(of)
	c.room = e.b
	return sha256.Sum256(e.b)
}

// wait keeps an effect until it is performed.
func (c *Copy) wait(p Pending) {
	c.effects = append(c.effects, p)
	c.waiting.add(p.sum())
}

// forget drops the results that are no longer kept at an index.
func (c *Copy) forget(index uint64) {
	for len(c.order) > 0 && c.order[0].Index+c.genesis.Retention <= index {
		c.kept.drop(c.order[0].sum)
		delete(c.results, c.order[0].GoalID)
		c.order[0] = nil
		c.order = c.order[1:]
	}
}

func (p *Pending) sum() Hash {
	var e encoder
	e.pending(p)
	return sha256.Sum256(e.b)
}

// Hash returns the hash of everything that a copy is: the state, the results, the members, and the effects to perform.
func (c *Copy) Hash() Hash {
	e := encoder{b: c.room[:0]}
	e.hash(c.state.Hash())
	e.queue(c.kept)
	e.queue(c.waiting)
	e.members(c.members)
	c.room = e.b
	return hashOf("copy", e.b)
}
