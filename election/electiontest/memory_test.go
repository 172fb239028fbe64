package electiontest_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/election/internal/store"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/runtest"
)

// The suite waits in real time, since other mints are databases, and costs nothing.
func TestMain(m *testing.M) {
	runtest.MostlyWait()
	goleak.VerifyTestMain(m)
}

var errEnded = errors.New("the transaction was ended")

// The mint in memory passes the suite of all mints, with either kind of locks.
func TestMemory(t *testing.T) {
	t.Parallel()
	for locks, others := range map[store.Locks]store.Locks{
		store.SessionLocks: store.ProcessLocks, store.ProcessLocks: store.SessionLocks,
	} {
		t.Run(string(locks), func(t *testing.T) {
			t.Parallel()
			electiontest.Exercise(t, harness(locks, others))
		})
	}
}

func harness(locks, others store.Locks) electiontest.Harness {
	with := func(m mint.Mint, f func(now time.Duration, s *store.Store)) { m.(*freezer).With(f) }
	return electiontest.Harness{
		New:    func(*testing.T) mint.Mint { return newFreezer(locks) },
		Beside: func(_ *testing.T, m mint.Mint) mint.Mint { return m.(*freezer).Beside(others) },
		Fence: func(_ *testing.T, m mint.Mint, token fence.Token) (commit func() error, err error) {
			var id int64
			with(m, func(now time.Duration, s *store.Store) {
				s.Expire(now)
				id, err = s.Fence(now, token)
			})
			return func() (err error) {
				with(m, func(now time.Duration, s *store.Store) {
					s.Expire(now)
					if !s.CommitFenced(id) {
						err = errEnded
					}
				})
				return err
			}, err
		},
		Kill: func(_ *testing.T, m mint.Mint, s mint.Session) {
			with(m, func(_ time.Duration, st *store.Store) { st.End(s.Process()) })
		},
		Unlock: func(_ *testing.T, m mint.Mint, s mint.Session) {
			with(m, func(_ time.Duration, st *store.Store) { st.Unlock(s.Process()) })
		},
		Advance: func(t *testing.T, m mint.Mint, scope string) {
			with(m, func(now time.Duration, st *store.Store) {
				if st.Expire(now); !st.Advance(now, scope) {
					t.Errorf("the epoch of %q cannot be advanced: a transaction holds the fence", scope)
				}
			})
		},
		Freeze: func(_ *testing.T, m mint.Mint, _ mint.Session) func() {
			f := m.(*freezer)
			f.cold.Store(true)
			return func() { f.cold.Store(false) }
		},
	}
}

// freezer is a mint in memory that can delay all heartbeats.
type freezer struct {
	*electiontest.Memory
	cold atomic.Bool
}

func newFreezer(locks store.Locks) *freezer {
	f := &freezer{Memory: electiontest.NewMemory().Beside(locks)}
	f.Fault = func(call string) (fault electiontest.Fault) {
		if call == "beat" && f.cold.Load() {
			fault.Before = time.Hour
		}
		return fault
	}
	return f
}
