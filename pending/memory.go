package pending

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// Memory is a [Store] in this process, for tests and for a deployment of one process that says so
// by name (S18). A crash loses even transactions that were sent. The zero value is ready for use.
type Memory struct {
	// Fence returns an error for a token that is not current; nil accepts every token.
	Fence func(fence.Token) error
	// Now returns the time of acceptance; nil means time.Now.
	Now func() time.Time

	mu      sync.Mutex
	intents []*Record // in the order of acceptance
	byID    map[ID]*Record
	slots   map[chain.Account]map[uint64]*memorySlot
	settled map[chain.Account]settledWrite
	holds   map[chain.Account]Hold
}

// settledWrite is the write of the last Settle. No earlier one is carried out any more.
type settledWrite struct {
	epoch int64
	write uint64
}

func (f settledWrite) refuses(t fence.Token, number uint64) bool {
	return f.epoch > t.Epoch || f.epoch == t.Epoch && f.write > number
}

type memorySlot struct {
	Slot
	last  Change
	at    time.Time // of the last write that changed it
	epoch int64     // of the last write that changed it
	write uint64    // the number of that write
}

// Accept stores an intent and returns it with its ID. For a known key it returns the stored intent,
// or [ErrConflict] if that has another call.
func (s *Memory) Accept(_ context.Context, in Intent) (Intent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.intents {
		if r.Account == in.Account && r.Key == in.Key && in.Key != "" {
			if !r.Call.Equal(in.Call) {
				return Intent{}, ErrConflict
			}
			return r.Intent, nil
		}
	}
	_, _ = rand.Read(in.ID[:])
	in.Created = s.now()
	r := &Record{Intent: in}
	if s.byID == nil {
		s.byID = map[ID]*Record{}
	}
	s.intents = append(s.intents, r)
	s.byID[in.ID] = r
	return in, nil
}

// Cancel requests the cancellation of an intent, which may be too late, or returns [ErrNotFound].
func (s *Memory) Cancel(_ context.Context, id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byID[id]
	if r == nil {
		return ErrNotFound
	}
	if r.Fate != Open {
		return nil
	}
	r.Cancel = true
	if r.Index == nil {
		r.Fate = Cancelled
	}
	return nil
}

// Get returns an intent and its state, or [ErrNotFound].
func (s *Memory) Get(_ context.Context, id ID) (Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.byID[id]; r != nil {
		return s.record(r), nil
	}
	return Record{}, ErrNotFound
}

// List returns the newest intents that the filter selects, newest first.
func (s *Memory) List(_ context.Context, f Filter) (found []Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes := 0
	for _, r := range slices.Backward(s.intents) {
		if len(found) == f.Most {
			break
		}
		if !f.takes(r) {
			continue
		}
		if bytes += len(r.Call.Data); f.Bytes > 0 && bytes > f.Bytes {
			break
		}
		found = append(found, s.record(r))
	}
	return found, nil
}

// Counts returns the number of unfinished intents, by account and state.
func (s *Memory) Counts(context.Context) (counts []Count, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tally := map[Count]int{}
	for _, r := range s.intents {
		if r.Fate == Open {
			state := Queued
			if r.Index != nil {
				state = r.Last.Status.String()
			}
			tally[Count{Account: r.Account, State: state}]++
		}
	}
	for c, n := range tally {
		c.N = n
		counts = append(counts, c)
	}
	return counts, nil
}

// Load implements Store.
func (s *Memory) Load(_ context.Context, account chain.Account, from uint64, most int) (Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var snap Snapshot
	for index, one := range s.slots[account] {
		if index >= snap.Next {
			snap.Next, snap.Since = index+1, one.Since
		}
		if index >= from || !one.last.Status.closes() {
			snap.Slots = append(snap.Slots, s.slot(one))
		}
	}
	slices.SortFunc(snap.Slots, func(a, b Slot) int { return cmp.Compare(a.Index, b.Index) })
	snap.Slots, snap.Runs = grouped(snap.Slots, most)
	snap.Queued, snap.PutOff = s.countQueue(account)
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
		slot.Cancel, slot.Value = s.byID[*slot.Intent].Cancel, s.byID[*slot.Intent].Call.Value
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

func (s *Memory) queue(account chain.Account) (waiting []*Record) {
	for _, r := range s.intents {
		if r.Account == account && r.waits() {
			waiting = append(waiting, r)
		}
	}
	return waiting
}

func (r Record) waits() bool { return r.Index == nil && r.Fate == Open }

// Queue implements Store.
func (s *Memory) Queue(_ context.Context, account chain.Account, relaxed bool, most int) (q Queue, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, r := range s.queue(account) {
		w := Waiting{Intent: r.Intent, Refusal: r.Refusal}
		if w.Refusal.Times > 0 {
			w.Age = now.Sub(w.Refusal.Since)
		}
		if relaxed && q.Saving == nil && w.Refusal.Cause == Funds && w.Age >= SavesAfter {
			q.Saving = &w
		}
		switch {
		case relaxed && now.Before(w.Refusal.Until):
		case len(q.Oldest) == most:
			q.Left++
		default:
			q.Oldest = append(q.Oldest, w)
		}
	}
	return q, nil
}

// Waiting implements Store.
func (s *Memory) Waiting(_ context.Context, account chain.Account) (w Waits, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.intents {
		if r.Account == account && r.Cancel && r.Index != nil && r.Fate == Open {
			w.Cancels = append(w.Cancels, *r.Index)
		}
	}
	w.Queued, w.PutOff = s.countQueue(account)
	return w, nil
}

// countQueue counts the intents that are to be tried now, and those that are put off.
func (s *Memory) countQueue(account chain.Account) (queued int, off PutOff) {
	now := s.now()
	for _, r := range s.queue(account) {
		if !now.Before(r.Refusal.Until) {
			queued++
		}
		switch {
		case r.Refusal.Until.IsZero():
		case r.Refusal.Cause == Funds && now.Sub(r.Refusal.Since) >= PoorAfter:
			off.Poor++
		case r.Refusal.Cause == Unclear:
			off.Unclear++
		}
	}
	return queued, off
}

func (s *Memory) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
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

// Write implements Store.
func (s *Memory) Write(_ context.Context, t fence.Token, b Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fence != nil {
		if err := s.Fence(t); err != nil {
			return err
		}
	}
	if s.settled[b.Account].refuses(t, b.Number) {
		return fmt.Errorf("write %d comes too late: it was settled as not carried out", b.Number)
	}
	for i, add := range b.New {
		taken := slices.ContainsFunc(b.New[:i], func(other Slot) bool { return other.Index == add.Index })
		if taken || s.slots[b.Account][add.Index] != nil {
			return fmt.Errorf("slot %d of %s exists already", add.Index, b.Account)
		}
		if add.Intent != nil && (s.byID[*add.Intent] == nil || !s.byID[*add.Intent].waits()) {
			return ErrOvertaken
		}
	}
	for _, add := range b.Attempts {
		if has := len(s.slots[b.Account][add.Index].Attempts); has != add.Before {
			return fmt.Errorf("slot %d of %s has %d attempts, not %d", add.Index, b.Account, has, add.Before)
		}
	}
	if s.slots == nil {
		s.slots = map[chain.Account]map[uint64]*memorySlot{}
	}
	for _, add := range b.New {
		if s.slots[b.Account] == nil {
			s.slots[b.Account] = map[uint64]*memorySlot{}
		}
		s.slots[b.Account][add.Index] = &memorySlot{Slot: add, at: time.Now()}
		if add.Intent != nil {
			index := add.Index
			s.byID[*add.Intent].Index, s.byID[*add.Intent].Refusal = &index, Refusal{}
		}
	}
	for _, add := range b.Attempts {
		one := s.slots[b.Account][add.Index]
		one.Attempts = append(one.Attempts, add.Attempts...)
	}
	for _, r := range b.Rejects {
		s.byID[r.Intent].Fate, s.byID[r.Intent].Why = Rejected, r.Why
	}
	for _, h := range b.Held {
		s.hold(h)
	}
	for _, c := range b.Changes {
		s.change(t, b, c)
	}
	if b.Hold != nil {
		if s.holds == nil {
			s.holds = map[chain.Account]Hold{}
		}
		s.holds[b.Account] = *b.Hold
	}
	return nil
}

// hold stores why a waiting intent got no slot.
func (s *Memory) hold(h Held) {
	r, now := s.byID[h.Intent], s.now()
	if !r.waits() {
		return
	}
	since := r.Refusal.Since
	if r.Refusal = h.Refusal; h.Refusal.Times == 1 || since.After(now) { // a clock that was ahead was wrong
		since = now
	}
	r.Refusal.Since = since
	if r.Refusal.Until = (time.Time{}); h.Pause > 0 {
		r.Refusal.Until = now.Add(h.Pause)
	}
}

// record returns an intent with the hold of its account, if it waits.
func (s *Memory) record(r *Record) Record {
	one := *r
	if one.waits() {
		one.Hold = s.holds[one.Account]
	} else {
		one.Refusal = Refusal{}
	}
	return one
}

// Settle implements Store.
func (s *Memory) Settle(_ context.Context, t fence.Token, account chain.Account, number uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Fence != nil {
		if err := s.Fence(t); err != nil {
			return err
		}
	}
	if s.settled == nil {
		s.settled = map[chain.Account]settledWrite{}
	}
	s.settled[account] = settledWrite{t.Epoch, number}
	return nil
}

func (s *Memory) change(t fence.Token, b Batch, c Change) {
	one := s.slots[b.Account][c.Index]
	if t.Epoch < one.epoch || t.Epoch == one.epoch && b.Number <= one.write {
		return // it comes late
	}
	one.last, one.at, one.epoch, one.write = c, time.Now(), t.Epoch, b.Number
	if one.Intent == nil {
		return
	}
	r := s.byID[*one.Intent]
	r.Last, r.Fate = c, c.Intent
	switch c.Intent {
	case Open:
		r.Why = cmp.Or(c.Why, r.Why)
	case Rejected:
		r.Why = cmp.Or(c.Why, r.Why, NoWords)
	case Done, Cancelled, Again:
		r.Why = ""
	}
	if c.Intent == Again {
		r.Fate, r.Index, one.Intent = Open, nil, nil
		if r.Cancel {
			r.Fate = Cancelled
		}
	}
}
