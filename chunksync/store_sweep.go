package chunksync

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"syscall"
)

// What the store keeps, and what goes: a chunk stays while the catalog names it, or the
// one that is on its way, or while somebody reads, writes or sends it.

// sweep removes all else. The caller holds mu. What cannot be removed is met again by
// the next sweep.
func (s *Store) sweep() {
	for h := range s.have {
		s.sweepOne(h)
	}
}

func (s *Store) sweepOne(h Hash) {
	_, here := s.have[h]
	_, kept := s.named[h]
	_, coming := s.offered[h]
	if here && !kept && !coming && s.pins[h] == 0 && s.disk.remove(h) == nil {
		delete(s.have, h)
	}
}

// expect makes these the chunks of the catalog that is on its way. What was expected
// before goes at once: a full disk could not take anything else. The caller holds mu.
func (s *Store) expect(all map[Hash]struct{}) {
	s.offered = all
	s.sweep()
}

// withdraw forgets a catalog that this node has made itself and could not take.
func (s *Store) withdraw(t Tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.promise.Tenure == t { // else it may be another leader's
		s.offered = nil
	}
}

// clear gives up what has arrived of a catalog if the disk is full, and says whether it
// was: not to hear a leader is worse than to be sent something twice.
func (s *Store) clear(err error) bool {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect(nil)
	return true
}

// pin keeps chunks from being swept until the answer is called.
func (s *Store) pin(chunks ...Hash) (unpin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pinned(chunks)
}

// pinned is pin for a caller that holds mu: it has looked, and nothing is swept between.
func (s *Store) pinned(chunks []Hash) (unpin func()) {
	for _, h := range chunks {
		s.pins[h]++
	}
	return sync.OnceFunc(func() { s.release(chunks) })
}

// hold pins one chunk more for a caller that releases all of them at once.
func (s *Store) hold(h Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins[h]++
}

// release undoes a pin. What was kept by it alone goes, and nothing else is looked at:
// readers come and go all the time.
func (s *Store) release(chunks []Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range chunks {
		if s.pins[h]--; s.pins[h] > 0 {
			continue
		}
		delete(s.pins, h)
		if s.broken == nil {
			s.sweepOne(h)
		}
	}
}

// current is the catalog, its content pinned.
func (s *Store) current() (c catalog, unpin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.catalog, s.pinned(slices.Collect(maps.Keys(s.named)))
}

// want pins all content of a catalog and lists what of it is not here. If this node is
// to begin with it, what arrives stays, though not all of it does.
func (s *Store) want(c catalog) (missing []Hash, unpin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := c.chunks()
	unpin = s.pinned(slices.Collect(maps.Keys(all)))
	if s.promise.Tenure == c.Tenure && s.broken == nil {
		s.expect(all)
	}
	return s.missingOf(c, len(all)), unpin
}
