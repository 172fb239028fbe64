package txlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// Whatever is encoded is read as it was, and has the same hash.
func TestWhatIsEncodedIsRead(t *testing.T) {
	t.Parallel()
	c, all := sampleLog(t)
	same := func(a, b Record) bool {
		return reflect.DeepEqual(a.Entry, b.Entry) && bytes.Equal(a.Raw(), b.Raw()) && a.Hash() == b.Hash()
	}
	for _, r := range all {
		opened, err := Open(r.Raw())
		if err != nil || !same(opened, r) {
			t.Errorf("%s is read as %+v, %v", r.Kind, opened, err)
		}
		again, err := Seal(opened.Entry)
		if err != nil || !same(again, r) {
			t.Errorf("%s is sealed again as %+v, %v", r.Kind, again, err)
		}
	}
	if g, err := DecodeGenesis(c.Genesis().Encode()); err != nil || !reflect.DeepEqual(g, c.Genesis()) || g.ID() != c.Position().Log {
		t.Errorf("the genesis is read as %+v, %v", g, err)
	}
	head := sampleHead(t)
	if h, err := DecodeHead(head.Encode()); err != nil || !reflect.DeepEqual(h, head) {
		t.Errorf("the head is read as %+v, %v", h, err)
	}
}

// Empty lists and no lists are the same thing, so an entry that came by the network equals the one that its maker has.
func TestAnEmptyListIsNone(t *testing.T) {
	t.Parallel()
	e := goal("g1", "")
	e.Log, e.Index, e.Goal, e.Result, e.Diff = counting(1), 1, []byte{}, []byte{}, []byte{}
	e.Effects, e.Members = []Effect{{Kind: "mail", Body: []byte{}}}, []Member{}
	r, err := Seal(e)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := Open(r.Raw()); err != nil || !reflect.DeepEqual(opened, r) {
		t.Errorf("it is read as %+v, %v; it was %+v", opened, err, r)
	}
	if e.Effects[0].Body == nil {
		t.Error("the caller's entry has changed")
	}
	bytesOfAnother := bytes.Clone(r.Raw())
	opened, err := Open(bytesOfAnother)
	clear(bytesOfAnother)
	if err != nil || !bytes.Equal(opened.Raw(), r.Raw()) {
		t.Errorf("it keeps the bytes that it was given: %v", err)
	}
	opening := of(Opening)
	opening.Goal, opening.Members = []byte{}, []Member{}
	if _, err := NewCopy(sampleGenesis(), newToy).Next(opening); err != nil {
		t.Errorf("an opening with an empty goal: %v", err)
	}
}

// Every field of an entry is in its hash, and so is where it stands (V7): no two entries that differ have one hash.
func TestEveryFieldIsInTheHash(t *testing.T) {
	t.Parallel()
	base := goal("g1", "light=red")
	base.Log, base.Index, base.Result, base.Diff, base.Effects = counting(1), 7, []byte("r"), []byte("d"), []Effect{{Kind: "mail", Body: []byte("b")}}
	seen := map[Hash]string{}
	for name, change := range map[string]func(e *Entry){
		"nothing": func(*Entry) {}, "log": func(e *Entry) { e.Log[31]++ }, "index": func(e *Entry) { e.Index++ },
		"term": func(e *Entry) { e.Term++ }, "prev": func(e *Entry) { e.Prev[0]++ }, "leader": func(e *Entry) { e.Leader = "bob" },
		"at": func(e *Entry) { e.At++ }, "state": func(e *Entry) { e.State[5]++ }, "goal id": func(e *Entry) { e.GoalID = "g2" },
		"goal": func(e *Entry) { e.Goal = []byte("light=blue") }, "result": func(e *Entry) { e.Result = []byte("s") },
		"fault": func(e *Entry) { e.Fault, e.Diff, e.Effects = "x", nil, nil }, "diff": func(e *Entry) { e.Diff = []byte("e") },
		"an effect's kind": func(e *Entry) { e.Effects = []Effect{{Kind: "post", Body: []byte("b")}} },
		"an effect's body": func(e *Entry) { e.Effects = []Effect{{Kind: "mail", Body: []byte("c")}} },
		"two effects":      func(e *Entry) { e.Effects = append(e.Effects[:1:1], e.Effects[0]) },
		"moved by a byte":  func(e *Entry) { e.GoalID, e.Goal = "g", append([]byte("1"), e.Goal...) },
	} {
		e := base
		change(&e)
		r, err := Seal(e)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if other, is := seen[r.Hash()]; is {
			t.Errorf("%s and %s have one hash", name, other)
		}
		seen[r.Hash()] = name
	}
}

// Each limit has its error, at the maker's as at the reader's.
func TestBadEntries(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", limits.MostName+1)
	for name, c := range map[string]struct {
		change func(e *Entry)
		want   error
	}{
		"no kind":              {func(e *Entry) { e.Kind = 0 }, ErrVersion},
		"a kind of tomorrow":   {func(e *Entry) { e.Kind = Performed + 1 }, ErrVersion},
		"index 0":              {func(e *Entry) { e.Index = 0 }, ErrMalformed},
		"term 0":               {func(e *Entry) { e.Term = 0 }, ErrMalformed},
		"nobody's":             {func(e *Entry) { e.Leader = "" }, ErrMalformed},
		"a long name":          {func(e *Entry) { e.Leader = long }, ErrMalformed},
		"a name that is none":  {func(e *Entry) { e.Leader = "\xff" }, ErrMalformed},
		"no goal id":           {func(e *Entry) { e.GoalID = "" }, ErrMalformed},
		"a goal id, too long":  {func(e *Entry) { e.GoalID = strings.Repeat("x", limits.MostGoalID+1) }, ErrMalformed},
		"a goal, too large":    {func(e *Entry) { e.Goal = make([]byte, MostGoal+1) }, ErrSize},
		"a result, too large":  {func(e *Entry) { e.Result = make([]byte, limits.MostResult+1) }, ErrSize},
		"a fault, too long":    {func(e *Entry) { e.Fault = strings.Repeat("x", limits.MostFault+1) }, ErrSize},
		"a diff, too large":    {func(e *Entry) { e.Diff = make([]byte, limits.MostDiff+1) }, ErrSize},
		"effects, too many":    {func(e *Entry) { e.Effects = make([]Effect, limits.MostEffects+1) }, ErrSize},
		"an effect of no kind": {func(e *Entry) { e.Effects = make([]Effect, 1) }, ErrSize},
		"an effect, too large": {func(e *Entry) { e.Effects = []Effect{{Kind: "x", Body: make([]byte, limits.MostEffect+1)}} }, ErrSize},
		"a fault and a diff":   {func(e *Entry) { e.Fault, e.Diff = "x", []byte("x") }, ErrMalformed},
		"a fault and effects":  {func(e *Entry) { e.Fault, e.Effects = "x", []Effect{{Kind: "x"}} }, ErrMalformed},
		"a goal with members":  {func(e *Entry) { e.Members = sampleGenesis().Members }, ErrMalformed},
		"a goal that performs": {func(e *Entry) { e.Upto = Key{Index: 1} }, ErrMalformed},
		"a scrub with a goal":  {func(e *Entry) { e.Kind = Scrubbed }, ErrMalformed},
		"what comes later":     {func(e *Entry) { *e = Entry{Kind: Performed, Index: 7, Term: 1, Leader: "ann", Upto: Key{Index: 7}} }, ErrMalformed},
		"no members":           {func(e *Entry) { *e = Entry{Kind: Changed, Index: 7, Term: 1, Leader: "ann"} }, ErrSize},
	} {
		e := goal("g1", "light=red")
		e.Log, e.Index = counting(1), 7
		c.change(&e)
		if _, err := Seal(e); !errors.Is(err, c.want) {
			t.Errorf("%s is sealed: %v, want %v", name, err, c.want)
		}
		// What another kind has is not written at all.
		if r, err := Open(encode(&e)); err == nil && reflect.DeepEqual(r.Entry, e) {
			t.Errorf("%s is opened", name)
		}
	}
}

// A genesis with a fault begins no log.
func TestBadGeneses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(g *Genesis)
		want   error
	}{
		"no namespace":            {func(g *Genesis) { g.Namespace = "" }, ErrMalformed},
		"no machine":              {func(g *Genesis) { g.Machine = "" }, ErrMalformed},
		"no lease":                {func(g *Genesis) { g.LeaseMS = 0 }, ErrSize},
		"a lease of a day":        {func(g *Genesis) { g.LeaseMS = 86_400_000 }, ErrSize},
		"no retention":            {func(g *Genesis) { g.Retention = 0 }, ErrSize},
		"a retention for ever":    {func(g *Genesis) { g.Retention = limits.MostRetention + 1 }, ErrSize},
		"no scrub":                {func(g *Genesis) { g.Scrub = 0 }, ErrSize},
		"no members":              {func(g *Genesis) { g.Members = nil }, ErrSize},
		"ten members":             {func(g *Genesis) { g.Members = make([]Member, MostMembers+1) }, ErrSize},
		"members out of order":    {func(g *Genesis) { g.Members[0], g.Members[1] = g.Members[1], g.Members[0] }, ErrMalformed},
		"one member twice":        {func(g *Genesis) { g.Members[1].Name = g.Members[0].Name }, ErrMalformed},
		"one store twice":         {func(g *Genesis) { g.Members[1].Store = g.Members[0].Store }, ErrMalformed},
		"one key twice":           {func(g *Genesis) { g.Members[1].Key = g.Members[0].Key }, ErrMalformed},
		"a store without an id":   {func(g *Genesis) { g.Members[1].Store = 0 }, ErrMalformed},
		"a parent without state":  {func(g *Genesis) { g.Parent.Log = counting(4) }, ErrMalformed},
		"a state without parent":  {func(g *Genesis) { g.State = counting(4) }, ErrMalformed},
		"an index without parent": {func(g *Genesis) { g.Parent.Index = 4 }, ErrMalformed},
	} {
		g := sampleGenesis()
		c.change(&g)
		if err := g.Check(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if _, err := DecodeGenesis(g.Encode()); err == nil {
			t.Errorf("%s is decoded", name)
		}
	}
}

// A genesis that leaves out what is usual has it, and what it says stays.
func TestWhatIsUsual(t *testing.T) {
	t.Parallel()
	if g := (Genesis{}).With(); g.LeaseMS != defaultLease || g.Retention != DefaultRetention || g.Scrub != defaultScrub {
		t.Errorf("it is %+v", g)
	}
	if g := (Genesis{LeaseMS: 500, Retention: 7, Scrub: 9}).With(); g.LeaseMS != 500 || g.Retention != 7 || g.Scrub != 9 {
		t.Errorf("it is %+v", g)
	}
}

// Bytes that are not the one way to write a thing are refused: else two records with two hashes would be one entry.
func TestOnlyOneWayToWrite(t *testing.T) {
	t.Parallel()
	_, all := sampleLog(t)
	raw := all[1].Raw()
	index := 2 + 32 // where the index is, which is 2
	for name, bad := range map[string][]byte{
		"a byte more":      append(bytes.Clone(raw), 0),
		"a byte less":      raw[:len(raw)-1],
		"nothing":          nil,
		"a long number":    append(append(bytes.Clone(raw[:index]), 0x82, 0), raw[index+1:]...),
		"an endless one":   append(append(bytes.Clone(raw[:index]), bytes.Repeat([]byte{0xff}, 11)...), raw[index+1:]...),
		"version 0":        append([]byte{0}, raw[1:]...),
		"a larger version": append([]byte{version + 1}, raw[1:]...),
		"too many bytes":   make([]byte, limits.MostRecord+1),
	} {
		want := ErrMalformed
		switch name {
		case "a larger version":
			want = ErrVersion
		case "too many bytes":
			want = ErrSize
		}
		if _, err := Open(bad); !errors.Is(err, want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reader refuses what is longer than its limit, and numbers that no machine can count to.
func TestLongNamesAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := DecodeHead(Head{Member: strings.Repeat("x", limits.MostName+1)}.Encode()); !errors.Is(err, ErrSize) {
		t.Errorf("a long name: %v", err)
	}
	for _, n := range []uint64{1 << 31, 1 << 32, 1 << 63, 1<<64 - 1} {
		if _, err := DecodeGenesis(binary.AppendUvarint([]byte{version}, n)); !errors.Is(err, ErrSize) {
			t.Errorf("a name of %d bytes: %v", n, err)
		}
	}
}

// A reader takes memory by what came, and not by what it says is coming. No other test runs meanwhile.
func TestMemoryIsTakenByLength(t *testing.T) {
	head := func(b []byte) []byte { return append([]byte{version}, b...) }
	huge := binary.AppendUvarint(nil, 1<<40)
	most := binary.AppendUvarint(nil, MostState)
	_, all := sampleLog(t)
	snapshot := after(t, all).Snapshot()
	end := bytes.LastIndex(snapshot, []byte("light"))
	for name, read := range map[string]func() error{
		"a record": func() error { _, err := Open(append(bytes.Clone(all[1].Raw()[:99]), huge...)); return err },
		"a name":   func() error { _, err := DecodeGenesis(head(huge)); return err },
		"members":  func() error { _, err := DecodeGenesis(head(append([]byte{1, 'n', 1, 'm'}, 9))); return err },
		"a head":   func() error { _, err := DecodeHead(head(huge)); return err },
		"a state": func() error {
			_, err := Restore(append(bytes.Clone(snapshot[:end-1]), most...), newToy)
			return err
		},
		"results": func() error {
			_, err := Restore(append(bytes.Clone(snapshot[:end-1]), binary.AppendUvarint(nil, limits.MostRetention)...), newToy)
			return err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := read()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || took > 64<<10 {
			t.Errorf("%s takes %d bytes, and says %v", name, took, err)
		}
	}
}
