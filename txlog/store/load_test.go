package store_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
	"github.com/conchhq/conch/txlog/store/storetest"
)

// A snapshot of a newer program is not damaged: a store that is set aside for it forgets what it has promised.
func TestASnapshotOfANewerProgram(t *testing.T) {
	t.Parallel()
	g := storetest.Genesis(1)
	c := storetest.Copy(g)
	records, err := storetest.Grow(c, 2, 10)
	if err != nil {
		t.Fatal(err)
	}
	last := records[1].Raw()
	newer := bytes.Clone(last)
	newer[1] = 99 // its kind
	for what, with := range map[string][]byte{"newer": newer, "damaged": append([]byte{last[0], last[1] ^ 1}, last[2:]...)} {
		s := store.NewMemory(1, g)
		snapshot := bytes.Replace(c.Snapshot(), last, with, 1)
		if err := errors.Join(s.Write(store.Step{Records: records}), s.Keep(c.Position(), snapshot, store.Step{})); err != nil {
			t.Fatal(err)
		}
		if more, err := s.Compact(2); err != nil || more {
			t.Fatal(more, err)
		}
		_, err := store.Load(s, storetest.NewState)
		if is := errors.Is(err, txlog.ErrVersion); is != (what == "newer") || errors.Is(err, store.ErrDamaged) == is {
			t.Errorf("%s: %v", what, err)
		}
	}
}
