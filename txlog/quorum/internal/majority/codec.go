package majority

import (
	"encoding/binary"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// version is the first byte of whatever is stored or sent.
const version = 1

// Encode returns the bytes of the promise.
func (h Hard) Encode() []byte {
	return numbers([]byte{version}, h.Term, h.Vote, h.Commit)
}

// decodeHard reads what Encode returns. The error is store.ErrDamaged or txlog.ErrVersion.
func decodeHard(b []byte) (h Hard, err error) {
	r := reader{b: b}
	r.version()
	h.Term, h.Vote, h.Commit = r.number(), r.number(), r.number()
	return h, r.end()
}

// Encode returns the bytes of the place.
func (b Base) Encode() []byte { return numbers([]byte{version}, b.Index, b.Term) }

// decodeBase reads what Encode returns. The error is store.ErrDamaged or txlog.ErrVersion.
func decodeBase(b []byte) (base Base, err error) {
	r := reader{b: b}
	r.version()
	base.Index, base.Term = r.number(), r.number()
	return base, r.end()
}

// Encode returns the bytes of the entry.
func (e Entry) Encode() []byte { return e.encode(e.Data) }

func (e Entry) encode(data []byte) []byte {
	kind := byte(0)
	if e.Change {
		kind = 1
	}
	b := append(make([]byte, 0, 2+2*binary.MaxVarintLen64+len(data)), version, kind)
	return append(numbers(b, e.Index, e.Term), data...)
}

// slot returns the entry as a store has it.
func (e Entry) slot() store.Slot {
	if e.record.Raw() == nil || e.Change {
		return store.Slot{Index: e.Index, Body: e.Encode()}
	}
	return store.Slot{Index: e.Index, Body: e.encode(nil), Record: e.record}
}

// decodeSlot reads what slot returns. The error is store.ErrDamaged or txlog.ErrVersion.
func decodeSlot(s store.Slot) (Entry, error) {
	e, err := decodeEntry(s.Body)
	switch {
	case err != nil:
		return Entry{}, err
	case e.Index != s.Index || s.Record.Raw() != nil && len(e.Data) > 0:
		return Entry{}, fault(store.ErrDamaged, "slot %d is no entry", s.Index)
	case s.Record.Raw() != nil:
		e.Data, e.record = s.Record.Raw(), s.Record
	}
	return e, nil
}

// decodeEntry reads what Encode returns, and copies it. The error is store.ErrDamaged or txlog.ErrVersion.
func decodeEntry(b []byte) (e Entry, err error) {
	r := reader{b: b}
	r.version()
	kind := r.take(1)
	e.Index, e.Term = r.number(), r.number()
	switch {
	case r.err() != nil:
		return Entry{}, r.err()
	case kind[0] > 1:
		return Entry{}, fault(txlog.ErrVersion, "an entry of kind %d", kind[0])
	}
	e.Change = kind[0] == 1
	if len(r.b) > 0 {
		e.Data = append([]byte(nil), r.b...)
	}
	return e, nil
}

// Encode returns the bytes of the mark.
func (m Mark) Encode() []byte {
	b := numbers([]byte{version}, m.Index, m.Term, m.At.Index, m.At.Term)
	b = append(append(b, m.At.Log[:]...), m.At.Hash[:]...)
	for _, set := range [][]txlog.Member{m.Members, m.Leaving} {
		b = numbers(b, uint64(len(set)))
		for _, of := range set {
			b = append(numbers(b, uint64(len(of.Name))), of.Name...)
			b = numbers(append(b, of.Key[:]...), of.Store)
		}
	}
	return b
}

// decodeMark reads what Encode returns. The error is store.ErrDamaged or txlog.ErrVersion.
func decodeMark(b []byte) (m Mark, err error) {
	r := reader{b: b}
	r.version()
	m.Index, m.Term, m.At.Index, m.At.Term = r.number(), r.number(), r.number(), r.number()
	m.At.Log, m.At.Hash = r.hash(), r.hash()
	m.Members, m.Leaving = r.members(), r.members()
	if err := r.end(); err != nil {
		return Mark{}, err
	}
	if len(m.Members) == 0 {
		return Mark{}, fault(store.ErrDamaged, "a mark without members")
	}
	return m, nil
}

func numbers(b []byte, all ...uint64) []byte {
	for _, n := range all {
		b = binary.AppendUvarint(b, n)
	}
	return b
}

// reader reads fields. After a fault everything that it returns is zero.
type reader struct {
	b     []byte
	bad   bool
	newer bool // it is bad since a newer program has written it
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.b)
	if size <= 0 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) take(n uint64) []byte {
	if n > uint64(len(r.b)) {
		r.b, r.bad = nil, true
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) version() {
	if b := r.take(1); !r.bad && b[0] != version {
		r.b, r.bad, r.newer = nil, true, b[0] > version
	}
}

func (r *reader) hash() (h txlog.Hash) {
	copy(h[:], r.take(uint64(len(h))))
	return h
}

func (r *reader) members() (all []txlog.Member) {
	n := r.number()
	if n > txlog.MostMembers {
		r.b, r.bad = nil, true
		return nil
	}
	for range n {
		all = append(all, txlog.Member{Name: string(r.take(r.number())), Key: r.hash(), Store: r.number()})
	}
	return all
}

func (r *reader) err() error {
	switch {
	case r.newer:
		return fault(txlog.ErrVersion, "its format is above %d", version)
	case r.bad:
		return fault(store.ErrDamaged, "it cannot be read")
	}
	return nil
}

func (r *reader) end() error {
	r.bad = r.bad || len(r.b) > 0
	return r.err()
}
