//go:build unix

package pgmint_test

import (
	"sync"

	"github.com/conchhq/conch/election"
)

// ledger keeps the state of each scope of a crowd. Counting facts is not enough: a process that lost its
// session reports again whom it follows, and loses scopes that it had not entered.
type ledger struct {
	mu    sync.Mutex
	state map[string]election.Kind // by scope, the last kind that hear counts
	count map[election.Kind]int    // scopes in each state
	late  int
}

func newLedger() *ledger {
	return &ledger{state: map[string]election.Kind{}, count: map[election.Kind]int{}}
}

func (l *ledger) hear(f election.Fact) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch f.Kind {
	case election.Acquired, election.Entered, election.Following, election.Draining, election.Lost:
		l.count[l.state[f.Scope]]--
		l.count[f.Kind]++
		l.state[f.Scope] = f.Kind
	case election.Late, election.Retrying:
		l.late++
	default:
	}
}

// standing returns the state of the crowd without its processor time.
func (l *ledger) standing() standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	entered := l.count[election.Entered]
	return standing{Led: l.count[election.Acquired] + entered, Entered: entered, Following: l.count[election.Following], Late: l.late}
}
