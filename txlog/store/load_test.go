package store_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
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
	for what, with := range map[string][]byte{"newer": newer, "other": append([]byte{last[0], last[1] ^ 1}, last[2:]...)} {
		s := store.NewMemory(1, g)
		snapshot := bytes.Replace(c.Snapshot(), last, with, 1)
		if err := errors.Join(s.Write(store.Step{Records: records}), s.Keep(c.Position(), snapshot, store.Step{})); err != nil {
			t.Fatal(err)
		}
		if more, err := s.Compact(2); err != nil || more {
			t.Fatal(more, err)
		}
		_, err := store.Load(s, storetest.NewState)
		if is := errors.Is(err, txlog.ErrVersion); is != (what == "newer") || errors.Is(err, store.ErrUnfit) == is {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// other is a state machine that comes to other states from some change on, as that of another version may.
type other struct {
	txlog.State
	applied int
}

func (o *other) Apply(diff []byte) error {
	o.applied++
	return o.State.Apply(diff)
}

func (o *other) Hash() txlog.Hash {
	h := o.State.Hash()
	if o.applied > 5 {
		h[0] ^= 1
	}
	return h
}

// The records of a store are whole, and this program's machine comes to something else. That is no damage: of three members that are
// renewed at once with such a program, each would set its store aside.
func TestAnotherProgramsRecords(t *testing.T) {
	t.Parallel()
	g := storetest.Genesis(1)
	records, err := storetest.Grow(storetest.Copy(g), 10, 10)
	if err != nil {
		t.Fatal(err)
	}
	s := store.NewMemory(1, g)
	if err := s.Write(store.Step{Records: records}); err != nil {
		t.Fatal(err)
	}
	_, err = store.Load(s, func() txlog.State { return &other{State: storetest.NewState()} })
	if !errors.Is(err, store.ErrUnfit) || !errors.Is(err, txlog.ErrState) || errors.Is(err, store.ErrDamaged) {
		t.Error(err)
	}
	if _, err := store.Load(s, storetest.NewState); err != nil {
		t.Error(err)
	}
}
