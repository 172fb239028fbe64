package keyed

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// wide returns a store that is read in several parts.
func wide(keys int) *Store {
	s := empty()
	for i := range keys {
		s.set(step{key: fmt.Appendf(nil, "k%05d", i), after: fmt.Appendf(nil, `j"%0200d"`, i)})
	}
	return s
}

// alter makes a change by chance: of a key that is there, of one that is not, or of one that was.
func alter(s *Store, chance *rand.Rand) {
	var c step
	c.key = fmt.Appendf(nil, "k%05d%.*s", chance.IntN(1200), chance.IntN(2), "x")
	c.at = s.values.get(string(c.key))
	if chance.IntN(3) > 0 {
		c.after = fmt.Appendf(nil, `j"%0*d"`, 1+chance.IntN(300), chance.IntN(1000))
	}
	if c.at != "" || len(c.after) > 0 {
		s.set(c)
	}
}

// What is read is the store as it was when the reading began, whatever changes meanwhile, and so is a second reading.
func TestAReadingIsOfThen(t *testing.T) {
	t.Parallel()
	for seed := range uint64(30) {
		chance := rand.New(rand.NewPCG(seed, 1))
		s := wide(1000)
		type then struct {
			txlog.Reading

			hash     txlog.Hash
			snapshot []byte
			parts    int
		}
		var all []*then
		begun := 0
		for begun < 4 || len(all) > 0 {
			if begun < 4 && chance.IntN(3) == 0 {
				begun++
				all = append(all, &then{Reading: s.Read(begun%2 == 0), hash: s.Hash()})
				if begun%2 == 0 {
					all[len(all)-1].snapshot = s.Snapshot()
				}
			}
			for range chance.IntN(200) {
				alter(s, chance)
			}
			if len(all) == 0 {
				continue
			}
			i := chance.IntN(len(all))
			done := all[i].Next(1 + chance.Uint64N(8))
			all[i].parts++
			if !done {
				continue
			}
			if all[i].Hash() != all[i].hash || all[i].snapshot != nil && !bytes.Equal(all[i].Snapshot(), all[i].snapshot) {
				t.Fatalf("seed %d: after %d parts it is another state", seed, all[i].parts)
			}
			all = append(all[:i], all[i+1:]...)
		}
	}
}

// watched is a store that remembers its last reading.
type watched struct {
	plain

	read *reading
}

func (w *watched) Read(photo bool) txlog.Reading {
	w.read, _ = w.Store.Read(photo).(*reading)
	return w.read
}

// scrubbed returns a copy of a wide store that scrubs each 40 entries, and applies goals.
func scrubbed(t *testing.T) (c *txlog.Copy, s *watched, next func(txlog.Kind) error) {
	t.Helper()
	g := txlog.Genesis{Namespace: "test", Machine: plainRules.Machine, Scrub: 40, Members: []txlog.Member{{Name: "a", Store: 1}}}.With()
	s = &watched{plain: plain{wide(2000)}}
	c = txlog.NewCopy(g, func() txlog.State { return s })
	n := 0
	next = func(kind txlog.Kind) error {
		e := txlog.Entry{Kind: kind, Term: 1, Leader: "a"}
		if kind == txlog.Executed {
			n++
			e.GoalID, e.Goal = fmt.Sprint(n), fmt.Appendf(nil, "count/%d j%d", n%7, n)
			o := c.Execute(e.Goal)
			e.Result, e.Diff = o.Result, o.Diff
		}
		_, err := c.Next(e)
		return err
	}
	if err := next(txlog.Opening); err != nil {
		t.Fatal(err)
	}
	return c, s, next
}

// A scrub of a large store is spread over half of the entries to the next one, and keeps none of them waiting. Its photo is the
// copy at its entry.
func TestAScrubIsSpread(t *testing.T) {
	t.Parallel()
	c, s, next := scrubbed(t)
	for range 3 {
		if err := next(txlog.Scrubbed); err != nil {
			t.Fatal(err)
		}
		want, at := c.Snapshot(), c.Position()
		c.Take()
		parts, entries := 0, 0
		photo, is := c.Taken()
		for ; !is; photo, is = c.Taken() {
			if r := s.read; len(r.out[len(r.out)-1]) > s.size/10 || len(r.out) > parts+2 {
				t.Fatalf("%d of %d bytes were read at once", len(r.out[len(r.out)-1]), s.size)
			}
			parts = len(s.read.out)
			if err := next(txlog.Executed); err != nil {
				t.Fatal(err)
			}
			entries++
		}
		if photo.Of.Position() != at || !bytes.Equal(photo.Bytes(), want) {
			t.Fatalf("the photo is of %d, or other than the copy was at %d", photo.Of.Index, at.Index)
		}
		if entries > 20 {
			t.Errorf("it took %d entries", entries)
		}
	}
	// Where the next scrub comes early, the one before ends first.
	for range 3 {
		before := s.read
		if err := next(txlog.Scrubbed); err != nil || s.read == before || !before.pile.Settle(0) {
			t.Fatal(len(before.rest), err)
		}
	}
}

// The hash of what is read is computed in parts, too, and no part takes longer than it should.
func TestAReadingIsHashedInParts(t *testing.T) {
	t.Parallel()
	const parts = 20
	r, _ := wide(2000).Read(false).(*reading)
	all, hashing := 1, 0
	for ; !r.Next(parts); all++ {
		if len(r.rest) == 0 {
			hashing++
		}
	}
	if !r.pile.Settle(0) || hashing < 2 || all > parts {
		t.Errorf("after %d parts, %d of them after all was read, it is hashed: %v", all, hashing, r.pile.Settle(0))
	}
}

// What memory has lost spoils the copy within half of the entries to the next scrub, wherever it is.
func TestASpreadScrubFindsWhatMemoryLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *Store, key string){
		"a value":  func(s *Store, key string) { s.values.lose(key, key, "j2"+s.Get(key)[2:]) },
		"a key":    func(s *Store, key string) { s.values.lose(key, key+"x", s.Get(key)) },
		"both":     func(s *Store, key string) { s.values.remove(key) },
		"the tree": func(s *Store, key string) { s.tree.Swap(0, txlog.Hash{}, s.values.get(key).sum()) },
	} {
		for _, key := range []string{"k00000", "k01000", "k01999"} {
			c, s, next := scrubbed(t)
			lose(s.Store, key)
			err := next(txlog.Scrubbed)
			for range 20 {
				if err == nil {
					err = next(txlog.Executed)
				}
			}
			if !errors.Is(err, txlog.ErrSpoiled) {
				t.Errorf("%s, %s: %v", name, key, err)
			}
			if err := c.Scrub(); !errors.Is(err, txlog.ErrSpoiled) {
				t.Errorf("%s, %s: a spoiled copy goes on: %v", name, key, err)
			}
		}
	}
}
