package txlog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// A record's fields are parts of its bytes, and what a copy keeps of a record is its own: a result of some bytes must not keep an
// entry of a megabyte in memory (and cannot be changed through it).
func TestWhatACopyKeepsIsItsOwn(t *testing.T) {
	t.Parallel()
	leader := NewCopy(sampleGenesis(), newToy)
	all := []Record{next(t, leader, goal("g1", "light=red")), next(t, leader, goal("g2", "light=blue")), next(t, leader, goal("g3", "mail to all"))}
	for name, read := range map[string]func([]byte) (Record, error){"open": Open, "own": Own} {
		c := NewCopy(sampleGenesis(), newToy)
		for _, made := range all {
			raw := bytes.Clone(made.Raw())
			r, err := read(raw)
			if err != nil || r.Hash() != made.Hash() {
				t.Fatalf("%s: %s and %v, want %s", name, r.Hash().Short(), err, made.Hash().Short())
			}
			if shares := &r.Raw()[0] == &raw[0]; shares != (name == "own") {
				t.Errorf("%s: it shares the bytes that it was given: %v", name, shares)
			}
			if err := c.Apply(r); err != nil {
				t.Fatal(err)
			}
			clear(r.Raw()) // as nobody may
		}
		known, _ := c.Lookup("g2")
		if string(known.Result) != "red" || string(c.Effects()[0].Body) != "to all" {
			t.Errorf("%s: the copy keeps %q and %q, parts of a record that is gone", name, known.Result, c.Effects()[0].Body)
		}
		if err := c.Scrub(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Own(make([]byte, limits.MostRecord+1)); !errors.Is(err, ErrSize) {
		t.Errorf("too many bytes: %v", err)
	}
}
