package electiontest_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/electiontest"
	"github.com/conchhq/conch/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errEnded = errors.New("the transaction was ended")

// The mint in memory passes the suite that every mint must pass.
func TestMemory(t *testing.T) {
	electiontest.Exercise(t, electiontest.Harness{
		New: func(*testing.T) election.Mint { return newFreezer() },
		Fence: func(_ *testing.T, m election.Mint, token fence.Token) (commit func() error, err error) {
			store := m.(*freezer).With
			var id int64
			store(func(now time.Duration, s *electiontest.Store) {
				s.Expire(now)
				id, err = s.Fence(now, token)
			})
			return func() (err error) {
				store(func(now time.Duration, s *electiontest.Store) {
					s.Expire(now)
					if !s.CommitFenced(id) {
						err = errEnded
					}
				})
				return err
			}, err
		},
		Kill: func(_ *testing.T, m election.Mint, s election.Session) {
			m.(*freezer).With(func(_ time.Duration, st *electiontest.Store) { st.End(s.Process()) })
		},
		Freeze: func(_ *testing.T, m election.Mint, _ election.Session) func() {
			f := m.(*freezer)
			f.cold.Store(true)
			return func() { f.cold.Store(false) }
		},
	})
}

// freezer is a mint in memory whose heartbeats can be held up on their way.
type freezer struct {
	*electiontest.Memory
	cold atomic.Bool
}

func newFreezer() *freezer {
	f := &freezer{Memory: electiontest.NewMemory()}
	f.Fault = func(call string) (fault electiontest.Fault) {
		if call == "beat" && f.cold.Load() {
			fault.Before = time.Hour
		}
		return fault
	}
	return f
}
