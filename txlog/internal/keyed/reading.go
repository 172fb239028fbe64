package keyed

import (
	"crypto/sha256"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// leastRead is how many bytes are read at once at least: a small store is read in one part.
const leastRead = 8 << 10

// reading reads the store as it was when it began, in the order of the keys: it has a view of it. Then it computes the hash.
type reading struct {
	rest  []*piece // those that have not had their turn
	at    int      // in the first of them
	size  int      // of the snapshot
	count int      // of the entries
	pile  *txlog.Pile
	bytes bool
	out   [][]byte // what each Next has written
	room  []byte
}

// Read implements [txlog.Gradual].
func (s *Store) Read(bytes bool) txlog.Reading {
	count := s.values.count
	return &reading{rest: s.values.view().pieces, size: s.size, count: count, pile: txlog.NewPile(count), bytes: bytes, out: [][]byte{[]byte(s.rules.Header)}}
}

// Next implements [txlog.Reading]. Three of four parts are read, and take about as long as the hashes of the last one.
func (r *reading) Next(parts uint64) (done bool) {
	if len(r.rest) > 0 {
		r.readOn(max(leastRead, int(uint64(r.size)/max(1, parts-parts/4))))
		if len(r.rest) > 0 || parts > 1 && r.size > leastRead {
			return false
		}
	}
	return r.pile.Settle(r.count/int(max(1, min(parts, 1<<20)/4)) + 1)
}

// readOn reads so many bytes.
func (r *reading) readOn(most int) {
	var part []byte
	if r.bytes {
		part = make([]byte, 0, min(most, r.size)+leastRead)
	}
	for ; most > 0 && len(r.rest) > 0; most -= len(r.room) {
		r.take()
		if r.bytes {
			part = append(part, r.room...)
		}
	}
	r.out = append(r.out, part)
}

// take leaves the next entry in r.room.
func (r *reading) take() {
	v := r.rest[0].held[r.at]
	r.room = append(r.room[:0], v.entry()...)
	if r.at++; r.at == len(r.rest[0].held) {
		r.rest, r.at = r.rest[1:], 0
	}
	key, _ := cutText(v.entry())
	r.pile.Add(placeOf([]byte(key)), sha256.Sum256(r.room))
}

// Hash implements [txlog.Reading].
func (r *reading) Hash() txlog.Hash { return r.pile.Hash() }

// Snapshot implements [txlog.Reading].
func (r *reading) Snapshot() []byte { return slices.Concat(r.out...) }
