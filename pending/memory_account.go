package pending

import (
	"context"
	"time"

	"github.com/conchhq/conch/chain"
)

// Attempts returns the attempts of a slot, in the order of signing; none if there is no slot.
func (s *Memory) Attempts(_ context.Context, account chain.Account, index uint64) (all []Attempt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.slots[account][index]
	if one == nil {
		return nil, nil
	}
	for i, a := range one.Attempts {
		all = append(all, Attempt{Hash: a.Hash, Fee: a.Fee, Gas: a.Gas, Filler: a.Filler, Signed: one.signed[i]})
	}
	return all, nil
}

// noteSigned notes when the newest attempts were stored.
func (m *memorySlot) noteSigned(at time.Time) {
	for len(m.signed) < len(m.Attempts) {
		m.signed = append(m.signed, at)
	}
}

// Backlog returns what of an account has not ended.
func (s *Memory) Backlog(_ context.Context, account chain.Account) (b Backlog, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for index, one := range s.slots[account] {
		b.Next = max(b.Next, index+1)
		switch last := one.last; {
		case last.Status.closes():
		case last.Block.Hash != "":
			b.InBlock++
		default:
			b.InFlight++
			if one.Intent == nil {
				b.Gaps++
			}
		}
	}
	for _, r := range s.intents {
		if r.Account != account || r.Fate != Open {
			continue
		}
		if r.waitsForSlot() {
			b.Queued++
		}
		if b.Oldest.IsZero() && (r.Index == nil || r.Last.Block.Hash == "") {
			b.Oldest = r.Created
		}
	}
	b.Hold, b.Next = s.holds[account], b.Next-min(b.Next, s.newestLife(account).First)
	return b, nil
}
