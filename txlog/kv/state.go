package kv

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/conchhq/conch/txlog"
)

// State is a store of keys and values, a [txlog.State] that reads itself in parts. It is used by one goroutine at a time.
type State struct {
	values sorted    // by key
	size   int       // of the snapshot
	sum    txlog.Sum // of the entries
}

var _ txlog.Gradual = (*State)(nil)

// held is a value that is there. It never changes, since views have it too: another one takes its place.
type held struct {
	key, text string     // see value
	sum       txlog.Hash // of the entry that both are
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
	d := draft{of: s, now: map[string]string{}}
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
		c.at = s.values.get(string(c.key))
		if c.at == nil && len(c.before) > 0 || c.at != nil && c.at.text != string(c.before) {
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
	if v := s.values.get(key); v != nil {
		return v.text
	}
	return ""
}

// set replaces a value, and keeps the sum.
func (s *State) set(c step) {
	if c.at != nil {
		s.sum.RemoveHash(c.at.sum)
	}
	if now := s.put(c); now != nil {
		s.sum.AddHash(now.sum)
	}
}

// put replaces a value, and keeps the order and the size. It returns what is there now, and keeps nothing of the step's bytes.
func (s *State) put(c step) *held {
	if c.at != nil {
		s.size -= entrySize(len(c.key), len(c.at.text))
	}
	if len(c.after) == 0 {
		s.values.remove(string(c.key))
		return nil
	}
	var room [1 << 10]byte
	v := &held{text: string(c.after), sum: sha256.Sum256(appendEntry(room[:0], c.key, c.after))}
	if c.at != nil {
		v.key = c.at.key
	} else {
		v.key = string(c.key)
	}
	s.values.put(v)
	s.size += entrySize(len(c.key), len(c.after))
	return v
}

// View returns the store as it is, for questions. What is shared with it is copied before it changes.
func (s *State) View() txlog.View { return view{values: s.values.view()} }

// Hash returns the hash of all keys and values.
func (s *State) Hash() txlog.Hash { return s.sum.Hash() }

// header begins a snapshot. It has the version of its format.
const header = "kv1"

// Snapshot returns all keys with their values, sorted.
func (s *State) Snapshot() []byte {
	out := append(make([]byte, 0, s.size), header...)
	for v := range s.values.from("") {
		out = appendEntry(out, v.key, v.text)
	}
	return out
}

// Restore replaces everything by what a snapshot has.
func (s *State) Restore(snapshot []byte) error {
	*s = *empty()
	body, is := bytes.CutPrefix(snapshot, []byte(header))
	if !is {
		return malformed("it is no snapshot of " + Machine)
	}
	var last []byte
	var sums []txlog.Hash
	for r := (reader{rest: body}); len(r.rest) > 0; {
		key, value := r.text(), r.text()
		switch {
		case r.bad || len(value) == 0 || !isKey(key) || !isValue(value):
			return malformed("an entry of the snapshot cannot be read")
		case bytes.Compare(key, last) <= 0:
			return malformed("the keys of the snapshot are not in order")
		}
		last = key
		sums = append(sums, s.put(step{key: key, after: value}).sum)
	}
	s.sum.AddHashes(sums)
	return nil
}
