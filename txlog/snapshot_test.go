package txlog

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog/internal/limits"
)

// A snapshot restores to the same copy, which goes on as the other one does.
func TestASnapshotIsTheCopy(t *testing.T) {
	t.Parallel()
	_, all := sampleLog(t)
	for n := range len(all) + 1 {
		c := after(t, all[:n])
		restored, err := Restore(c.Snapshot(), newToy)
		if err != nil {
			t.Fatalf("after %d records: %v", n, err)
		}
		if restored.Hash() != c.Hash() || restored.Position() != c.Position() || !reflect.DeepEqual(restored.Members(), c.Members()) ||
			!bytes.Equal(restored.Snapshot(), c.Snapshot()) {
			t.Fatalf("after %d records another copy is restored", n)
		}
		if at := restored.ChangedAt(); at < c.ChangedAt() || at > c.Position().Index {
			t.Errorf("after %d records the members are those of entry %d, and restored of %d", n, c.ChangedAt(), at)
		}
		known, is := c.Lookup("g1")
		if again, isAgain := restored.Lookup("g1"); is != isAgain || !reflect.DeepEqual(known, again) {
			t.Errorf("a result is restored as %+v", again)
		}
		for _, r := range all[n:] {
			if err := restored.Apply(r); err != nil {
				t.Fatalf("after %d records: %v", n, err)
			}
		}
		if err := restored.Scrub(); err != nil {
			t.Error(err)
		}
	}
}

// One of which any byte has changed is refused, or is the same copy by other bytes, which cannot be: no bit of it is free.
func TestAChangedSnapshotIsRefused(t *testing.T) {
	t.Parallel()
	_, all := sampleLog(t)
	for _, n := range []int{5, len(all)} {
		whole := after(t, all[:n]).Snapshot()
		for i := range whole {
			for _, flip := range []byte{1, 0x80, 0xff} {
				bad := bytes.Clone(whole)
				bad[i] ^= flip
				c, err := Restore(bad, newToy)
				if err == nil && c.Position() == after(t, all[:n]).Position() {
					t.Fatalf("with byte %d of %d changed it restores to %v", i, len(whole), c.Position())
				}
				if c != nil && err != nil {
					t.Fatal("there is a copy and an error")
				}
			}
		}
		for cut := range whole {
			if _, err := Restore(whole[:cut], newToy); err == nil {
				t.Fatalf("cut at %d it is restored", cut)
			}
		}
		if _, err := Restore(append(bytes.Clone(whole), 0), newToy); err == nil {
			t.Fatal("with a byte more it is restored")
		}
	}
}

// Restore refuses what no copy can be, even if its last record says that very hash.
func TestSnapshotsThatNoCopyHas(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(c *Copy){
		"results out of order": func(c *Copy) { c.order[0], c.order[1] = c.order[1], c.order[0] },
		"a result twice":       func(c *Copy) { c.order = append(c.order, &Result{GoalID: c.order[0].GoalID, Index: 99}) },
		"an effect twice":      func(c *Copy) { c.effects = append(c.effects, c.effects[0]) },
	} {
		c, _ := sampleLog(t)
		spoil(c)
		c.kept, c.waiting = newQueue(c.kept.gone), newQueue(c.waiting.gone)
		for _, of := range c.order {
			c.kept.add(c.sumOf(of))
		}
		for _, p := range c.effects {
			c.waiting.add(p.sum())
		}
		c.last = says(t, c, c.last.Entry)
		if _, err := Restore(c.Snapshot(), newToy); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, spoil := range map[string]func(c *Copy){
		"another member":  func(c *Copy) { c.members = c.genesis.Members },
		"an older record": func(c *Copy) { c.last = after(t, mustLog(t)[:3]).last },
		"no record":       func(c *Copy) { c.last = Record{} },
		"a result that is forgotten too early": func(c *Copy) {
			c.kept.drop(c.order[0].sum)
			c.order = c.order[1:]
		},
		"an effect that nobody has performed": func(c *Copy) {
			c.waiting.drop(c.effects[0].sum())
			c.effects = c.effects[1:]
		},
		"other results before it": func(c *Copy) { c.kept.gone[0]++ },
		"other effects before it": func(c *Copy) { c.waiting.gone[0]++ },
	} {
		c, _ := sampleLog(t)
		spoil(c)
		if _, err := Restore(c.Snapshot(), newToy); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, _ := sampleLog(t)
	child, err := c.Child(sampleGenesis())
	if err != nil {
		t.Fatal(err)
	}
	early := of(Opening)
	early.Log, early.Index = child.Position().Log, child.Position().Index
	child.last = says(t, child, early)
	if _, err := Restore(child.Snapshot(), newToy); !errors.Is(err, ErrMalformed) {
		t.Errorf("a record before the first one: %v", err)
	}
	if _, err := Restore(make([]byte, limits.MostSnapshot+1), newToy); !errors.Is(err, ErrSize) {
		t.Errorf("too many bytes: %v", err)
	}
}

// says returns the record of an entry that says the hash which the copy has.
func says(t *testing.T, c *Copy, e Entry) Record {
	t.Helper()
	e.State = c.Hash()
	r, err := Seal(e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustLog(t *testing.T) []Record {
	t.Helper()
	_, all := sampleLog(t)
	return all
}

// The largest state with the largest results and effects is a snapshot that Restore takes.
func TestTheLargestSnapshotIsTaken(t *testing.T) {
	t.Parallel()
	const heads = 200 // of one result or effect: numbers, a hash
	largest := MostState + limits.MostRetention*(limits.MostGoalID+limits.MostResult+limits.MostFault+heads) + limits.MostPending*(limits.MostName+limits.MostEffect+heads) + 2*limits.MostRecord
	if largest > limits.MostSnapshot {
		t.Errorf("a snapshot may have %d bytes, and Restore takes %d", largest, limits.MostSnapshot)
	}
	if entry := MostGoal + limits.MostGoalID + limits.MostResult + limits.MostFault + limits.MostDiff + limits.MostEffects*(limits.MostName+limits.MostEffect+heads) + heads; entry > limits.MostRecord {
		t.Errorf("an entry may have %d bytes, and Open takes %d", entry, limits.MostRecord)
	}
}

// A log that goes on with the state of a lost one has its results, effects and indices, so that no goal is executed and no
// effect is performed under a new key; its members and its name are new ones.
func TestAChildGoesOn(t *testing.T) {
	t.Parallel()
	c, all := sampleLog(t)
	g := Genesis{Namespace: "fleet", Machine: "toy/1", Nonce: counting(7), Members: []Member{member("eve", 15)}}.With()
	if _, err := c.Child(Genesis{}); !errors.Is(err, ErrMalformed) {
		t.Errorf("a child without a name: %v", err)
	}
	child, err := c.Child(g)
	if err != nil {
		t.Fatal(err)
	}
	if child.Genesis().Parent != c.Position() || child.Position().Index != c.Position().Index || child.Position().Log == c.Position().Log || child.Position().Term != 0 {
		t.Errorf("it begins at %+v", child.Position())
	}
	if len(child.Effects()) != 1 || child.Effects()[0].Key != c.Effects()[0].Key {
		t.Errorf("what waits is %+v", child.Effects())
	}
	if known, found, err := child.Admit("g5", []byte("light=blue"), 8); err != nil || !found || known.Index != 9 {
		t.Errorf("a goal of the old log: %v %v", found, err)
	}
	if err := child.Apply(all[0]); !errors.Is(err, ErrChain) {
		t.Errorf("a record of the old log: %v", err)
	}
	begun, err := Restore(child.Snapshot(), newToy)
	if err != nil || begun.Hash() != child.Genesis().State {
		t.Fatalf("its begin is not restored: %v", err)
	}
	bad := bytes.Clone(child.Snapshot())
	bad[len(bad)-1] ^= 1
	if _, err := Restore(bad, newToy); !errors.Is(err, ErrState) {
		t.Errorf("another begin: %v", err)
	}
	if _, err := Restore(NewCopy(child.Genesis(), newToy).Snapshot(), newToy); !errors.Is(err, ErrState) {
		t.Errorf("an empty begin: %v", err)
	}
	for i := range 20 { // the old results are forgotten in their turn
		e := goal(fmt.Sprint("new ", i), "light=white")
		e.Leader = "eve"
		if err := begun.Apply(next(t, child, e)); err != nil {
			t.Fatal(err)
		}
	}
	if child.Position().Index != 29 || begun.Hash() != child.Hash() {
		t.Errorf("they are at %v and %v", child.Position(), begun.Position())
	}
	later, err := Restore(child.Snapshot(), newToy)
	if err != nil || later.Hash() != child.Hash() {
		t.Errorf("it is not restored: %v", err)
	}
	next(t, c, func() Entry { e := goal("old log", "light=black"); e.Term = 2; return e }())
	if child.Hash() != begun.Hash() || child.Scrub() != nil {
		t.Error("the old copy and the new one share something")
	}
}
