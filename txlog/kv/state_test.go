package kv

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// Diffs and snapshots never change their bytes: they are in logs and on disks. Another form is another machine.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	s := New()
	do(t, s, `{"ops":[{"op":"put","key":"b","value":1},{"op":"put","key":"a","base64":"AP8="}]}`)
	first := s.Hash()
	o := do(t, s, `{"ops":[{"op":"add","key":"b"},{"op":"delete","key":"a"},{"op":"put","key":"c","value":{"x":null}}]}`)
	text := fmt.Sprintf("first %s\ndiff %s\nthen %s\nsnapshot %s\n", first, hex.EncodeToString(o.Diff), s.Hash(), hex.EncodeToString(s.Snapshot()))
	storytest.Golden(t, *update, filepath.Join("testdata", "golden", "bytes.hex"), text)
}

// A diff names keys and the values before and after, which every node has: nothing of one node's own (V5). So it fits
// another node's store, and no store in which a value is another one (B14).
func TestADiffIsOfKeys(t *testing.T) {
	t.Parallel()
	a, b := New(), empty()
	do(t, a, `{"op":"put","key":"x","value":"before"}`)
	for i := range 1000 { // b has had another life
		b.set(step{key: fmt.Append(nil, i), after: []byte("j1")})
	}
	for i := range 1000 {
		b.set(step{key: fmt.Append(nil, i), at: b.values.get(fmt.Sprint(i))})
	}
	do(t, b, `{"op":"put","key":"x","value":"before"}`)
	o := a.Execute([]byte(`{"ops":[{"op":"put","key":"x","value":"after"},{"op":"put","key":"w","value":1}]}`), nil)
	if !bytes.Contains(o.Diff, []byte("before")) || !bytes.Contains(o.Diff, []byte("after")) {
		t.Errorf("the diff is %q", o.Diff)
	}
	if err := b.Apply(o.Diff); err != nil {
		t.Fatal(err)
	}
	if err := a.Apply(o.Diff); err != nil || a.Hash() != b.Hash() || !bytes.Equal(a.Snapshot(), b.Snapshot()) {
		t.Errorf("the stores differ: %v", err)
	}
	if b.size != len(b.Snapshot()) {
		t.Errorf("it is taken for %d bytes, and has %d", b.size, len(b.Snapshot()))
	}
	before := b.Hash()
	if err := b.Apply(o.Diff); !errors.Is(err, txlog.ErrDiff) || b.Hash() != before {
		t.Errorf("the same diff again: %v", err)
	}
}

// What is no diff, or none that Execute makes, is refused before anything changes.
func TestBadDiffs(t *testing.T) {
	t.Parallel()
	s := New()
	do(t, s, `{"op":"put","key":"a","value":1}`)
	before := s.Snapshot()
	ok := appendChange(nil, change{"b", "", "j1"})
	for name, c := range map[string]struct {
		diff []byte
		want error
	}{
		"a later one is wrong":    {append(bytes.Clone(ok), appendChange(nil, change{"c", "j2", "j3"})...), txlog.ErrDiff},
		"it is there":             {appendChange(nil, change{"a", "", "j3"}), txlog.ErrDiff},
		"it is another one":       {appendChange(nil, change{"a", "j2", ""}), txlog.ErrDiff},
		"one key twice":           {append(bytes.Clone(ok), ok...), txlog.ErrMalformed},
		"out of order":            {append(bytes.Clone(ok), appendChange(nil, change{"aa", "", "j1"})...), txlog.ErrMalformed},
		"no change":               {appendChange(nil, change{"a", "j1", "j1"}), txlog.ErrMalformed},
		"a value of no kind":      {appendChange(nil, change{"b", "", "1"}), txlog.ErrMalformed},
		"a value, too large":      {appendChange(nil, change{"b", "", "b" + strings.Repeat("x", mostValue+1)}), txlog.ErrMalformed},
		"no key":                  {appendChange(nil, change{"", "", "j1"}), txlog.ErrMalformed},
		"a key of two lines":      {appendChange(nil, change{"b\n", "", "j1"}), txlog.ErrMalformed},
		"a key, too long":         {appendChange(nil, change{strings.Repeat("k", mostKey+1), "", "j1"}), txlog.ErrMalformed},
		"a key that is no text":   {appendChange(nil, change{"\xff", "", "j1"}), txlog.ErrMalformed},
		"cut off":                 {ok[:len(ok)-1], txlog.ErrMalformed},
		"cut off within a number": {append(bytes.Clone(ok), 0x80), txlog.ErrMalformed},
		"a number, too long":      {append([]byte{0x81, 0}, appendChange(nil, change{"c", "", "j1"})[1:]...), txlog.ErrMalformed},
		"a number, far too long":  {append([]byte{0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1}, appendChange(nil, change{"c", "", "j1"})[1:]...), txlog.ErrMalformed},
		"a number, too large":     {append(bytes.Clone(ok), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), txlog.ErrMalformed},
	} {
		if err := s.Apply(c.diff); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if !bytes.Equal(s.Snapshot(), before) {
			t.Fatalf("%s: the store has changed", name)
		}
	}
}

// So is what is no snapshot.
func TestBadSnapshots(t *testing.T) {
	t.Parallel()
	entry, part := appendEntry(nil, "b", "j1"), []byte(header) // as many as are read by one processor at a time
	for i := range mostInPiece / 2 {
		part = appendEntry(part, fmt.Sprintf("k%03d", i), "j1")
	}
	whole, of := appendEntry(bytes.Clone(part), "k9", "j1"), empty()
	if err := of.Restore(whole); err != nil || of.size != len(whole) || !bytes.Equal(of.Snapshot(), whole) {
		t.Errorf("of %d bytes %d are there: %v", len(whole), of.size, err)
	}
	for name, bad := range map[string][]byte{
		"a part out of order": appendEntry(bytes.Clone(part), "k100", "j1"), "a part, the last key again": appendEntry(bytes.Clone(part), "k255", "j1"),
		"a part that is cut off": append(bytes.Clone(part), 2, 'z'), "a part without a value": appendEntry(bytes.Clone(part), "z", ""),
		"nothing": nil, "another format": []byte("kv2"), "cut off": append([]byte(header), entry[:3]...),
		"one key twice": append(append([]byte(header), entry...), entry...), "out of order": append(append([]byte(header), entry...), appendEntry(nil, "a", "j1")...),
		"no value": append([]byte(header), appendEntry(nil, "b", "")...), "a value of no kind": append([]byte(header), appendEntry(nil, "b", "1")...),
		"no key": append([]byte(header), appendEntry(nil, "", "j1")...),
	} {
		s := New()
		if err := s.Restore(bad); !errors.Is(err, txlog.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
		if s.Hash() != New().Hash() || len(s.Snapshot()) != len(header) {
			t.Errorf("%s: it was refused, and something is there", name)
		}
	}
}

// What would break a limit fails, and says which one; what is smaller than before is always allowed.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := empty()
	text := strings.Repeat("x", mostValue-2)
	put := func(key, value string) string { return fmt.Sprintf(`{"op":"put","key":%q,"value":%q}`, key, value) }
	list := func(n int, op func(i int) string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = op(i)
		}
		return `{"ops":[` + strings.Join(all, ",") + `]}`
	}
	add := func(i int) string { return fmt.Sprintf(`{"op":"add","key":"%d","by":-9223372036854775807}`, i) }
	for i, c := range []struct{ goal, says string }{
		{put("large", text), ""},
		{put("large", text+"x"), "limit: a value of 32769 bytes"},
		{put(strings.Repeat("k", mostKey), "1"), ""},
		{put(strings.Repeat("k", mostKey+1), "1"), "bad goal"},
		{list(mostOps, add), ""},
		{list(mostOps+1, add), "limit: 101 operations"},
		{"{\"op\":\"put\",\"key\":\"large\",\"value\":\"\xff\"}", "bad goal: it is no text"},
	} {
		o := do(t, s, c.goal)
		if c.says == "" && o.Fault != "" || !strings.HasPrefix(o.Fault, c.says) {
			t.Errorf("case %d: %.100s", i, o.Fault)
		}
	}
	for i := range 40 {
		do(t, s, put(fmt.Sprint("big", i), text))
	}
	if o := do(t, s, list(40, func(i int) string { return fmt.Sprintf(`{"op":"delete","key":"big%d"}`, i) })); !strings.HasPrefix(o.Fault, "limit: it changes 13") {
		t.Errorf("a large diff: %s", o.Fault)
	}
	s.size += mostContent // as if more were there
	if o := do(t, s, put("one more", "1")); !strings.HasPrefix(o.Fault, "limit: the store would have") {
		t.Errorf("a full store: %q", o.Fault)
	}
	if o := do(t, s, `{"op":"delete","key":"big7"}`); o.Fault != "" {
		t.Errorf("a full store cannot be emptied: %s", o.Fault)
	}
}

// The number of keys has a limit too, since a small key takes more memory than its bytes.
func TestTheNumberOfKeysIsLimited(t *testing.T) {
	t.Parallel()
	s := empty()
	for i := range mostKeys {
		s.values.put(holds(fmt.Sprint(i), "j1"))
	}
	if o := s.Execute([]byte(`{"op":"put","key":"x","value":1}`), nil); !strings.Contains(o.Fault, "keys, of 524288") {
		t.Errorf("one key more: %q", o.Fault)
	}
	if o := s.Execute([]byte(`{"ops":[{"op":"put","key":"x","value":1},{"op":"delete","key":"7"}]}`), nil); o.Fault != "" {
		t.Errorf("one for another: %q", o.Fault)
	}
}

// A list that goes on from one answer to the next has each entry once, in order, and no answer is much larger than the
// limit, whatever the values.
func TestListsGoOn(t *testing.T) {
	t.Parallel()
	s := New()
	var want []string
	for i := range 300 {
		key := fmt.Sprintf("k/%03d", i)
		size := []int{1, 100, mostValue - 2}[i%3]
		want = append(want, key)
		do(t, s, fmt.Sprintf(`{"op":"put","key":%q,"value":%q}`, key, strings.Repeat("x", size)))
	}
	for _, most := range []int{1, 7, 9999} {
		var got []string
		for l := (List{More: true}); l.More; {
			answer, err := txlog.Ask(s.View(), fmt.Appendf(nil, `{"prefix":"k/","limit":%d,"after":%q}`, most, l.After))
			if err != nil {
				t.Fatal(err)
			}
			l = List{}
			if err := json.Unmarshal(answer, &l); err != nil || len(answer) > mostAnswer+1000 || len(l.Entries) > min(most, mostListed) || l.More && len(l.Entries) == 0 {
				t.Fatalf("an answer of %d bytes with %d entries: %v", len(answer), len(l.Entries), err)
			}
			for _, e := range l.Entries {
				got = append(got, e.Key)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with limit %d: %d keys", most, len(got))
		}
	}
}

func holds(key, text string) held { return newHeld(appendEntry(nil, key, text)) }

// lose has memory hold something else in the place of a key than what was put there.
func (x *sorted) lose(place, key, text string) {
	w, _ := x.place(place)
	of := &x.pieces[w.piece].held[w.at]
	*of = (*of)[:sha256.Size] + holds(key, text)[sha256.Size:]
}

func keysOf(all iter.Seq[held]) (keys []string) {
	for v := range all {
		keys = append(keys, v.key())
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
				now := []byte(header)
				for of := range all.from("") {
					now = appendEntry(now, of.key(), of.text())
					if all.get(of.key()) != of {
						t.Errorf("a view that was taken in round %d has %q, and does not find it", round, of.key())
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
	for name, lose := range map[string]func(s *State){
		"nothing":      func(*State) {},
		"a value":      func(s *State) { s.values.lose("b", "b", "j2") },
		"a key":        func(s *State) { s.values.remove("b") },
		"a bit of one": func(s *State) { s.values.lose("b", "c", "j1") },
	} {
		s := empty()
		g := txlog.Genesis{Namespace: "n", Machine: Machine, Members: []txlog.Member{{Name: "a", Store: 1}}}.With()
		first := true
		c := txlog.NewCopy(g, func() txlog.State {
			if first {
				first = false
				return s
			}
			return New()
		})
		goal := []byte(`{"ops":[{"op":"put","key":"a","value":1},{"op":"put","key":"b","value":1}]}`)
		o := c.Execute(goal)
		if _, err := c.Next(txlog.Entry{Kind: txlog.Executed, Term: 1, Leader: "a", GoalID: "1", Goal: goal, Result: o.Result, Diff: o.Diff}); err != nil {
			t.Fatal(err)
		}
		lose(s)
		if err := c.Scrub(); (err == nil) != (name == "nothing") || err != nil && !errors.Is(err, txlog.ErrSpoiled) {
			t.Errorf("%s: the scrub says %v", name, err)
		}
	}
}

// A conflict is told from the faults that trying again does not mend, by how its text begins.
func TestAConflictSaysSo(t *testing.T) {
	t.Parallel()
	s := New()
	for goal, is := range map[string]bool{`{"op":"check","key":"a","expect":1}`: true, `{"op":"check","key":"conflict: "}`: false} {
		if o := do(t, s, goal); strings.HasPrefix(o.Fault, "conflict: ") != is {
			t.Errorf("%s: %q", goal, o.Fault)
		}
	}
}

// No goal uses its budget up: what it may take is limited by its length, also where its values grow in their one form.
func TestNoGoalTakesTooManySteps(t *testing.T) {
	t.Parallel()
	value := "[" + strings.Repeat("1e20,", 1450) + "1]" // of 7 KB, which become 32
	var ops []string
	for i := range 8 {
		ops = append(ops, fmt.Sprintf(`{"op":"put","key":"k%d","value":%s}`, i, value))
	}
	goal := []byte(`{"ops":[` + strings.Join(ops, ",") + `]}`)
	if o := txlog.Run(New(), goal); o.Fault != "" || len(goal) > txlog.MostGoal || len(o.Diff) < 8*mostValue*9/10 {
		t.Errorf("a goal of %d bytes, with a diff of %d: %q", len(goal), len(o.Diff), o.Fault)
	}
	if o := txlog.RunWithin(New(), goal, limits.MostSteps/3); o.Fault != "" {
		t.Errorf("with a third of the steps: %q", o.Fault)
	}
	if o := txlog.RunWithin(New(), goal, limits.MostSteps/4); o.Fault == "" {
		t.Error("the values cost nothing")
	}
}
