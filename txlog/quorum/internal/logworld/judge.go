package logworld

import (
	"bytes"
	"errors"
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/quorum/internal/majority"
)

// The invariants.
const (
	OneRecord     = "one-record"      // at each index all nodes have the same entry, in all their lives
	AckedKept     = "acked-kept"      // what was acknowledged stays in the log while a majority of the members' disks lives
	Once          = "once"            // a goal is in the log once at most
	RightResult   = "right-result"    // what is in the log is what comes of its goals, by a memory that nothing has spoiled
	NeverAhead    = "never-ahead"     // no follower has what no member knows to be committed
	OneDoor       = "one-door"        // act doors never overlap
	Linearizable  = "linearizable"    // an answer has the effects of all that was acknowledged before it was asked for
	AllAnswered   = "all-answered"    // after the faults every goal is answered
	AllEqual      = "all-equal"       // after the faults all copies are equal
	NeverFailed   = "never-failed"    // what somebody was told to have failed is not in the log later
	Performed     = "performed"       // what a goal wants done outside is done, through an open act door
	SaysWhatToDo  = "says-what-to-do" // a log that cannot go on says which command begins a new lineage, and acknowledges nothing
	OldStoreVotes = "store-once"      // a store that has lost something never votes again
	LiesDenied    = "lies-denied"     // after the faults nobody takes a head for true of which nobody has the entry
	HonestTrusted = "honest-trusted"  // of no member that keeps the rules anybody says that it lies
	InOrder       = "in-order"        // what a member stores follows what it has stored before it
)

// judge knows the log as it is.
type judge struct {
	log       []txlog.Record // the entry at each index, as the first node has known it
	by        []*node
	pure      *txlog.Copy // by a memory that nothing spoils
	goals     map[string]uint64
	values    map[string][]value // of each key: what it was from an index on
	acked     uint64             // the highest index that was acknowledged
	ackedAt   map[uint64]bool
	told      []refusal
	performed map[txlog.Key]int
	wanted    map[txlog.Key]time.Duration
	spoiled   bool // the log is wrong already: what follows from that says nothing new
	doors     []*door
	stopped   uint64 // what was committed when a majority of the members' disks was lost
}

// value is what a key has from an index on.
type value struct {
	from   uint64
	answer []byte
}

func newJudge(g txlog.Genesis, newState func() txlog.State) judge {
	return judge{
		pure: txlog.NewCopy(g, newState), goals: map[string]uint64{}, values: map[string][]value{}, ackedAt: map[uint64]bool{},
		performed: map[txlog.Key]int{}, wanted: map[txlog.Key]time.Duration{},
	}
}

// top is the highest index that somebody knew to be committed.
func (j *judge) top() uint64 { return uint64(len(j.log)) }

// committed judges an entry that a member has learned to be committed.
func (r *run) committed(n *node, record txlog.Record) {
	if record.Index <= r.top() {
		r.same(n, record.Position())
		return
	}
	if !r.Check(record.Index == r.top()+1, OneRecord, "%s applies entry %d, and the log had %d entries", n.name, record.Index, r.top()) {
		return
	}
	r.log, r.by = append(r.log, record), append(r.by, n)
	r.w.Note(n.name, "commits", int64(record.Index))
	r.Stats["entries"]++
	if record.Kind == txlog.Changed {
		r.wantedMembers = nil // what was asked for before it is done, or refused
	}
	if record.Kind == txlog.Executed {
		before, again := r.goals[record.GoalID]
		r.Check(!again, Once, "goal %s is executed at %d and at %d", record.GoalID, before, record.Index)
		r.goals[record.GoalID] = record.Index
		r.executed(n, record)
		for i := range record.Effects {
			r.wanted[txlog.Key{Index: record.Index, N: uint64(i)}] = r.w.Now()
		}
	}
	if !r.spoiled {
		err := r.pure.Apply(record)
		if !r.Check(err == nil, RightResult, "entry %d of %s does not fit a right memory: %v", record.Index, record.Leader, err) {
			r.spoiled = true
			return
		}
		r.note(record)
	}
}

// commits judges the entries that a member's disk has as committed now.
func (r *run) commits(n *node, records []txlog.Record) {
	for _, record := range records {
		r.committed(n, record)
	}
}

// executed compares what came of a goal with what comes of it in a right memory.
func (r *run) executed(n *node, record txlog.Record) {
	if r.spoiled {
		return
	}
	o := r.pure.Execute(record.Goal)
	if leader := r.byName[record.Leader]; leader.flipped || leader.wasFlipped {
		// What a leader with a wrong memory has only read shows in no state: only a change is refused (see below).
		r.Stats["wrong_memory_entries"]++
		return
	}
	same := bytes.Equal(o.Result, record.Result) && o.Fault == record.Fault && bytes.Equal(o.Diff, record.Diff) && len(o.Effects) == len(record.Effects)
	if !r.Check(same, RightResult, "%s commits %s as %q, and it is %q", n.name, record.GoalID, record.Result, o.Result) {
		r.spoiled = true
	}
}

// note keeps what the keys are that goals work on.
func (r *run) note(record txlog.Record) {
	if record.Kind != txlog.Executed || record.Fault != "" {
		return
	}
	for _, key := range keys {
		now, err := r.pure.Query(r.machine.Get(key))
		if err != nil {
			continue
		}
		known := r.values[key]
		if len(known) == 0 || !bytes.Equal(known[len(known)-1].answer, now) {
			r.values[key] = append(known, value{from: record.Index, answer: now})
		}
	}
}

// valueAt returns what a query for a key answers at an index.
func (r *run) valueAt(key string, index uint64) []byte {
	var at []byte
	for _, v := range r.values[key] {
		if v.from <= index {
			at = v.answer
		}
	}
	return at
}

// same judges what a node has at an index at which an entry was known.
func (r *run) same(n *node, at txlog.Position) {
	known := r.log[at.Index-1]
	if known.Hash() == at.Hash {
		return
	}
	r.Check(false, OneRecord, "at %d %s has an entry of term %d, and %s has %s of term %d",
		at.Index, n.name, at.Term, r.by[at.Index-1].name, describe(known), known.Term)
	_, told := r.ackedAt[at.Index]
	r.Check(!told, AckedKept, "entry %d, %s, was acknowledged, and %s has another one there", at.Index, describe(known), n.name)
	r.spoiled = true
}

// refused notes that a member has told somebody, by an error that does not say "ask again", that it does not execute a goal.
func (r *run) refused(n *node, goal string, err error) {
	for _, known := range askAgain {
		if err == nil || errors.Is(err, known) {
			return
		}
	}
	r.told = append(r.told, refusal{n: n, goal: goal, why: err})
}

// askAgain are the errors after which a goal may be in the log, or is another one.
var askAgain = []error{
	txlog.ErrNotLeader, txlog.ErrTooMany, txlog.ErrUnknown, txlog.ErrOld, txlog.ErrGoalID, txlog.ErrMalformed, txlog.ErrSize,
}

// refusal is a member's word that it does not execute a goal.
type refusal struct {
	n    *node
	goal string
	why  error
}

// followed judges an entry that a copy takes over.
func (r *run) followed(n *node, record txlog.Record) {
	if r.Check(record.Index <= r.top(), NeverAhead, "%s has entry %d, %s, and nobody knows it to be committed", n.name, record.Index, describe(record)) {
		if r.broken(committedOnly) && r.log[record.Index-1].Hash() != record.Hash() {
			r.Check(false, NeverAhead, "%s has %s at %d, which was never committed", n.name, describe(record), record.Index)
			return
		}
		r.same(n, record.Position())
	}
}

func describe(record txlog.Record) string {
	if record.Kind == txlog.Executed {
		return record.GoalID
	}
	return record.Kind.String()
}

// inOrder judges entries that a member has stored: the records of entries that follow each other do so too. Those from before
// the process began are not known.
func (n *node) inOrder(p *majority.Persist) {
	if p.Reset != nil {
		n.after = map[uint64]txlog.Position{p.Reset.Index: p.Reset.At}
	}
	for _, e := range p.Entries {
		record, has, err := e.Record()
		before, known := n.after[e.Index-1]
		n.r.Check(err == nil, InOrder, "%s, in term %d, stores an entry at %d that is no record: %v", n.name, e.Term, e.Index, err)
		if has && known {
			n.r.Check(record.Index == before.Index+1 && record.Prev == before.Hash, InOrder,
				"%s, in term %d, stores entry %d of term %d, %s, after entry %d of term %d", n.name, e.Term, record.Index, record.Term, describe(record), before.Index, before.Term)
		}
		if delete(n.after, e.Index); has {
			n.after[e.Index] = record.Position()
		} else if known {
			n.after[e.Index] = before
		}
	}
}
