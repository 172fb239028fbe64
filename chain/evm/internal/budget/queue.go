package budget

import (
	"slices"

	"github.com/conchhq/conch/chain"
)

// waiter is a request that waits for its turn.
type waiter struct {
	urgency Urgency
	account chain.Account // empty: of all accounts
	units   float64
	ready   chan struct{} // closed when its turn has come
}

// queue has the requests that wait, of each urgency by account in turn. It is a pure machine.
type queue struct {
	kinds [urgencies]turns
}

// turns are the requests of one urgency. The account whose turn it is comes first.
type turns struct {
	accounts []chain.Account
	waiting  map[chain.Account][]*waiter
	units    float64 // of all
}

func (q *queue) addWaiter(w *waiter) {
	t := &q.kinds[w.urgency]
	if t.waiting == nil {
		t.waiting = map[chain.Account][]*waiter{}
	}
	if len(t.waiting[w.account]) == 0 {
		t.accounts = append(t.accounts, w.account)
	}
	t.waiting[w.account] = append(t.waiting[w.account], w)
	t.units += w.units
}

// removeWaiter takes a request out, and reports whether it was there. After the first request of an account it is the
// turn of the others.
func (q *queue) removeWaiter(w *waiter) bool {
	t := &q.kinds[w.urgency]
	all := t.waiting[w.account]
	at := slices.Index(all, w)
	if at < 0 {
		return false
	}
	t.units -= w.units
	t.waiting[w.account] = slices.Delete(all, at, at+1)
	if at > 0 {
		return true
	}
	turn := slices.Index(t.accounts, w.account)
	t.accounts = slices.Delete(t.accounts, turn, turn+1)
	if len(all) > 1 {
		t.accounts = append(t.accounts, w.account)
	} else {
		delete(t.waiting, w.account)
	}
	return true
}

// firstWaiter returns the request whose turn it is, nil if none waits. The least urgent kinds have their turn if what
// they are sure of is enough for it, or is all that gathers.
func (q *queue) firstWaiter(sure, burst float64) *waiter {
	for _, from := range []Urgency{leastUrgent, Heads} {
		for kind := from; kind < urgencies; kind++ {
			t := &q.kinds[kind]
			if len(t.accounts) == 0 {
				continue
			}
			w := t.waiting[t.accounts[0]][0]
			if from == Heads || sure >= min(w.units, burst) {
				return w
			}
			break
		}
	}
	return nil
}

// holdsFrom reports whether a request of an urgency or a lower one waits.
func (q *queue) holdsFrom(from Urgency) bool {
	for kind := from; kind < urgencies; kind++ {
		if len(q.kinds[kind].accounts) > 0 {
			return true
		}
	}
	return false
}

// unitsBefore returns the units of the requests that are at least as urgent.
func (q *queue) unitsBefore(u Urgency) (units float64) {
	for kind := range u + 1 {
		units += q.kinds[kind].units
	}
	return units
}
