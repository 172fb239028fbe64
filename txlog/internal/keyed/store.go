package keyed

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/conchhq/conch/txlog"
)

// Rules are what a state machine says of its store. They never change: another rule is another machine.
type Rules struct {
	Machine     string            // names it in errors
	Header      string            // begins a snapshot, and has the version of its format
	Key, Value  func([]byte) bool // report whether bytes are a key, or a value; no value is empty
	MostKeys    int               // number of keys
	MostContent int               // bytes of a snapshot
}

func (r *Rules) value(v []byte) bool { return len(v) == 0 || r.Value(v) }

// Store keeps keys and values. It has all that a [txlog.Gradual] needs but Execute and View.
type Store struct {
	rules  *Rules
	values sorted     // by key
	size   int        // of the snapshot
	tree   txlog.Tree // of the entries, by their keys
}

// New returns an empty store.
func New(r *Rules) Store { return Store{rules: r, size: len(r.Header)} }

// Apply makes the changes of a diff, if what is here is what it says was here before. A diff of no bytes changes nothing. The error is ErrMalformed or
// ErrDiff, and then nothing has changed.
func (s *Store) Apply(diff []byte) error { return s.ApplyEach(diff, nil) }

// ApplyEach is Apply, and tells of each key what is there now; an empty entry: nothing. The key is a part of the diff.
func (s *Store) ApplyEach(diff []byte, changed func(key []byte, now Entry)) error {
	var room [4]step // most goals change less
	steps, err := s.rules.parseDiff(diff, room[:0])
	if err != nil {
		return err
	}
	for i := range steps {
		c := &steps[i]
		c.at = s.values.look(string(c.key))
		if c.at == "" && len(c.before) > 0 || c.at != "" && c.at.Text() != string(c.before) {
			return mismatch(string(c.key))
		}
	}
	for _, c := range steps {
		if now := s.set(c); changed != nil {
			changed(c.key, now)
		}
	}
	return nil
}

// Get returns a value; the empty text: the key is not there.
func (s *Store) Get(key string) string {
	if v := s.values.look(key); v != "" {
		return v.Text()
	}
	return ""
}

// Size returns how many bytes a snapshot has.
func (s *Store) Size() int { return s.size }

// set replaces a value, and keeps the order, the size and the tree. It keeps nothing of the step's bytes.
func (s *Store) set(c step) Entry {
	before, now := s.exchange(c)
	after := txlog.Hash{}
	if now != "" {
		after = now.sum()
	}
	s.tree.Swap(placeOf(c.key), before, after)
	return now
}

// exchange is set, but for the tree: it returns the hash of what was there.
func (s *Store) exchange(c step) (before txlog.Hash, now Entry) {
	if c.at != "" {
		s.size -= len(c.at.entry())
		before = c.at.sum()
	}
	if len(c.after) == 0 {
		s.values.remove(string(c.key))
		return before, ""
	}
	var room [1 << 10]byte
	now = newEntry(appendEntry(room[:0], c.key, c.after))
	s.values.put(now)
	s.size += len(now.entry())
	return before, now
}

// placeOf returns the place of a key's entries in the tree.
func placeOf(key []byte) uint64 { return txlog.PlaceOf(sha256.Sum256(key)) }

// Hash returns the hash of all keys and values.
func (s *Store) Hash() txlog.Hash { return s.tree.Hash() }

// Snapshot returns all keys with their values, sorted. Two processors write a half each: entries lie anywhere in memory, and to wait for it
// is most of the work.
func (s *Store) Snapshot() []byte {
	half := len(s.values.pieces) / 2
	first, second := s.values.pieces[:half], s.values.pieces[half:]
	middle := len(s.rules.Header) + sizeOf(first)
	out := make([]byte, middle+sizeOf(second))
	var beside sync.WaitGroup
	beside.Go(func() { write(out[middle:], second) })
	write(out[copy(out, s.rules.Header):], first)
	beside.Wait()
	return out
}

// sizeOf returns how many bytes write writes.
func sizeOf(pieces []*piece) (n int) {
	for _, p := range pieces {
		for _, v := range p.held {
			n += len(v.entry())
		}
	}
	return n
}

func write(to []byte, pieces []*piece) {
	for _, p := range pieces {
		for _, v := range p.held {
			to = to[copy(to, v.entry()):]
		}
	}
}

// Restore replaces everything by what a snapshot has. The processors share its entries.
func (s *Store) Restore(snapshot []byte) error {
	*s = New(s.rules)
	body, is := bytes.CutPrefix(snapshot, []byte(s.rules.Header))
	if !is {
		return malformed("it is no snapshot of " + s.rules.Machine)
	}
	parts := partsOf(body)
	var beside sync.WaitGroup
	for some := range slices.Chunk(parts, len(parts)/runtime.GOMAXPROCS(0)+1) {
		beside.Go(func() {
			for i := range some {
				some[i].read(s.rules)
			}
		})
	}
	beside.Wait()
	pieces, last := make([]*piece, len(parts)), ""
	for i, p := range parts {
		switch {
		case p.fault != nil:
			return p.fault
		case p.of.held[0].Key() <= last:
			return malformed(disorder)
		}
		pieces[i], last = p.of, p.of.held[len(p.of.held)-1].Key()
	}
	s.values, s.size = sortedOf(0, pieces), len(snapshot)
	s.tree.Fill(func(yield func(uint64, txlog.Hash) bool) {
		for _, p := range parts {
			for i, v := range p.of.held {
				if !yield(p.places[i], v.sum()) {
					return
				}
			}
		}
	})
	return nil
}

// part is some entries of a snapshot, and the piece that they become.
type part struct {
	entries []byte
	of      *piece
	places  []uint64 // in the tree
	fault   error
}

const disorder = "the keys of the snapshot are not in order"

func partsOf(entries []byte) (all []part) {
	for r := (reader{rest: entries}); len(r.rest) > 0; {
		begin := r.rest
		for n := 0; n < mostInPiece/2 && len(r.rest) > 0; n++ {
			r.text()
			r.text()
		}
		all = append(all, part{entries: begin[:len(begin)-len(r.rest)]})
	}
	return all
}

func (p *part) read(rules *Rules) {
	var last []byte
	all := make([]Entry, 0, mostInPiece/2)
	p.places = make([]uint64, 0, mostInPiece/2)
	for r := (reader{rest: p.entries}); len(r.rest) > 0; {
		entry := r.rest
		key, value := r.text(), r.text()
		switch {
		case r.bad || len(value) == 0 || !rules.Key(key) || !rules.Value(value):
			p.fault = malformed("an entry of the snapshot cannot be read")
			return
		case bytes.Compare(key, last) <= 0:
			p.fault = malformed(disorder)
			return
		}
		last = key
		all = append(all, newEntry(entry[:len(entry)-len(r.rest)])) // its one form: no length can be written in two ways
		p.places = append(p.places, placeOf(key))
	}
	p.of = newPiece(0, all)
}

// All iterates over the entries, in the order of their keys. None may come or go meanwhile.
func (s *Store) All(yield func(Entry) bool) { s.values.from("")(yield) }

func malformed(text string) error { return fmt.Errorf("%w: %s", txlog.ErrMalformed, text) }

func mismatch(key string) error {
	return fmt.Errorf("%w: what it says of %q was not there", txlog.ErrDiff, key)
}
