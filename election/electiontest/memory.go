package electiontest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

// Memory is a mint for the electors of one process: the model of a mint behind a lock. It reads
// time.Now, so it also runs in a synctest bubble. Its methods are safe for concurrent use.
type Memory struct {
	// Fault, if set, is called before each call of a session and returns its fault.
	Fault func(call string) Fault
	locks store.Locks // how new sessions keep their scopes

	*shared
}

// shared is the state of all mints over the same rows.
type shared struct {
	mu      sync.Mutex
	store   *store.Store
	start   time.Time
	changed chan struct{} // closed and replaced at every change
	heard   map[int]func(mint.Change)
	serial  int
}

// Fault is what goes wrong in one call; the zero Fault changes nothing.
type Fault struct {
	Before time.Duration // delay of the request
	After  time.Duration // delay of the reply
	Err    error         // the call takes effect, but returns this error
	Cut    bool          // the session breaks before the call takes effect
}

// ErrInjected is wrapped by the error of a call with Fault.Cut.
var ErrInjected = errors.New("electiontest: injected fault")

// NewMemory returns an empty mint.
func NewMemory() *Memory {
	return &Memory{locks: store.SessionLocks, shared: &shared{
		store: store.New(), start: time.Now(), changed: make(chan struct{}), heard: map[int]func(mint.Change){},
	}}
}

// Beside returns another mint over the same rows, whose sessions keep their scopes by locks "session", as those of NewMemory, or
// "process".
func (m *Memory) Beside(locks store.Locks) *Memory { return &Memory{locks: locks, shared: m.shared} }

// With runs f on the rows, under their lock, and wakes every call of Wait. It is for tests of package election.
func (m *Memory) With(f func(now time.Duration, s *store.Store)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(m.now(), m.store)
	m.wake()
}

func (m *Memory) now() time.Duration { return time.Since(m.start) }

func (m *Memory) wake() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Open implements mint.Mint.
func (m *Memory) Open(ctx context.Context, c mint.Candidate) (mint.Session, error) {
	s := &memorySession{mint: m}
	_, err := m.call(ctx, "open", func(now time.Duration) error {
		s.id = m.store.Open(now, c, m.locks)
		return nil
	})
	return s, err
}

// Wait implements mint.Mint.
func (m *Memory) Wait(ctx context.Context, process int64) (bool, error) {
	slice := time.NewTimer(5 * time.Second)
	defer slice.Stop()
	for {
		m.mu.Lock()
		m.store.Expire(m.now())
		gone, changed := m.store.Gone(process), m.changed
		m.mu.Unlock()
		if gone {
			return true, nil
		}
		tick := time.NewTimer(20 * time.Millisecond) // a session can expire without a call
		select {
		case <-ctx.Done():
			tick.Stop()
			return false, context.Cause(ctx)
		case <-slice.C:
			tick.Stop()
			return false, nil
		case <-changed:
			tick.Stop()
		case <-tick.C:
		}
	}
}

// Listen implements mint.Mint.
func (m *Memory) Listen(ctx context.Context, heard func(mint.Change)) error {
	m.mu.Lock()
	m.serial++
	id := m.serial
	m.heard[id] = heard
	m.mu.Unlock()
	heard(mint.Change{})
	<-ctx.Done()
	m.mu.Lock()
	delete(m.heard, id)
	m.mu.Unlock()
	return context.Cause(ctx)
}

// call runs one request with its fault.
func (m *Memory) call(ctx context.Context, name string, f func(now time.Duration) error) (Fault, error) {
	var fault Fault
	if m.Fault != nil {
		fault = m.Fault(name)
	}
	if err := pause.For(ctx, fault.Before); err != nil {
		return fault, lost(err)
	}
	if fault.Cut {
		return fault, lost(ErrInjected)
	}
	m.mu.Lock()
	ended := m.store.Expire(m.now())
	err := f(m.now())
	if len(ended) > 0 { // only an expiry ends a session here
		m.wake()
	}
	m.mu.Unlock()
	if e := pause.For(ctx, fault.After); e != nil {
		return fault, lost(e)
	}
	return fault, errors.Join(err, fault.Err)
}

func lost(err error) error { return fmt.Errorf("%w: %w", mint.ErrSessionLost, err) }

type memorySession struct {
	mint *Memory
	id   int64
}

func (s *memorySession) Process() int64 { return s.id }

// finish closes the session if the call has lost it.
func (s *memorySession) finish(fault Fault, err error) error {
	if fault.Cut || errors.Is(err, mint.ErrSessionLost) {
		_ = s.Close()
	}
	return err
}

func (s *memorySession) Try(ctx context.Context, bids []mint.Bid) (results []mint.Result, err error) {
	fault, err := s.mint.call(ctx, "try", func(now time.Duration) error {
		results, err = s.mint.store.Try(now, s.id, bids)
		s.mint.announce(results)
		return err
	})
	if len(bids) == 1 && err == nil && results[0].Outcome == mint.Busy && bids[0].Block > 0 {
		// The store answers at once: block here for as long as the bid may.
		if e := pause.For(ctx, bids[0].Block); e != nil {
			return nil, s.finish(fault, lost(e))
		}
	}
	return results, s.finish(fault, err)
}

func (s *memorySession) Beat(ctx context.Context, pulses []mint.Pulse) (answers []mint.Outcome, err error) {
	fault, err := s.mint.call(ctx, "beat", func(now time.Duration) error {
		answers, err = s.mint.store.Beat(now, s.id, pulses)
		return err
	})
	return answers, s.finish(fault, err)
}

func (s *memorySession) Release(ctx context.Context, farewells []mint.Farewell) (answers []mint.Parting, err error) {
	fault, err := s.mint.call(ctx, "release", func(now time.Duration) error {
		answers, err = s.mint.store.Release(now, s.id, farewells)
		for _, f := range farewells {
			s.mint.tell(mint.Change{Scope: f.Token.Scope, Epoch: f.Token.Epoch})
		}
		return err
	})
	return answers, s.finish(fault, err)
}

func (s *memorySession) Enlist(ctx context.Context, r mint.Roll) error {
	fault, err := s.mint.call(ctx, "enlist", func(now time.Duration) error { return s.mint.store.Enlist(now, s.id, r) })
	return s.finish(fault, err)
}

func (s *memorySession) Close() error {
	s.mint.With(func(_ time.Duration, st *store.Store) { st.End(s.id) })
	return nil
}

func (m *Memory) announce(results []mint.Result) {
	for _, r := range results {
		if r.Outcome == mint.Won {
			m.tell(mint.Change{Scope: r.Scope, Holder: r.Token.Holder, Epoch: r.Token.Epoch})
		}
	}
}

// tell calls each listener on its own goroutine: it may block, and the lock is held here.
func (m *Memory) tell(c mint.Change) {
	for _, heard := range m.heard {
		go heard(c)
	}
}

// Token returns the token in the row of a scope, given up or not; zero without a row.
func (m *Memory) Token(scope string) (t fence.Token) {
	m.With(func(_ time.Duration, s *store.Store) {
		t = s.Last(scope)
	})
	return t
}
