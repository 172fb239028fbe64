package kv

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/storytest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/keyed"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// The bytes of diffs and snapshots, as they are written down in logs and on disks: here once more, and on purpose by no function of package keyed.

type change struct{ key, before, after string }

const (
	header      = "kv1"
	mostInPiece = 512 // entries that one processor reads at a time, and as many again
)

func appendEntry(out []byte, texts ...string) []byte {
	for _, s := range texts {
		out = append(binary.AppendUvarint(out, uint64(len(s))), s...)
	}
	return out
}

func appendChange(out []byte, c change) []byte { return appendEntry(out, c.key, c.before, c.after) }

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
	a, b := New(), New()
	do(t, a, `{"op":"put","key":"x","value":"before"}`)
	for i := range 1000 { // b has had another life
		do(t, b, fmt.Sprintf(`{"op":"put","key":"%d","value":1}`, i))
	}
	for i := range 1000 {
		do(t, b, fmt.Sprintf(`{"op":"delete","key":"%d"}`, i))
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
	if b, is := b.(*State); !is || b.Size() != len(b.Snapshot()) {
		t.Errorf("it is taken for %d bytes, and has %d", b.Size(), len(b.Snapshot()))
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
	whole, of := appendEntry(bytes.Clone(part), "k9", "j1"), &State{keyed.New(&rules)}
	if err := of.Restore(whole); err != nil || of.Size() != len(whole) || !bytes.Equal(of.Snapshot(), whole) {
		t.Errorf("of %d bytes %d are there: %v", len(whole), of.Size(), err)
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
	s := New()
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
	full := rules
	full.MostContent = len(s.Snapshot())
	less := &State{keyed.New(&full)} // as if more were there
	if err := less.Restore(s.Snapshot()); err != nil {
		t.Fatal(err)
	}
	if o := do(t, less, put("one more", "1")); !strings.HasPrefix(o.Fault, "limit: the store would have") {
		t.Errorf("a full store: %q", o.Fault)
	}
	if o := do(t, less, `{"op":"delete","key":"big7"}`); o.Fault != "" {
		t.Errorf("a full store cannot be emptied: %s", o.Fault)
	}
}

// The number of keys has a limit too, since a small key takes more memory than its bytes.
func TestTheNumberOfKeysIsLimited(t *testing.T) {
	t.Parallel()
	few := rules
	few.MostKeys = 100
	s := &State{keyed.New(&few)}
	for i := range few.MostKeys {
		do(t, s, fmt.Sprintf(`{"op":"put","key":"%d","value":1}`, i))
	}
	if o := s.Execute([]byte(`{"op":"put","key":"x","value":1}`), nil); !strings.Contains(o.Fault, "keys, of 100 at most") {
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
