package pending

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/chain"
)

// Load implements Store.
func (s *Memory) Load(_ context.Context, account chain.Account, from uint64, most int) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := Snapshot{Life: s.newestLife(account)}
	for index, one := range s.slots[account] {
		if index >= snap.Next {
			snap.Next, snap.Since = index+1, one.Since
		}
		if index >= snap.Life.First {
			snap.noteAttempts(one.Attempts)
		}
		if index >= from || !one.last.Status.closes() {
			snap.Slots = append(snap.Slots, s.slot(one))
		}
	}
	slices.SortFunc(snap.Slots, func(a, b Slot) int { return cmp.Compare(a.Index, b.Index) })
	snap.Slots, snap.Runs = grouped(snap.Slots, most)
	var later int
	snap.Waits, later = s.countQueue(account)
	snap.Waits.Queued += later
	snap.Hold = s.holds[account]
	return snap, nil
}

// slot returns a slot as Load does.
func (s *Memory) slot(one *memorySlot) Slot {
	slot := one.Slot
	slot.Final = one.last.Status.closes()
	slot.Attempts, slot.Last, slot.Age = slices.Clone(slot.Attempts), one.last, time.Since(one.at)
	slot.Last.Intent, slot.Last.Why, slot.Last.Witnesses = Open, "", [2]string{}
	if slot.Intent != nil {
		r := s.byID[*slot.Intent]
		slot.Cancel, slot.Value, slot.Terms, slot.Deadline = r.Cancel, r.Call.Value, r.Terms, Deadline{}
		if r.Space == "" {
			slot.Deadline = r.left(s.now())
		}
	}
	return slot
}

// grouped returns the slots that come alone, and the runs of the others.
func grouped(slots []Slot, most int) (alone []Slot, runs []Run) {
	open := 0 // slots from here on that are not final
	for _, one := range slots {
		if !one.Final {
			open++
		}
	}
	for _, one := range slots {
		if !one.Final {
			open--
		}
		last := one.Last
		if one.Final || open < most || last.Block.Hash == "" || last.Waits != "" || last.Status != InBlock && last.Status != FinalityTimeout {
			alone = append(alone, one)
			continue
		}
		run := Run{First: one.Index, Last: one.Index, Block: last.Block, Late: last.Status == FinalityTimeout, Age: one.Age}
		if n := len(runs) - 1; n >= 0 && runs[n].Last+1 == run.First && runs[n].Block.Hash == run.Block.Hash && runs[n].Late == run.Late {
			runs[n].Last = run.Last
			continue
		}
		runs = append(runs, run)
	}
	return alone, runs
}

// Slots implements Store.
func (s *Memory) Slots(_ context.Context, account chain.Account, first, last uint64) (found []Slot, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for index := first; index <= last; index++ {
		if one := s.slots[account][index]; one != nil {
			found = append(found, s.slot(one))
		}
	}
	return found, nil
}

// Calls implements Store.
func (s *Memory) Calls(_ context.Context, account chain.Account, indices []uint64) (map[uint64]chain.Call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := map[uint64]chain.Call{}
	for _, index := range indices {
		if one := s.slots[account][index]; one != nil && one.Intent != nil {
			calls[index] = s.byID[*one.Intent].Call
		}
	}
	return calls, nil
}
