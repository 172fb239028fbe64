package kv

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/conchhq/conch/txlog"
)

// State is a store of keys and values, a [txlog.State] that reads itself in parts. It is used by one goroutine at a time.
type State struct {
	values sorted     // by key
	size   int        // of the snapshot
	tree   txlog.Tree // of the entries, by their keys
}

var _ txlog.Gradual = (*State)(nil)

// held is an entry that is there, as appendEntry writes it, after its hash: all in one piece of memory, in which the garbage collector has
// nothing to look for. Empty, it is none.
type held string

func newHeld(entry []byte) held {
	sum := sha256.Sum256(entry)
	var all strings.Builder
	all.Grow(len(sum) + len(entry))
	all.Write(sum[:])
	all.Write(entry)
	return held(all.String())
}

func (v held) sum() (of txlog.Hash) {
	copy(of[:], v)
	return of
}

func (v held) entry() string { return string(v[sha256.Size:]) }

func (v held) key() string {
	key, _ := cutText(v.entry())
	return key
}

// text returns the value (see there).
func (v held) text() string {
	_, rest := cutText(v.entry())
	value, _ := cutText(rest)
	return value
}

// New returns an empty store.
func New() txlog.State { return empty() }

func empty() *State { return &State{size: len(header)} }

// Execute runs a goal. It reads the store, and keeps what it would change for itself.
func (s *State) Execute(goal []byte, budget *txlog.Budget) txlog.Outcome {
	budget.Spend(len(goal))
	ops, alone, err := parseGoal(goal)
	if err != nil {
		return txlog.Failed(err.Error())
	}
	d := draft{of: s}
	results := make([]string, len(ops))
	for i, o := range ops {
		budget.Spend(1 + len(o.value))
		if results[i], err = o.run(&d); err != nil {
			return txlog.Failed(at(err, i, alone).Error())
		}
	}
	diff, err := d.diff()
	if err != nil {
		return txlog.Failed(err.Error())
	}
	result := results[0]
	if !alone {
		result = "[" + strings.Join(results, ",") + "]"
	}
	return txlog.Outcome{Result: []byte(result), Diff: diff}
}

// Apply makes the changes of a diff, if what is here is what it says was here before.
func (s *State) Apply(diff []byte) error {
	var room [4]step // most goals change less
	steps, err := parseDiff(diff, room[:0])
	if err != nil {
		return err
	}
	for i := range steps {
		c := &steps[i]
		c.at = s.values.look(string(c.key))
		if c.at == "" && len(c.before) > 0 || c.at != "" && c.at.text() != string(c.before) {
			return mismatch(string(c.key))
		}
	}
	for _, c := range steps {
		s.set(c)
	}
	return nil
}

// get returns a value; the empty text: the key is not there.
func (s *State) get(key string) string {
	if v := s.values.look(key); v != "" {
		return v.text()
	}
	return ""
}

// set replaces a value, and keeps the order, the size and the tree. It keeps nothing of the step's bytes.
func (s *State) set(c step) {
	before, after := s.exchange(c)
	s.tree.Swap(placeOf(c.key), before, after)
}

// exchange is set, but for the tree, whose items it returns.
func (s *State) exchange(c step) (before, after txlog.Hash) {
	if c.at != "" {
		s.size -= len(c.at.entry())
		before = c.at.sum()
	}
	if len(c.after) == 0 {
		s.values.remove(string(c.key))
	} else {
		var room [1 << 10]byte
		v := newHeld(appendEntry(room[:0], c.key, c.after))
		s.values.put(v)
		s.size += len(v.entry())
		after = v.sum()
	}
	return before, after
}

// placeOf returns the place of a key's entries in the tree.
func placeOf(key []byte) uint64 { return txlog.PlaceOf(sha256.Sum256(key)) }

// View returns the store as it is, for questions. What is shared with it is copied before it changes.
func (s *State) View() txlog.View { return view{values: s.values.view()} }

// Hash returns the hash of all keys and values.
func (s *State) Hash() txlog.Hash { return s.tree.Hash() }

// header begins a snapshot. It has the version of its format.
const header = "kv1"

// Snapshot returns all keys with their values, sorted. Two processors write a half each: entries lie anywhere in memory, and to wait for it
// is most of the work.
func (s *State) Snapshot() []byte {
	half := len(s.values.pieces) / 2
	first, second := s.values.pieces[:half], s.values.pieces[half:]
	middle := len(header) + sizeOf(first)
	out := make([]byte, middle+sizeOf(second))
	var beside sync.WaitGroup
	beside.Go(func() { write(out[middle:], second) })
	write(out[copy(out, header):], first)
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
func (s *State) Restore(snapshot []byte) error {
	*s = *empty()
	body, is := bytes.CutPrefix(snapshot, []byte(header))
	if !is {
		return malformed("it is no snapshot of " + Machine)
	}
	parts := partsOf(body)
	var beside sync.WaitGroup
	for some := range slices.Chunk(parts, len(parts)/runtime.GOMAXPROCS(0)+1) {
		beside.Go(func() {
			for i := range some {
				some[i].read()
			}
		})
	}
	beside.Wait()
	pieces, last := make([]*piece, len(parts)), ""
	for i, p := range parts {
		switch {
		case p.fault != nil:
			return p.fault
		case p.of.held[0].key() <= last:
			return malformed(disorder)
		}
		pieces[i], last = p.of, p.of.held[len(p.of.held)-1].key()
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

func (p *part) read() {
	var last []byte
	all := make([]held, 0, mostInPiece/2)
	p.places = make([]uint64, 0, mostInPiece/2)
	for r := (reader{rest: p.entries}); len(r.rest) > 0; {
		entry := r.rest
		key, value := r.text(), r.text()
		switch {
		case r.bad || len(value) == 0 || !isKey(key) || !isValue(value):
			p.fault = malformed("an entry of the snapshot cannot be read")
			return
		case bytes.Compare(key, last) <= 0:
			p.fault = malformed(disorder)
			return
		}
		last = key
		all = append(all, newHeld(entry[:len(entry)-len(r.rest)])) // its one form: no length can be written in two ways
		p.places = append(p.places, placeOf(key))
	}
	p.of = newPiece(0, all)
}
