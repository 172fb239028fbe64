package kv

import (
	"crypto/sha256"
	"strings"

	"github.com/conchhq/conch/txlog"
)

// State is a store of keys and values, a [txlog.State]. It is used by one goroutine at a time.
type State struct {
	values map[string]held // by key
	keys   sorted
	size   int       // of the snapshot
	sum    txlog.Sum // of the entries
}

// held is a value that is there.
type held struct {
	text string     // see value
	sum  txlog.Hash // of the entry that it is, with its key
}

// New returns an empty store.
func New() txlog.State { return empty() }

func empty() *State { return &State{values: map[string]held{}, size: len(header)} }

// Execute runs a goal. It reads the store, and keeps what it would change for itself.
func (s *State) Execute(goal []byte) txlog.Outcome {
	ops, alone, err := parseGoal(goal)
	if err != nil {
		return txlog.Failed(err.Error())
	}
	d := draft{of: s, now: map[string]string{}}
	results := make([]string, len(ops))
	for i, o := range ops {
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
	var room [4]change // most goals change less
	changes, err := parseDiff(diff, room[:0])
	if err != nil {
		return err
	}
	for _, c := range changes {
		if s.values[c.key].text != c.before {
			return mismatch(c.key)
		}
	}
	for _, c := range changes {
		s.set(c.key, c.after)
	}
	return nil
}

// set replaces a value, and keeps the sum, the order and the size.
func (s *State) set(key, after string) {
	before := s.values[key]
	if before.text != "" {
		s.sum.RemoveHash(before.sum)
		s.size -= entrySize(key, before.text)
	}
	switch {
	case after == "":
		delete(s.values, key)
		s.keys.remove(key)
		return
	case before.text == "":
		key = strings.Clone(key) // and do not keep all of the diff
		s.keys.insert(key)
	}
	var room [1 << 10]byte
	now := held{text: strings.Clone(after), sum: sha256.Sum256(appendEntry(room[:0], key, after))}
	s.sum.AddHash(now.sum)
	s.size += entrySize(key, after)
	s.values[key] = now
}

// Hash returns the hash of all keys and values.
func (s *State) Hash() txlog.Hash { return s.sum.Hash() }

// header begins a snapshot. It has the version of its format.
const header = "kv1"

// Snapshot returns all keys with their values, sorted.
func (s *State) Snapshot() []byte {
	out := append(make([]byte, 0, s.size), header...)
	for key := range s.keys.from("") {
		out = appendEntry(out, key, s.values[key].text)
	}
	return out
}

// Restore replaces everything by what a snapshot has.
func (s *State) Restore(snapshot []byte) error {
	*s = *empty()
	body, is := strings.CutPrefix(string(snapshot), header)
	if !is {
		return malformed("it is no snapshot of " + Machine)
	}
	last := ""
	for r := (reader{rest: body}); r.rest != ""; {
		key, value := r.text(), r.text()
		switch {
		case r.bad || value == "" || !isKey(key) || !isValue(value):
			return malformed("an entry of the snapshot cannot be read")
		case last != "" && key <= last:
			return malformed("the keys of the snapshot are not in order")
		}
		last = key
		s.set(key, value)
	}
	return nil
}
