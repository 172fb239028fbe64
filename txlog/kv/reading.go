package kv

import (
	"crypto/sha256"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// leastRead is how many bytes are read at once at least: a small store is read in one part.
const leastRead = 32 << 10

// reading reads the store as it was when it began, in the order of the keys. What is about to change is read before, and left out
// when its turn comes.
type reading struct {
	of    *State
	size  int               // of the snapshot
	next  string            // those before it had their turn
	was   map[string]string // the keys from next on that have changed since, with what they had; the empty text: they were not there
	early sorted            // those of them that were there, if the bytes are wanted
	sum   txlog.Sum
	bytes bool
	out   [][]byte // what each Next has written
	part  []byte   // the last one of them
	room  []byte
}

// Read implements [txlog.Gradual].
func (s *State) Read(bytes bool) txlog.Reading {
	r := &reading{of: s, size: s.size, was: map[string]string{}, bytes: bytes, out: [][]byte{[]byte(header)}}
	s.readings = append(s.readings, r)
	return r
}

// Next implements [txlog.Reading].
func (r *reading) Next(parts uint64) (done bool, err error) {
	most := max(leastRead, int(uint64(r.size)/max(1, parts)))
	if r.bytes {
		r.part = make([]byte, 0, min(most, r.size)+leastRead)
		defer func() { r.out = append(r.out, r.part) }()
	}
	for key := range r.of.keys.from(r.next) {
		if most <= 0 {
			r.next = key
			return false, nil
		}
		most -= r.catchUp(key)
		if _, is := r.was[key]; is {
			continue
		}
		at := r.of.values[key]
		if at == nil {
			return false, malformed("a key has lost its value")
		}
		most -= r.take(key, at.text)
		r.write()
	}
	for len(r.early.pieces) > 0 {
		last := r.early.pieces[len(r.early.pieces)-1]
		r.catchUp(last[len(last)-1])
	}
	r.Stop()
	return true, nil
}

// before reads a key that is about to change.
func (r *reading) before(key []byte, at *held) {
	if _, is := r.was[string(key)]; is || string(key) < r.next {
		return
	}
	name, text := string(key), ""
	if at != nil {
		text = at.text
		r.take(name, text)
		if r.bytes {
			r.early.insert(name)
		}
	}
	r.was[name] = text
}

// take takes an entry for the hash, and returns its size.
func (r *reading) take(key, text string) int {
	r.room = appendEntry(r.room[:0], key, text)
	r.sum.AddHash(sha256.Sum256(r.room))
	return len(r.room)
}

// write writes the entry that was taken.
func (r *reading) write() {
	if r.bytes {
		r.part = append(r.part, r.room...)
	}
}

// catchUp writes the keys up to one that have changed before their turn, and returns their size.
func (r *reading) catchUp(upto string) int {
	size := len(r.part)
	for len(r.early.pieces) > 0 && r.early.pieces[0][0] <= upto {
		key := r.early.pieces[0][0]
		r.part = appendEntry(r.part, key, r.was[key])
		r.early.remove(key)
	}
	return len(r.part) - size
}

// Hash implements [txlog.Reading].
func (r *reading) Hash() txlog.Hash { return r.sum.Hash() }

// Snapshot implements [txlog.Reading].
func (r *reading) Snapshot() []byte { return slices.Concat(r.out...) }

// Stop implements [txlog.Reading].
func (r *reading) Stop() {
	r.of.readings = slices.DeleteFunc(r.of.readings, func(of *reading) bool { return of == r })
}
