package kv

import (
	"crypto/sha256"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// leastRead is how many bytes are read at once at least: a small store is read in one part.
const leastRead = 8 << 10

// reading reads the store as it was when it began, in the order of the keys: it has a view of it.
type reading struct {
	rest  []*piece // those that have not had their turn
	at    int      // in the first of them
	size  int      // of the snapshot
	sum   txlog.Sum
	bytes bool
	out   [][]byte // what each Next has written
	room  []byte
}

// Read implements [txlog.Gradual].
func (s *State) Read(bytes bool) txlog.Reading {
	return &reading{rest: s.values.view().pieces, size: s.size, bytes: bytes, out: [][]byte{[]byte(header)}}
}

// Next implements [txlog.Reading].
func (r *reading) Next(parts uint64) (done bool) {
	most := max(leastRead, int(uint64(r.size)/max(1, parts)))
	var part []byte
	if r.bytes {
		part = make([]byte, 0, min(most, r.size)+leastRead)
	}
	r.sum.AddHashes(func(yield func(txlog.Hash) bool) {
		for more := true; more && most > 0 && len(r.rest) > 0; most -= len(r.room) {
			more = yield(r.take())
			if r.bytes {
				part = append(part, r.room...)
			}
		}
	})
	r.out = append(r.out, part)
	return len(r.rest) == 0
}

// take leaves the next entry in r.room, and returns its hash.
func (r *reading) take() txlog.Hash {
	v := r.rest[0].held[r.at]
	r.room = append(r.room[:0], v.entry()...)
	if r.at++; r.at == len(r.rest[0].held) {
		r.rest, r.at = r.rest[1:], 0
	}
	return sha256.Sum256(r.room)
}

// Hash implements [txlog.Reading].
func (r *reading) Hash() txlog.Hash { return r.sum.Hash() }

// Snapshot implements [txlog.Reading].
func (r *reading) Snapshot() []byte { return slices.Concat(r.out...) }
