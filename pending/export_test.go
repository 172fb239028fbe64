package pending

import "github.com/conchhq/conch/chain"

// Holding returns the configuration with lower limits of what is in memory.
func (c Config) Holding(most, guests, page int, depth uint64) Config {
	c.held = held{Most: most, Guests: guests, Page: page, Depth: depth}
	return c
}

// Records returns all intents in the order of acceptance.
func (s *Memory) Records() []Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Record, len(s.intents))
	for i, r := range s.intents {
		all[i] = *r
	}
	return all
}

// AllAttempts returns all attempts of an account.
func (s *Memory) AllAttempts(account chain.Account) (all []chain.Signed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.slots[account] {
		all = append(all, one.Attempts...)
	}
	return all
}

// Status returns the last stored status of a slot.
func (s *Memory) Status(account chain.Account, index uint64) Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.slots[account][index].last.Status
}
