package majority

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// What a store keeps is read as it was written; what is cut off or longer is refused.
func TestEncodings(t *testing.T) {
	t.Parallel()
	members := []txlog.Member{{Name: "a", Key: txlog.Hash{1}, Store: 1}, {Name: "bb", Key: txlog.Hash{2}, Store: 1 << 62}}
	hard := Hard{Term: 1 << 60, Vote: 7, Commit: 300}
	base := Base{Index: 1 << 40, Term: 3}
	entry := Entry{Index: 5, Term: 4, Change: true, Data: []byte("data")}
	mark := Mark{Base: base, At: txlog.Position{Log: txlog.ID{8}, Index: 9, Term: 10, Hash: txlog.Hash{11}}, Members: members, Leaving: members[:1]}
	for name, c := range map[string]struct {
		b    []byte
		read func([]byte) (any, error)
		want any
	}{
		"hard":  {hard.Encode(), func(b []byte) (any, error) { return decodeHard(b) }, hard},
		"base":  {base.Encode(), func(b []byte) (any, error) { return decodeBase(b) }, base},
		"entry": {entry.Encode(), func(b []byte) (any, error) { return decodeEntry(b) }, entry},
		"mark":  {mark.Encode(), func(b []byte) (any, error) { return decodeMark(b) }, mark},
	} {
		if got, err := c.read(c.b); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
		for n := range c.b {
			if name == "entry" && n >= 4 { // it ends where its data ends
				break
			}
			if _, err := c.read(c.b[:n]); !errors.Is(err, store.ErrDamaged) {
				t.Errorf("%s: the first %d bytes of %d are read: %v", name, n, len(c.b), err)
			}
		}
		if _, err := c.read(append([]byte{0}, c.b[1:]...)); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: bytes of no format are read: %v", name, err)
		}
		if _, err := c.read(append([]byte{9}, c.b[1:]...)); !errors.Is(err, txlog.ErrVersion) || errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: a newer format is %v", name, err)
		}
		if _, err := c.read(append(slices.Clone(c.b), 0)); name != "entry" && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: a longer one is read: %v", name, err)
		}
	}
}

// What a newer program has stored is not damaged: a store that is set aside for it forgets its promises, and a release that is
// rolled back would take those of all members.
func TestOfANewerProgram(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	newer, err := txlog.Seal(txlog.Entry{Log: w.genesis.ID(), Index: 1, Term: 1, Prev: w.genesis.ID(), Kind: txlog.Opening, Leader: "a"})
	if err != nil {
		t.Fatal(err)
	}
	raw := slices.Clone(newer.Raw())
	raw[1] = 99 // its kind
	s := Fresh(w.genesis)
	s.Entries = []Entry{{Index: s.Base.Index + 1, Term: 1, Data: raw}}
	_, tail := s.Tail()
	_, view := newView(s, follows{log: w.genesis.ID()})
	kept := store.NewMemory(3, w.genesis)
	if err := NewPromises(kept).Persist(Persist{Sync: true, Hard: &s.Hard}); err != nil {
		t.Fatal(err)
	}
	all := map[string]error{"tail": tail, "view": view}
	for _, name := range []string{hardName, baseName, markName} {
		other := kept.Clone()
		if err := other.Write(store.Step{Values: map[string][]byte{name: append([]byte{9}, kept.Value(name)[1:]...)}}); err != nil {
			t.Fatal(err)
		}
		_, all[name] = NewPromises(other).Load()
	}
	for what, body := range map[string][]byte{"slot": {9, 0, 2, 1}, "kind of slot": {version, 7, 2, 1}} {
		other := kept.Clone()
		if err := other.Write(store.Step{Slots: []store.Slot{{Index: s.Base.Index + 1, Body: body}}}); err != nil {
			t.Fatal(err)
		}
		_, all[what] = NewPromises(other).Load()
	}
	for what, err := range all {
		if !errors.Is(err, txlog.ErrVersion) || errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Whatever a disk brings is read or refused.
func FuzzDecode(f *testing.F) {
	f.Add(Hard{Term: 1}.Encode())
	f.Add(Fresh(txlog.Genesis{Members: []txlog.Member{{Name: "a", Store: 3}}}).Mark.Encode())
	f.Add(Entry{Index: 1, Term: 2, Data: []byte("x")}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = decodeHard(b)
		_, _ = decodeBase(b)
		if e, err := decodeEntry(b); err == nil {
			_, _, _ = e.Record()
		}
		if m, err := decodeMark(b); err == nil {
			if again, err := decodeMark(m.Encode()); err != nil || !reflect.DeepEqual(m, again) {
				t.Errorf("%+v became %+v, %v", m, again, err)
			}
		}
	})
}

// A step's changes are made in their order, and a crash takes away what was not synced (sync-first).
func TestMemory(t *testing.T) {
	t.Parallel()
	g := txlog.Genesis{Members: []txlog.Member{{Name: "a", Store: 3}}}
	m := NewMemory(Fresh(g))
	entries := func(term uint64, indices ...uint64) (all []Entry) {
		for _, i := range indices {
			all = append(all, Entry{Index: i, Term: term})
		}
		return all
	}
	say := func(want string) {
		t.Helper()
		s, _ := m.Load()
		got := ""
		for _, e := range s.Entries {
			got += string(rune('a'+e.Index)) + string(rune('0'+e.Term)) + " "
		}
		if got != want {
			t.Errorf("entries %q, want %q", got, want)
		}
	}
	_ = m.Persist(Persist{Sync: true, Entries: entries(2, 2, 3, 4, 5)})
	say("c2 d2 e2 f2 ")
	_ = m.Persist(Persist{Entries: entries(3, 4)})
	say("c2 d2 e3 ")
	m.Crash()
	say("c2 d2 e2 f2 ")
	_ = m.Persist(Persist{Sync: true, Hard: &Hard{Term: 3, Vote: 3, Commit: 4}, Entries: entries(3, 4, 5), Base: &Base{Index: 3, Term: 2}})
	m.Crash()
	say("e3 f3 ")
	if s, _ := m.Load(); s.Hard.Term != 3 || s.Base.Index != 3 {
		t.Errorf("%+v", s)
	}
	to := Mark{Base: Base{Index: 90, Term: 5}, Members: g.Members}
	_ = m.Persist(Persist{Sync: true, Reset: &to, Entries: entries(6, 91)})
	if s, _ := m.Load(); s.Base.Index != 90 || s.Mark.Index != 90 || len(s.Entries) != 1 {
		t.Errorf("%+v", s)
	}
	if !(&Persist{}).Empty() || (&Persist{Mark: &to}).Empty() {
		t.Error("which one is empty?")
	}
}

// A store that is told of nothing has the genesis, and a log that goes on with the indices of an older one too.
func TestFresh(t *testing.T) {
	t.Parallel()
	g := newWorld(t, 1, 3).genesis
	g.Parent = txlog.Position{Log: txlog.ID{1}, Index: 500, Term: 9, Hash: txlog.Hash{2}}
	s := Fresh(g)
	if s.Mark.At.Index != 500 || s.Mark.At.Hash != g.ID() {
		t.Errorf("%+v", s.Mark)
	}
	m, err := New(Config{Self: "a", Store: 100, Log: g.ID(), Stored: s, Lease: round, Look: func([]txlog.Record) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Snapshot(); s.Committed.Index != 500 || s.Stored != 500 || !s.Member {
		t.Errorf("%+v", s)
	}
}
