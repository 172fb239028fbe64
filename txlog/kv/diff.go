package kv

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// change is what happens to one key. One of before and after may be no value.
type change struct{ key, before, after string }

// draft is a store with changes that have not been made.
type draft struct {
	of  *State
	now []change // one of a key, without what was before; most goals have one, and none has many
}

func (d *draft) get(key string) string {
	if i := d.find(key); i >= 0 {
		return d.now[i].after
	}
	return d.of.get(key)
}

func (d *draft) set(key, value string) {
	if i := d.find(key); i >= 0 {
		d.now[i].after = value
		return
	}
	d.now = append(d.now, change{key: key, after: value})
}

func (d *draft) find(key string) int {
	return slices.IndexFunc(d.now, func(c change) bool { return c.key == key })
}

// diff returns what the draft changes, by key. A key that comes out as it was is not in it.
func (d *draft) diff() ([]byte, error) {
	var out []byte
	size, count := d.of.size, d.of.values.count
	slices.SortFunc(d.now, func(a, b change) int { return strings.Compare(a.key, b.key) })
	for _, c := range d.now {
		if c.before = d.of.get(c.key); c.before == c.after {
			continue
		}
		out = appendChange(out, c)
		if c.before != "" {
			size -= entrySize(len(c.key), len(c.before))
			count--
		}
		if c.after != "" {
			size += entrySize(len(c.key), len(c.after))
			count++
		}
	}
	switch {
	case len(out) > limits.MostDiff:
		return nil, limit("it changes " + strconv.Itoa(len(out)) + " bytes, with the values before, of " + strconv.Itoa(limits.MostDiff) + " at most: do less in one goal")
	case size > mostContent && size > d.of.size:
		return nil, limit("the store would have " + strconv.Itoa(size) + " bytes, of " + strconv.Itoa(mostContent) + " at most: delete something first")
	case count > mostKeys && count > d.of.values.count:
		return nil, limit("the store would have " + strconv.Itoa(count) + " keys, of " + strconv.Itoa(mostKeys) + " at most: delete some first")
	}
	return out, nil
}

// texts are the texts of goals, and those of diffs and snapshots.
type texts interface{ string | []byte }

func appendText[T texts](out []byte, s T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

// appendEntry writes a key with its value, as snapshots have it and as it is hashed.
func appendEntry[K, V texts](out []byte, key K, value V) []byte {
	return appendText(appendText(out, key), value)
}

// entrySize returns how many bytes appendEntry writes for texts of these lengths.
func entrySize(key, value int) int { return textSize(key) + textSize(value) }

func textSize(n int) int { return max(1, (bits.Len(uint(n))+6)/7) + n }

func appendChange(out []byte, c change) []byte {
	out = slices.Grow(out, textSize(len(c.key))+textSize(len(c.before))+textSize(len(c.after)))
	return appendText(appendText(appendText(out, c.key), c.before), c.after)
}

// cutText cuts off what appendText has written first.
func cutText(s string) (text, rest string) {
	n, size := 0, 0
	for more := true; more; size++ {
		n |= int(s[size]&0x7f) << (7 * size)
		more = s[size] >= 0x80
	}
	return s[size : size+n], s[size+n:]
}

// reader reads what appendText has written.
type reader struct {
	rest []byte
	bad  bool
}

// text returns a part of the bytes.
func (r *reader) text() []byte {
	n, size := uint64(0), 0
	for shift := 0; ; shift += 7 {
		if size == len(r.rest) || shift > 28 { // no text is as long
			return r.fail()
		}
		b := r.rest[size]
		n |= uint64(b&0x7f) << shift
		size++
		if b < 0x80 {
			if b == 0 && size > 1 { // it could be shorter
				return r.fail()
			}
			break
		}
	}
	if n > uint64(len(r.rest)-size) {
		return r.fail()
	}
	text := r.rest[size : size+int(n)]
	r.rest = r.rest[size+int(n):]
	return text
}

func (r *reader) fail() []byte {
	r.bad, r.rest = true, nil
	return nil
}

// step is a change that is being made. Its texts are parts of a diff.
type step struct {
	key, before, after []byte
	at                 held // what is there
}

// parseDiff appends the changes of a diff, in the order of their keys.
func parseDiff(diff []byte, all []step) ([]step, error) {
	var last []byte
	for r := (reader{rest: diff}); len(r.rest) > 0; {
		c := step{key: r.text(), before: r.text(), after: r.text()}
		switch {
		case r.bad || !isKey(c.key) || !isValue(c.before) || !isValue(c.after):
			return nil, malformed("a change cannot be read")
		case bytes.Equal(c.before, c.after) || bytes.Compare(c.key, last) <= 0:
			return nil, malformed("changes that change nothing, or are not in order")
		}
		last = c.key
		all = append(all, c)
	}
	return all, nil
}
