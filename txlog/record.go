package txlog

import (
	"sync/atomic"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Record is an entry as it is stored and sent: with its bytes, which never change, and their hash. It is immutable, and cheap
// to copy; nothing in its Entry may be changed. The zero value has no bytes, and must not be asked for its Entry.
type Record struct{ *sealed }

type sealed struct {
	Entry

	raw  []byte
	hash Hash

	result atomic.Pointer[Result] // of its goal, once a copy has asked
}

func seal(e Entry, raw []byte) Record {
	return Record{&sealed{Entry: e, raw: raw, hash: HashRecord(raw)}}
}

// HashRecord returns the hash that a record of these bytes has, also one of a newer conch, which Own does not read.
func HashRecord(raw []byte) Hash { return hashOf("entry", raw) }

// Seal makes the record of an entry. The error is ErrMalformed, ErrSize or ErrVersion: Open would refuse it too.
func Seal(e Entry) (Record, error) {
	e.clean()
	if err := e.Check(); err != nil {
		return Record{}, err
	}
	raw := encode(&e)
	if len(raw) > limits.MostRecord {
		return Record{}, fault(ErrSize, "an entry of %d bytes, of %d at most", len(raw), limits.MostRecord)
	}
	return seal(e, raw), nil
}

// Open reads the bytes of a record, which it copies. It takes whatever the network or a disk brings. The error is
// ErrMalformed, ErrSize or ErrVersion.
func Open(raw []byte) (Record, error) {
	if len(raw) > limits.MostRecord {
		return Record{}, fault(ErrSize, "an entry of %d bytes, of %d at most", len(raw), limits.MostRecord)
	}
	return Own(append([]byte(nil), raw...))
}

// Own reads the bytes of a record as Open does, and keeps them: nobody may change them any more. A record's fields are
// parts of its bytes.
func Own(raw []byte) (Record, error) {
	if len(raw) > limits.MostRecord {
		return Record{}, fault(ErrSize, "an entry of %d bytes, of %d at most", len(raw), limits.MostRecord)
	}
	e, err := decode(raw)
	if err == nil {
		err = e.Check()
	}
	if err != nil {
		return Record{}, err
	}
	return seal(e, raw), nil
}

// Raw returns the record's bytes, which must not be changed.
func (r Record) Raw() []byte {
	if r.sealed == nil {
		return nil
	}
	return r.raw
}

// Hash returns the hash of the record's bytes.
func (r Record) Hash() Hash {
	if r.sealed == nil {
		return Hash{}
	}
	return r.hash
}

// Position returns the record's place, which is zero if it has no bytes.
func (r Record) Position() Position {
	if r.sealed == nil {
		return Position{}
	}
	return Position{Log: r.Log, Index: r.Index, Term: r.Term, Hash: r.hash}
}

func encode(e *Entry) []byte {
	// What a goal's entry has, and a little more for the lengths: it is written once, and not grown in steps.
	size := 192 + len(e.Leader) + len(e.GoalID) + len(e.Goal) + len(e.Result) + len(e.Fault) + len(e.Diff)
	w := encoder{b: append(make([]byte, 0, size), version, byte(e.Kind))}
	w.hash(e.Log)
	w.number(e.Index)
	w.number(e.Term)
	w.hash(e.Prev)
	w.text(e.Leader)
	w.number(uint64(e.At))
	w.hash(e.State)
	switch e.Kind {
	case Executed:
		w.text(e.GoalID)
		w.bytes(e.Goal)
		w.bytes(e.Result)
		w.text(e.Fault)
		w.bytes(e.Diff)
		w.effects(e.Effects)
	case Changed:
		w.members(e.Members)
	case Performed:
		w.key(e.Upto)
	case Opening, Scrubbed:
	}
	return w.b
}

func decode(raw []byte) (Entry, error) {
	d := decoder{b: raw, shares: true}
	d.version()
	var e Entry
	if kind := d.take(1); d.err == nil {
		e.Kind = Kind(kind[0])
	}
	e.Log, e.Index, e.Term, e.Prev = d.hash(), d.number(), d.number(), d.hash()
	e.Leader = d.text(limits.MostName, "a leader's name")
	e.At = int64(d.number())
	e.State = d.hash()
	switch e.Kind {
	case Executed:
		e.GoalID, e.Goal = d.text(limits.MostGoalID, "a goal's id"), d.bytes(MostGoal, "a goal")
		e.Result, e.Fault = d.bytes(limits.MostResult, "a result"), d.text(limits.MostFault, "a fault")
		e.Diff, e.Effects = d.bytes(limits.MostDiff, "a diff"), d.effects()
	case Changed:
		e.Members = d.members()
	case Performed:
		e.Upto = d.key()
	case Opening, Scrubbed:
	default:
		d.fail(ErrVersion, "an entry of kind %d", e.Kind)
	}
	return e, d.end()
}

func (e *encoder) effect(f Effect) {
	e.text(f.Kind)
	e.bytes(f.Body)
}

func (d *decoder) effect() Effect {
	return Effect{Kind: d.text(limits.MostName, "an effect's kind"), Body: d.bytes(limits.MostEffect, "an effect")}
}

func (e *encoder) effects(all []Effect) {
	e.number(uint64(len(all)))
	for _, f := range all {
		e.effect(f)
	}
}

func (d *decoder) effects() (all []Effect) {
	for range d.count(limits.MostEffects, "effects") {
		all = append(all, d.effect())
	}
	return all
}

func (e *encoder) key(k Key) {
	e.number(k.Index)
	e.number(k.N)
}

func (d *decoder) key() Key { return Key{Index: d.number(), N: d.number()} }
