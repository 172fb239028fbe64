package keyed

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/txlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var plainRules = Rules{
	Machine: "plain/1", Header: "p", MostKeys: 1 << 20, MostContent: 1 << 30,
	Key: func(b []byte) bool { return len(b) > 0 }, Value: func(b []byte) bool { return b[0] == 'j' },
}

func empty() *Store { return new(New(&plainRules)) }

// plain is a state machine whose goals are a key, a space and its new value.
type plain struct{ *Store }

func newPlain() txlog.State { return plain{empty()} }

func (p plain) Execute(goal []byte, _ *txlog.Budget) txlog.Outcome {
	key, value, _ := strings.Cut(string(goal), " ")
	d := p.Draft()
	d.Set(key, value)
	diff, err := d.Diff()
	if err != nil {
		return txlog.Failed(err.Error())
	}
	return txlog.Outcome{Diff: diff}
}

func (p plain) View() txlog.View { return nil }

func holds(key, text string) Entry { return newEntry(appendEntry(nil, key, text)) }

// lose has memory hold something else in the place of a key than what was put there.
func (x *sorted) lose(place, key, text string) {
	w, _ := x.place(place)
	of := &x.pieces[w.piece].held[w.at]
	*of = (*of)[:sha256.Size] + holds(key, text)[sha256.Size:]
}

func keysOf(all iter.Seq[Entry]) (keys []string) {
	for v := range all {
		keys = append(keys, v.Key())
	}
	return keys
}

// A view answers as the store was, whatever comes and goes: other goroutines ask it meanwhile.
func TestAViewStaysAsItIs(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(3, 4))
	s := empty()
	var asking sync.WaitGroup
	for round := range 40 {
		all, was := s.values.view(), s.Snapshot()
		asking.Go(func() {
			for range 3 {
				now := []byte(plainRules.Header)
				for of := range all.from("") {
					now = appendEntry(now, of.Key(), of.Text())
					if all.get(of.Key()) != of {
						t.Errorf("a view that was taken in round %d has %q, and does not find it", round, of.Key())
					}
				}
				if !bytes.Equal(now, was) {
					t.Errorf("a view that was taken in round %d has changed", round)
				}
			}
		})
		for range 300 { // more than a piece has
			key := fmt.Append(nil, chance.IntN(3000))
			c := step{key: key, at: s.values.get(string(key)), after: fmt.Appendf(nil, "j%d", chance.IntN(100))}
			if chance.IntN(3) == 0 {
				c.after = nil
			}
			if c.at != "" || c.after != nil {
				s.set(c)
			}
		}
	}
	asking.Wait()
	if len(s.values.pieces) < 3 {
		t.Errorf("%d pieces: this test cannot fail", len(s.values.pieces))
	}
}

// Keys stay sorted, whatever comes and goes.
func TestSorted(t *testing.T) {
	t.Parallel()
	chance := rand.New(rand.NewPCG(1, 2))
	var x sorted
	have := map[string]bool{}
	for range 20_000 {
		key := fmt.Sprintf("%c%d", 'a'+chance.IntN(3), chance.IntN(4000))
		if chance.IntN(5) < 2 {
			x.remove(key)
			delete(have, key)
		} else {
			x.put(holds(key, "j"))
			have[key] = true
		}
	}
	var want []string
	for key := range have {
		want = append(want, key)
	}
	slices.Sort(want)
	if got := keysOf(x.from("")); x.count != len(want) || !slices.Equal(got, want) || len(x.pieces) < 5 {
		t.Fatalf("%d keys in %d pieces, want %d keys", len(got), len(x.pieces), len(want))
	}
	for _, from := range []string{"b", "b2", "c3999", "z", want[700]} {
		at, _ := slices.BinarySearch(want, from)
		if got := keysOf(x.from(from)); !slices.Equal(got, want[at:]) {
			t.Errorf("from %s there are %d keys, want %d", from, len(got), len(want)-at)
		}
	}
	for _, prefix := range []string{"", "a", "b1", "c3999", "d", "\xff", "a\xff"} {
		n := 0
		for _, key := range want {
			if strings.HasPrefix(key, prefix) {
				n++
			}
		}
		if got := x.with(prefix); got != n {
			t.Errorf("%d keys begin with %q, want %d", got, prefix, n)
		}
	}
	for _, key := range want {
		x.remove(key)
	}
	if len(x.pieces) > 0 || x.with("") != 0 {
		t.Error("something is left")
	}
}

// A scrub finds a value, a key or a place in the order that memory has lost, though no diff has touched it.
func TestAScrubFindsWhatMemoryLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(s *Store){
		"nothing":      func(*Store) {},
		"a value":      func(s *Store) { s.values.lose("b", "b", "j2") },
		"a key":        func(s *Store) { s.values.remove("b") },
		"a bit of one": func(s *Store) { s.values.lose("b", "c", "j1") },
	} {
		s := empty()
		g := txlog.Genesis{Namespace: "n", Machine: plainRules.Machine, Members: []txlog.Member{{Name: "a", Store: 1}}}.With()
		first := true
		c := txlog.NewCopy(g, func() txlog.State {
			if first {
				first = false
				return plain{s}
			}
			return newPlain()
		})
		for _, goal := range []string{"a j1", "b j1"} {
			o := c.Execute([]byte(goal))
			if _, err := c.Next(txlog.Entry{Kind: txlog.Executed, Term: 1, Leader: "a", GoalID: goal, Goal: []byte(goal), Result: o.Result, Diff: o.Diff}); err != nil {
				t.Fatal(err)
			}
		}
		lose(s)
		if err := c.Scrub(); (err == nil) != (name == "nothing") || err != nil && !errors.Is(err, txlog.ErrSpoiled) {
			t.Errorf("%s: the scrub says %v", name, err)
		}
	}
}
