package majority

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/quorum/disk"
	"github.com/conchhq/conch/txlog/store"
)

// What a member has promised, in a file, is what the model has: after any steps, and after a restart.
func TestPromises(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "log")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	id, err := disk.Create(t.Context(), path)
	must(err)
	g := storetest.Genesis(id)
	s, err := disk.Begin(t.Context(), path, g)
	must(err)
	defer func() { must(s.Close()) }()
	m, want := NewPromises(s), NewMemory(Fresh(g))
	chance := rand.New(rand.NewPCG(4, 4))
	c := storetest.Copy(g)
	same := func(step int) {
		t.Helper()
		have, err := m.Load()
		must(err)
		w, err := want.Load()
		must(err)
		if len(have.Entries) == 0 && len(w.Entries) == 0 {
			have.Entries, w.Entries = nil, nil
		}
		if !reflect.DeepEqual(have, w) {
			t.Fatalf("step %d:\nhave %+v\nwant %+v", step, have, w)
		}
	}
	same(-1)
	for n := range 200 {
		now, err := want.Load()
		must(err)
		p := Persist{Sync: chance.IntN(2) == 0}
		last := now.Base.Index + uint64(len(now.Entries))
		switch chance.IntN(5) {
		case 0:
			p.Hard = &Hard{Term: uint64(n), Vote: chance.Uint64N(1 << 53), Commit: now.Hard.Commit}
		case 1, 2: // what is above the mark may be replaced
			at := now.Mark.Index + 1 + chance.Uint64N(last-now.Mark.Index+1)
			for range 1 + chance.IntN(3) {
				p.Entries = append(p.Entries, Entry{Index: at, Term: uint64(n), Change: chance.IntN(5) == 0, Data: []byte{byte(n)}})
				at++
			}
		case 3: // records are committed
			if last == now.Mark.Index {
				continue
			}
			p.Records, err = storetest.Grow(c, 1+chance.IntN(2), 20)
			must(err)
			mark := now.Mark
			mark.Base, mark.At = Base{Index: now.Mark.Index + 1, Term: uint64(n)}, c.Position()
			p.Mark = &mark
		case 4:
			p.Base = &Base{Index: now.Base.Index + chance.Uint64N(now.Mark.Index-now.Base.Index+1), Term: 1}
			if n%10 == 0 { // a snapshot: the records have come another way, and some come again
				records, err := storetest.Grow(c, 3, 20)
				must(err)
				must(s.Write(store.Step{Records: records}))
				mark := now.Mark
				mark.Base, mark.At = Base{Index: last + 10, Term: 2}, c.Position()
				p = Persist{Sync: true, Reset: &mark, Records: records[1:]}
			}
		}
		must(m.Persist(p))
		must(want.Persist(p))
		same(n)
		if n%13 == 0 {
			must(s.Close())
			s, err = disk.Open(t.Context(), path)
			must(err)
			m = NewPromises(s)
			same(n)
		}
	}
	if s.View().Last != c.Position() {
		t.Error("records are missing")
	}
	other, err := storetest.Grow(storetest.Copy(storetest.Genesis(99)), 1, 1)
	must(err)
	if err := m.Persist(Persist{Records: []txlog.Record{other[0]}}); !errors.Is(err, store.ErrStep) {
		t.Errorf("a committed record is replaced: %v", err)
	}
	now, err := m.Load()
	must(err)
	beyond, between := now.Mark, now.Base
	beyond.At.Index = s.View().Last.Index + 1
	must(m.Persist(Persist{Sync: true, Entries: []Entry{{Index: now.Mark.Index + 1, Term: 1000}}}))
	between.Index--
	for what, of := range map[string]struct {
		name          string
		sound, broken []byte
	}{
		"a mark that cannot be read":                    {markName, now.Mark.Encode(), []byte{1}},
		"a mark beyond the last record":                 {markName, now.Mark.Encode(), beyond.Encode()},
		"entries that do not begin where the base says": {baseName, now.Base.Encode(), between.Encode()},
	} {
		must(s.Write(store.Step{Values: map[string][]byte{of.name: of.broken}}))
		if _, err := m.Load(); !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", what, err)
		}
		must(s.Write(store.Step{Values: map[string][]byte{of.name: of.sound}}))
	}
	if _, err := m.Load(); err != nil {
		t.Error(err)
	}
}
