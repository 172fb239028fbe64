package pending_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// faultyStore loses writes or the answers to them, or carries writes out late.
type faultyStore struct {
	*pending.Memory
	mu   sync.Mutex
	rand *rand.Rand
	part float64 // the part of writes that go wrong
	then func()
	late []func() // writes to be carried out late

	slow  time.Duration // the longest time that reading a page of slots takes
	wait  func(time.Duration)
	again bool // a write had a slot that exists
}

// stall makes the reading of pages take up to some time.
func (s *faultyStore) stall(most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow = most
}

// Slots reads the rows before or after the time that it takes. Now and then a row is as somebody else has written
// it: it says a block that there is not.
func (s *faultyStore) Slots(ctx context.Context, a chain.Account, first, last uint64) ([]pending.Slot, error) {
	s.mu.Lock()
	fails, early, takes := s.rand.Float64() < s.part, s.rand.IntN(2) == 0, time.Duration(s.rand.Int64N(int64(s.slow)+1))
	s.mu.Unlock()
	slots, err := s.Memory.Slots(ctx, a, first, last)
	s.wait(takes)
	if !early {
		slots, err = s.Memory.Slots(ctx, a, first, last)
	}
	if fails {
		return nil, errLine
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range slots {
		if slots[i].Last.Block.Hash != "" && s.rand.IntN(20) == 0 {
			slots[i].Last.Block.Hash = "nowhere"
		}
	}
	return slots, err
}

// after arranges for one call of f after the next write.
func (s *faultyStore) after(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.then = f
}

func (s *faultyStore) lose(part float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.part = part
}

var errLine = errors.New("the connection to the database broke")

// Load carries out late writes after the rows have been read.
func (s *faultyStore) Load(ctx context.Context, a chain.Account, from uint64, most int) (pending.Snapshot, error) {
	snap, err := s.Memory.Load(ctx, a, from, most)
	s.carryOut()
	return snap, err
}

// carryOut carries out all late writes, or none, at random.
func (s *faultyStore) carryOut() {
	s.mu.Lock()
	var late []func()
	if s.rand.IntN(2) == 0 {
		late, s.late = s.late, nil
	}
	s.mu.Unlock()
	for _, write := range late {
		write()
	}
}

func (s *faultyStore) Write(ctx context.Context, t fence.Token, b pending.Batch) error {
	s.mu.Lock()
	before, after := s.rand.Float64() < s.part/2, s.rand.Float64() < s.part/2
	if before && s.rand.IntN(2) == 0 {
		s.late = append(s.late, func() { _ = s.Memory.Write(context.WithoutCancel(ctx), t, b) })
	}
	s.mu.Unlock()
	if before {
		return errLine
	}
	err := s.Memory.Write(ctx, t, b)
	s.mu.Lock()
	s.again = s.again || err != nil && strings.Contains(err.Error(), "exists already")
	then, late := s.then, s.late
	if err == nil {
		s.then, s.late = nil, nil
	}
	s.mu.Unlock()
	for _, write := range late {
		if err == nil {
			write()
		}
	}
	if err == nil && then != nil {
		then()
	}
	if err == nil && after {
		return errLine
	}
	return err
}

// forgetful is a node that sometimes does not find a transaction that it has.
type forgetful struct {
	chain.Chain
	mu     sync.Mutex // holds rand: a leader looks at its last final row beside all else
	rand   *rand.Rand
	forget *atomic.Bool
}

func (f *forgetful) Probe(ctx context.Context, hashes []chain.Hash) ([]chain.Sighting, error) {
	seen, err := f.Chain.Probe(ctx, hashes)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range seen {
		if f.forget.Load() && f.rand.IntN(2) == 0 {
			seen[i] = chain.Sighting{}
		}
	}
	return seen, err
}
