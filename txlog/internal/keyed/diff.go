package keyed

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Change is what happens to one key. One of before and after may be no value, the empty text.
type Change struct{ Key, Before, After string }

// Draft is a store with changes that have not been made.
type Draft struct {
	of  *Store
	now []Change // one of a key, without what was before; most goals have one, and none has many
}

// Draft begins a draft of the store as it is now.
func (s *Store) Draft() Draft { return Draft{of: s} }

// Get returns the value of a key in the draft; the empty text: there is none.
func (d *Draft) Get(key string) string {
	if i := d.find(key); i >= 0 {
		return d.now[i].After
	}
	return d.of.Get(key)
}

// Set gives a key another value; the empty text removes it.
func (d *Draft) Set(key, value string) {
	if i := d.find(key); i >= 0 {
		d.now[i].After = value
		return
	}
	d.now = append(d.now, Change{Key: key, After: value})
}

func (d *Draft) find(key string) int {
	return slices.IndexFunc(d.now, func(c Change) bool { return c.Key == key })
}

// Diff returns what the draft changes: see Store.Diff.
func (d *Draft) Diff() ([]byte, error) { return d.of.Diff(d.now) }

// LimitError says which limit a diff would break, and what to do.
type LimitError string

// Error says it.
func (e LimitError) Error() string { return string(e) }

// Diff returns what changes make of the store, by key, with what is there before: each key is changed once at most, and the changes are sorted. A key that
// comes out as it was is not in the diff. The error is a LimitError.
func (s *Store) Diff(changes []Change) ([]byte, error) {
	var out []byte
	size, count := s.size, s.values.count
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Key, b.Key) })
	for _, c := range changes {
		if c.Before = s.Get(c.Key); c.Before == c.After {
			continue
		}
		out = appendChange(out, c)
		if c.Before != "" {
			size -= entrySize(len(c.Key), len(c.Before))
			count--
		}
		if c.After != "" {
			size += entrySize(len(c.Key), len(c.After))
			count++
		}
	}
	switch {
	case len(out) > limits.MostDiff:
		return nil, LimitError("it changes " + strconv.Itoa(len(out)) + " bytes, with the values before, of " + strconv.Itoa(limits.MostDiff) + " at most: do less in one goal")
	case size > s.rules.MostContent && size > s.size:
		return nil, LimitError("the store would have " + strconv.Itoa(size) + " bytes, of " + strconv.Itoa(s.rules.MostContent) + " at most: delete something first")
	case count > s.rules.MostKeys && count > s.values.count:
		return nil, LimitError("the store would have " + strconv.Itoa(count) + " keys, of " + strconv.Itoa(s.rules.MostKeys) + " at most: delete some first")
	}
	return out, nil
}

func appendChange(out []byte, c Change) []byte {
	out = slices.Grow(out, textSize(len(c.Key))+textSize(len(c.Before))+textSize(len(c.After)))
	return appendText(appendText(appendText(out, c.Key), c.Before), c.After)
}

// step is a change that is being made. Its texts are parts of a diff.
type step struct {
	key, before, after []byte
	at                 Entry // what is there
}

// parseDiff appends the changes of a diff, in the order of their keys.
func (r *Rules) parseDiff(diff []byte, all []step) ([]step, error) {
	var last []byte
	for from := (reader{rest: diff}); len(from.rest) > 0; {
		c := step{key: from.text(), before: from.text(), after: from.text()}
		switch {
		case from.bad || !r.Key(c.key) || !r.value(c.before) || !r.value(c.after):
			return nil, malformed("a change cannot be read")
		case bytes.Equal(c.before, c.after) || bytes.Compare(c.key, last) <= 0:
			return nil, malformed("changes that change nothing, or are not in order")
		}
		last = c.key
		all = append(all, c)
	}
	return all, nil
}

// Changes returns what a diff says. The error is ErrMalformed.
func (r *Rules) Changes(diff []byte) (all []Change, err error) {
	steps, err := r.parseDiff(diff, nil)
	for _, c := range steps {
		all = append(all, Change{string(c.key), string(c.before), string(c.after)})
	}
	return all, err
}
