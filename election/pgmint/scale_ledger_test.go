//go:build unix

package pgmint_test

import (
	"sync"

	"github.com/conchhq/conch/election"
)

// ledger keeps where each scope of a crowd stands. Facts alone do not add up: a process
// that lost its session is told anew whom it follows, and loses what it had not entered.
type ledger struct {
	mu    sync.Mutex
	state map[string]election.Kind // the last of those below, by scope
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

// standing is all but the processor time.
func (l *ledger) standing() standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	entered := l.count[election.Entered]
	return standing{Led: l.count[election.Acquired] + entered, Entered: entered, Following: l.count[election.Following], Late: l.late}
}
