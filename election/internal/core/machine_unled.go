package core

import (
	"cmp"
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
)

// A wanted scope that nobody leads is the one fault that no rule of safety prevents. It is always
// reported with its cause.
const (
	unledLeases   = 3           // leases without a leader before it is reported
	explainLeases = 2           // leases without a leader before bids ask for the obstacle
	unledAgain    = time.Minute // pause before it is reported again
	mostExplained = 10          // most scopes of one batch that ask: the mint reads all locks for each
)

var (
	errActs        = errors.New("transactions of the last term hold its fence")
	errTransferred = errors.New("it is kept for the candidate that it is being transferred to")
	errNoCause     = errors.New("no cause is known; the bid of another candidate may have been in the way")
)

// noteLed notes that somebody leads, or has led until now.
func (m *Machine) noteLed(s *seat, now fence.Instant) { s.ledAt, s.unledAt = now, 0 }

// noteUnled notes that a try found no leader, and reports it when due. why is nil if it is unknown.
func (m *Machine) noteUnled(s *seat, now fence.Instant, why error) {
	s.ledAt = cmp.Or(s.ledAt, now)
	if !s.isCandidate() || now.Sub(s.ledAt) <= unledLeases*s.Lease || s.unledAt != 0 && now.Sub(s.unledAt) < unledAgain {
		return
	}
	why = cmp.Or(why, errNoCause)
	s.unledAt, s.unledWhy = now, why.Error()
	m.addReport(Fact{Kind: Unled, Scope: s.Scope, Took: now.Sub(s.ledAt), Err: why})
}

// wantsObstacle reports whether a bid should ask for the obstacle, in time for the next report.
func (m *Machine) wantsObstacle(now fence.Instant, s *seat) bool {
	if s.unledAt != 0 {
		return now.Sub(s.unledAt) > max(unledAgain-s.Lease, unledAgain/2)
	}
	return s.ledAt != 0 && now.Sub(s.ledAt) > explainLeases*s.Lease
}
