package kv

import (
	"strings"

	"github.com/conchhq/conch/txlog"
)

// State is a store of keys and values, a [txlog.State]. It is used by one goroutine at a time.
type State struct {
	values map[string]string // by key; see value
	keys   sorted
	size   int       // of the snapshot
	sum    txlog.Sum // of the entries
}

// New returns an empty store.
func New() txlog.State { return empty() }

func empty() *State { return &State{values: map[string]string{}, size: len(header)} }

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
	changes, err := parseDiff(diff)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if s.values[c.key] != c.before {
			return mismatch(c.key)
		}
	}
	for _, c := range changes {
		s.set(c.key, c.before, c.after)
	}
	return nil
}

// set replaces a value, and keeps the sum, the order and the size.
func (s *State) set(key, before, after string) {
	var room [1 << 10]byte
	if before != "" {
		entry := appendEntry(room[:0], key, before)
		s.sum.Remove(entry)
		s.size -= len(entry)
	}
	switch {
	case after == "":
		delete(s.values, key)
		s.keys.remove(key)
		return
	case before == "":
		key = strings.Clone(key) // and do not keep all of the diff
		s.keys.insert(key)
	}
	entry := appendEntry(room[:0], key, after)
	s.sum.Add(entry)
	s.size += len(entry)
	s.values[key] = strings.Clone(after)
}

// Hash returns the hash of all keys and values.
func (s *State) Hash() txlog.Hash { return s.sum.Hash() }

// header begins a snapshot. It has the version of its format.
const header = "kv1"

// Snapshot returns all keys with their values, sorted.
func (s *State) Snapshot() []byte {
	out := append(make([]byte, 0, s.size), header...)
	for key := range s.keys.from("") {
		out = appendEntry(out, key, s.values[key])
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
		s.set(key, "", value)
	}
	return nil
}
