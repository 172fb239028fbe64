package keyed

import (
	"iter"

	"github.com/conchhq/conch/txlog"
)

// MostInPiece is the number of entries in a piece at most.
const MostInPiece = mostInPiece

// Fill puts a value into a store by no goal.
func (s *Store) Fill(key, value []byte) { s.set(step{key: key, after: value}) }

// ApplyBare is Apply, but for the tree: it gives the hashes that come out of it and go in.
func (s *Store) ApplyBare(diff []byte, swap func(before, after txlog.Hash)) error {
	steps, err := s.rules.parseDiff(diff, nil)
	for _, c := range steps {
		if c.at = s.values.look(string(c.key)); c.at.Text() != string(c.before) {
			return mismatch(string(c.key))
		}
		before, now := s.exchange(c)
		swap(before, now.sum())
	}
	return err
}

// Entries reads a snapshot without a tree.
func (r *Rules) Entries(snapshot []byte) iter.Seq2[Entry, txlog.Hash] {
	return func(yield func(Entry, txlog.Hash) bool) {
		for from := (reader{rest: snapshot[len(r.Header):]}); len(from.rest) > 0; {
			entry := from.rest
			if key, value := from.text(), from.text(); !r.Key(key) || !r.Value(value) {
				return
			}
			if v := newEntry(entry[:len(entry)-len(from.rest)]); !yield(v, v.sum()) {
				return
			}
		}
	}
}

// Rules returns the store's rules.
func (s *Store) Rules() *Rules { return s.rules }
