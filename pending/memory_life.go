package pending

import (
	"context"
	"fmt"
	"slices"

	"github.com/conchhq/conch/chain"
)

// noteAttempts notes what Load says of attempts of the newest life.
func (s *Snapshot) noteAttempts(all []chain.Signed) {
	for _, a := range all {
		s.Until, s.Begun = max(s.Until, a.Until), s.Begun || !a.Filler
	}
}

// newestLife returns the newest life of an account.
func (s *Memory) newestLife(of chain.Account) Life {
	if all := s.lives[of]; len(all) > 0 {
		return all[len(all)-1]
	}
	return Life{}
}

// lifeOf returns the life of a slot.
func (s *Memory) lifeOf(of chain.Account, index uint64) (found Life) {
	for _, one := range s.lives[of] {
		if one.First <= index {
			found = one
		}
	}
	return found
}

// open lets the next life of an account begin.
func (s *Memory) open(of chain.Account, next Life) {
	if s.lives == nil {
		s.lives = map[chain.Account][]Life{}
	}
	s.lives[of] = append(s.lives[of], next)
}

// Life returns the newest life of an account.
func (s *Memory) Life(_ context.Context, of chain.Account) (Life, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newestLife(of), nil
}

// SayOver stores a person's word that a life of an account is over. Its leader believes it, and lets the next one begin once nothing that
// was signed before can be included. It returns [ErrNoLife] if another life is the newest.
func (s *Memory) SayOver(_ context.Context, of chain.Account, number uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if newest := s.newestLife(of); newest.Number != number {
		return fmt.Errorf("%w: life %d has begun", ErrNoLife, newest.Number)
	}
	if number == 0 && len(s.lives[of]) == 0 {
		s.open(of, Life{})
	}
	all := slices.Clone(s.lives[of])
	all[len(all)-1].Over = true
	s.lives[of] = all
	return nil
}
