package core

import (
	"cmp"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// sendBidsDue returns when the first seat that may bid is due; see pace.
func (m *Machine) sendBidsDue() fence.Instant {
	due := never
	if m.stop {
		return due
	}
	for _, s := range m.seats {
		if m.mayBid(s) {
			due = min(due, m.pace.turnDue(&s.turn))
		}
	}
	return due
}

// sendBids sends the bids that are due, a batch at a time, so that heartbeats come in between. The bid
// for a scope whose fence is busy waits in the mint, and may end transactions that hold the fence.
func (m *Machine) sendBids(now fence.Instant) {
	round := make([]*turn, len(m.seats))
	for i, s := range m.seats {
		if m.mayBid(s) {
			round[i] = &s.turn
		}
	}
	var bids []mint.Bid
	var asked []*seat
	explained := 0
	for _, place := range m.pace.nextBatch(now, round) {
		s := m.seats[place]
		b := mint.Bid{Scope: s.Scope, Lease: s.Lease, Explain: explained < mostExplained && m.wantsObstacle(now, s)}
		if b.Explain {
			explained++
		}
		if s.busySince != 0 {
			b.Block, b.Evict = m.set.LockTimeout, now.Sub(s.busySince) > s.Lease
		}
		s.firstBid = cmp.Or(s.firstBid, now)
		bids, asked = append(bids, b), append(asked, s)
	}
	m.askMint(trying, asked, Try{Bids: bids})
}

// mayBid reports whether a seat may bid. Its farewell goes first, unless a try of it has failed.
func (m *Machine) mayBid(s *seat) bool {
	return s.state == waiting && s.isCandidate() && m.isRegistered(s) && (s.farewell == nil || s.sayFailures > 0)
}

// bidsFailed takes the failure of a batch of bids. It does not say that nobody leads as long as the
// process of the last known holder has not ended: this candidate could only not read who leads.
func (m *Machine) bidsFailed(now fence.Instant, why error) {
	batch := make([]*turn, len(m.asked))
	for i, s := range m.asked {
		batch[i] = &s.turn
	}
	m.pace.batchFailed(now, batch)
	for _, s := range m.asked {
		m.addReport(Fact{Kind: Retrying, Scope: s.Scope, Err: why, After: s.tryAt.Sub(now)})
		if s.process != 0 {
			m.noteLed(s, now)
		} else {
			m.noteUnled(s, now, why)
		}
	}
}
