package pending

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending/internal/rules"
)

// Memory is a [Store] in this process, for tests and for a deployment of one process that says so
// by name (S18). A crash loses even transactions that were sent. The zero value is ready for use.
type Memory struct {
	// Fence returns an error for a token that is not current; nil accepts every token.
	Fence func(fence.Token) error
	// Now returns the time of acceptance; nil means time.Now.
	Now func() time.Time
	// Told is called with each event, in order; nil: nobody is told. It must not block, nor use the store.
	Told func(Event)

	mu      sync.Mutex
	intents []*Record // in the order of acceptance
	byID    map[ID]*Record
	slots   map[chain.Account]map[uint64]*memorySlot
	settled map[chain.Account]settledWrite
	holds   map[chain.Account]Hold
	lives   map[chain.Account][]Life // but for the first one, in order
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

	signed []time.Time // when each attempt was stored
}

// Accept stores an intent and returns it with its ID. For a known key it returns the stored intent,
// or [ErrConflict] if that asks for something else.
func (s *Memory) Accept(_ context.Context, in Intent) (Intent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.keyed(in); r != nil {
		if !r.Asks(in) {
			return Intent{}, ErrConflict
		}
		return r.Intent, nil
	}
	return s.add(in), nil
}

// AcceptAll stores all of some intents with keys, or none, as [Accept] stores one, and returns them in their order. A [*PlaceError] says
// which one it refuses.
func (s *Memory) AcceptAll(_ context.Context, all []Intent) ([]Intent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, in := range all {
		if r := s.keyed(in); r != nil && !r.Asks(in) {
			return nil, &PlaceError{i, ErrConflict}
		}
	}
	out := make([]Intent, len(all))
	for i, in := range all {
		if r := s.keyed(in); r != nil {
			out[i] = r.Intent
		} else {
			out[i] = s.add(in)
		}
	}
	return out, nil
}

// keyed returns the intent that has the key of another one, nil if none has.
func (s *Memory) keyed(in Intent) *Record {
	for _, r := range s.intents {
		if r.Account == in.Account && r.Space == in.Space && r.Key == in.Key && in.Key != "" {
			return r
		}
	}
	return nil
}

func (s *Memory) add(in Intent) Intent {
	_, _ = rand.Read(in.ID[:])
	in.Created = s.now()
	r := &Record{Intent: in, Version: 1, Place: places.Add(1)}
	if s.byID == nil {
		s.byID = map[ID]*Record{}
	}
	s.intents = append(s.intents, r)
	s.byID[in.ID] = r
	s.tell(r, ToldAccepted)
	return in
}

// places numbers the intents of all stores in this process.
var places atomic.Uint64

// slotOf returns the slot of an intent, nil if it has none.
func (s *Memory) slotOf(r *Record) *memorySlot {
	if r.Index == nil {
		return nil
	}
	return s.slots[r.Account][*r.Index]
}

// Cancel requests the cancellation of an intent, which may be too late, or returns [ErrNotFound].
func (s *Memory) Cancel(_ context.Context, id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.byID[id]
	if r == nil {
		return ErrNotFound
	}
	if r.Fate != Open || r.Cancel {
		return nil
	}
	r.Cancel = true
	r.Version++
	if r.Index == nil {
		r.Fate = Cancelled
		s.tell(r, ToldFinal)
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
		var attempts []chain.Signed
		if one := s.slotOf(r); one != nil {
			attempts = one.Attempts
		}
		if !f.takes(r, attempts) {
			continue
		}
		if bytes += len(r.Call.Data); f.Bytes > 0 && bytes > f.Bytes {
			break
		}
		found = append(found, s.record(r))
	}
	return found, nil
}

// Unfinished returns the intents of a space of conch's own that have not ended and call an account, the oldest first.
func (s *Memory) Unfinished(_ context.Context, account chain.Account, space string, to []byte) (found []Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.intents {
		if r.Account == account && r.Fate == Open && r.Space == space && space != "" && string(r.Call.To) == string(to) {
			found = append(found, s.record(r))
		}
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
	if err := s.admit(b); err != nil {
		return err
	}
	if next := b.Opens; next != nil && next.Number != s.newestLife(b.Account).Number+1 {
		return fmt.Errorf("%w: life %d of %s cannot begin", ErrNoLife, next.Number, b.Account)
	}
	for _, add := range b.New {
		s.addSlot(b.Account, add)
	}
	for _, add := range b.Attempts {
		one := s.slots[b.Account][add.Index]
		one.Attempts = append(one.Attempts, add.Attempts...)
		one.noteSigned(s.now())
	}
	for _, r := range b.Rejects {
		if in := s.byID[r.Intent]; in.waitsForSlot() {
			in.Fate, in.Why = Rejected, r.Why
			in.Version++
			s.tell(in, ToldRejected)
		}
	}
	for _, id := range b.Expired {
		if in := s.byID[id]; in.waitsForSlot() {
			in.Fate = Expired
			in.Version++
			s.tell(in, ToldFinal)
		} else {
			in.Late = in.Fate == Open
		}
	}
	for _, h := range b.Held {
		s.hold(h)
	}
	for _, c := range b.Changes {
		s.change(t, b, c)
	}
	if b.Opens != nil {
		s.open(b.Account, *b.Opens)
	}
	if b.Hold != nil {
		if s.holds == nil {
			s.holds = map[chain.Account]Hold{}
		}
		s.holds[b.Account] = *b.Hold
	}
	return nil
}

// admit refuses a batch that does not fit what is there.
func (s *Memory) admit(b Batch) error {
	for i, add := range b.New {
		taken := slices.ContainsFunc(b.New[:i], func(other Slot) bool { return other.Index == add.Index })
		if taken || s.slots[b.Account][add.Index] != nil {
			return fmt.Errorf("slot %d of %s exists already", add.Index, b.Account)
		}
		if add.Intent != nil && (s.byID[*add.Intent] == nil || !s.byID[*add.Intent].waitsForSlot()) {
			return ErrOvertaken
		}
	}
	for _, add := range b.Attempts {
		if has := len(s.slots[b.Account][add.Index].Attempts); has != add.Before {
			return fmt.Errorf("slot %d of %s has %d attempts, not %d", add.Index, b.Account, has, add.Before)
		}
	}
	return nil
}

// addSlot adds a slot, and gives its intent the nonce.
func (s *Memory) addSlot(of chain.Account, add Slot) {
	if s.slots == nil {
		s.slots = map[chain.Account]map[uint64]*memorySlot{}
	}
	if s.slots[of] == nil {
		s.slots[of] = map[uint64]*memorySlot{}
	}
	one := &memorySlot{Slot: add, at: time.Now()}
	one.noteSigned(s.now())
	s.slots[of][add.Index] = one
	if add.Intent != nil {
		in := s.byID[*add.Intent]
		in.Index, in.Last, in.Refusal = new(add.Index), Change{Index: add.Index, Hash: add.Attempts[len(add.Attempts)-1].Hash}, Refusal{}
		in.Version++
		s.tell(in, ToldNonce)
	}
}

// record returns an intent with the hold of its account, if it waits.
func (s *Memory) record(r *Record) Record {
	one := *r
	if one.waitsForSlot() {
		one.Hold = s.holds[one.Account]
	} else {
		one.Refusal = Refusal{}
	}
	if slot := s.slotOf(r); slot != nil {
		one.Changed, one.First = slot.at, s.lifeOf(r.Account, *r.Index).First
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
	was := one.last
	one.last, one.at, one.epoch, one.write = c, time.Now(), t.Epoch, b.Number
	if one.Intent == nil {
		return
	}
	r := s.byID[*one.Intent]
	r.Last, r.Fate = c, c.Intent
	r.Version++
	switch c.Intent {
	case Open:
		r.Why = cmp.Or(c.Why, r.Why)
	case Rejected:
		r.Why = cmp.Or(c.Why, r.Why, rules.NoWords)
	case Done, Cancelled, Expired, Again:
		r.Why = ""
	}
	if c.Intent == Again {
		r.Fate, r.Index, one.Intent = Open, nil, nil
		if r.Cancel {
			r.Fate = Cancelled
		}
	}
	kind := c.tells(was)
	if c.Intent == Again && r.Fate == Cancelled {
		kind = ToldFinal
	}
	s.tell(r, kind)
}

// tell tells of an intent as it is now.
func (s *Memory) tell(r *Record, kind Kind) {
	if s.Told == nil || kind == "" {
		return
	}
	e := Event{Intent: r.ID, Account: r.Account, Version: r.Version, Kind: kind, At: s.now(), Fate: r.Fate, Index: r.Index}
	if r.Index != nil {
		e.Hash, e.Block, e.Effect = r.Last.Hash, r.Last.Block, r.Last.Effect
	}
	if r.Fate == Rejected {
		e.Why = r.Why
	}
	s.Told(e)
}
