package keyed

import (
	"crypto/sha256"
	"strings"

	"github.com/conchhq/conch/txlog"
)

// Entry is a key with its value, as appendEntry writes them, after their hash: all in one piece of memory, in which the garbage collector has
// nothing to look for. Empty, it is none.
type Entry string

func newEntry(entry []byte) Entry {
	sum := sha256.Sum256(entry)
	var all strings.Builder
	all.Grow(len(sum) + len(entry))
	all.Write(sum[:])
	all.Write(entry)
	return Entry(all.String())
}

func (v Entry) sum() (of txlog.Hash) {
	copy(of[:], v)
	return of
}

func (v Entry) entry() string { return string(v[sha256.Size:]) }

// Key returns the key.
func (v Entry) Key() string {
	key, _ := cutText(v.entry())
	return key
}

// Text returns the value.
func (v Entry) Text() string {
	_, rest := cutText(v.entry())
	value, _ := cutText(rest)
	return value
}
