package store_test

import (
	"testing"

	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// A clone has what the store had, and nothing of what is written to either of them is in the other.
func TestMemoryClone(t *testing.T) {
	t.Parallel()
	g := storetest.Genesis(1)
	copied := storetest.Copy(g)
	records, err := storetest.Grow(copied, 4, 10)
	if err != nil {
		t.Fatal(err)
	}
	one := store.NewMemory(1, g)
	write := func(m *store.Memory, at int, value string) {
		t.Helper()
		step := store.Step{
			Values: map[string][]byte{"v": []byte(value)}, Records: records[at : at+1], Slots: []store.Slot{{Index: uint64(at + 1), Body: []byte(value)}},
		}
		if err := m.Write(step); err != nil {
			t.Fatal(err)
		}
	}
	write(one, 0, "first")
	two := one.Clone()
	write(one, 1, "second")
	if v := two.View(); v.ID != 1 || v.Last.Index != 1 || v.NextSlot != 2 || string(two.Value("v")) != "first" {
		t.Errorf("the clone has %+v and %q after a step of the other", v, two.Value("v"))
	}
	write(two, 1, "other")
	write(two, 2, "third")
	slots, err := one.Slots(2, 100)
	if err != nil || string(slots[0].Body) != "second" || one.View().Last.Index != 2 || string(one.Value("v")) != "second" {
		t.Errorf("the store has %+v, %v and %q, %v after steps of its clone", one.View(), slots, one.Value("v"), err)
	}
}
