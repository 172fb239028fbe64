package coordinator

import (
	"runtime"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// I9: 10,000 coordinators without work, in heap bytes: as they are when they start, and when work is over. It is not
// parallel: it reads the heap.
func TestSizeWithoutWork(t *testing.T) {
	members := []ledger.Account{"A", "B", "C", "D"}
	committee, err := ranking.NewCommittee("k", []string{"A", "B", "C", "D"}, 1_000_000, alphabet{})
	if err != nil {
		t.Fatal(err)
	}
	book := &quickBook{wholes: map[ledger.Hash]wire.Whole{}}
	contract := &ledger.Contract{Address: "k", Members: members, Committee: members, Needed: 1, Range: 1_000_000, Depth: 2, Life: 1, Domain: "d"}
	start := func() *Machine {
		return New(Config{Self: "A", Incarnation: wire.Incarnation{1}, Book: book, Scheme: quick{}, Committee: &committee, Head: 2, Contract: contract})
	}
	for _, c := range []struct {
		name           string
		machines, most int64
		rounds         int
	}{{"at the start", 10_000, 2048, 0}, {"after work", 50, 8192, 4}} {
		all := make([]*Machine, c.machines)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range all {
			p := &peers{m: start(), book: book, last: map[ledger.Account]ledger.StateID{}}
			for i, a := range members {
				p.last[a] = ledger.StateID{1, byte(i)}
			}
			for range c.rounds {
				p.round()
			}
			for range contract.Depth + 4*contract.Life + 1 {
				p.block()
			}
			p.now += time.Minute // what was asked and not answered is over
			p.step(Tick{})
			p.step(Reviewed{})
			all[i] = p.m
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / c.machines; each > c.most {
			t.Errorf("%s: %d bytes each", c.name, each)
		} else {
			t.Logf("%s: %d bytes each", c.name, each)
		}
		if m := all[0]; !m.Idle() || m.Audit() != nil {
			t.Errorf("%s: idle %v, %v", c.name, m.Idle(), m.Audit())
		}
		runtime.KeepAlive(all)
	}
}
