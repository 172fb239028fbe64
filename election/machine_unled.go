package election

import (
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
)

// A scope that this process wants, and that nobody leads, is the one fault that no rule of
// safety prevents. Whatever it comes from, it is told with its cause.
const (
	unledLeases   = 3           // nobody has led for so many leases: tell
	explainLeases = 2           // and for so many: ask the mint what stands in the way
	unledAgain    = time.Minute // tell again
	mostExplained = 10          // so many scopes of one bid: the mint looks through all locks for each
)

var (
	errActs  = errors.New("transactions of the last term hold its fence")
	errHands = errors.New("it is kept for the candidate that it is being transferred to")
	errRival = errors.New("another candidate was about to take it")
)

// led: somebody leads, or has until now.
func (m *Machine) led(s *seat, now fence.Instant) { s.ledAt, s.unledAt = now, 0 }

// unled: something was tried and still nobody leads. Why is nil where it is not known.
func (m *Machine) unled(s *seat, now fence.Instant, why error) {
	s.ledAt = or(s.ledAt, now)
	if !s.campaigns() || now.Sub(s.ledAt) <= unledLeases*s.Lease || s.unledAt != 0 && now.Sub(s.unledAt) < unledAgain {
		return
	}
	why = or(why, errRival)
	s.unledAt, s.unledWhy = now, why.Error()
	m.report(Fact{Kind: Unled, Scope: s.Scope, Took: now.Sub(s.ledAt), Err: why})
}

// explain: it is time to ask what stands in the way, so that it can be told soon.
func (m *Machine) explain(now fence.Instant, s *seat) bool {
	if s.unledAt != 0 {
		return now.Sub(s.unledAt) > max(unledAgain-s.Lease, unledAgain/2)
	}
	return s.ledAt != 0 && now.Sub(s.ledAt) > explainLeases*s.Lease
}
