package chunksync

import (
	"errors"
	"maps"
	"math"
	"sync"
	"syscall"
)

// sweep removes chunks that neither the catalog nor the one in transit names and that are
// not pinned. The next sweep retries failed removals. The caller holds mu.
func (s *Store) sweep() {
	for h := range s.stray {
		s.sweepOne(h)
	}
}

func (s *Store) sweepOne(h Hash) {
	_, stray := s.stray[h]
	_, coming := s.offered[h]
	if stray && !coming && s.pins[h] == 0 && s.disk.remove(chunkFolder, h.String()) == nil {
		delete(s.have, h)
		delete(s.stray, h)
	}
}

// expect sets the chunks of the catalog in transit. Those of the one before are swept at
// once, to make room on a full disk. The caller holds mu.
func (s *Store) expect(all map[Hash]struct{}) {
	s.offered = all
	s.sweep()
}

// forgetOffer drops a catalog that this node has made itself and could not store.
func (s *Store) forgetOffer(t Tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.promise.Tenure == t { // otherwise it may be another leader's
		s.offered = nil
	}
}

// makeRoom sweeps the chunks in transit if err says that the disk is full, and reports
// whether it did. Sending them twice is better than being unable to promise.
func (s *Store) makeRoom(err error) bool {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect(nil)
	return true
}

// pin keeps chunks from being swept until unpin is called.
func (s *Store) pin(chunks ...Hash) (unpin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pinned(chunks)
}

// pinned is pin for a caller that holds mu, so that no sweep runs after its check.
func (s *Store) pinned(chunks []Hash) (unpin func()) {
	for _, h := range chunks {
		s.pins[h]++
	}
	return sync.OnceFunc(func() { s.unpin(chunks) })
}

// pinOne pins one more chunk for a caller that unpins all of them at once.
func (s *Store) pinOne(h Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pins[h]++
}

// unpin undoes a pin and sweeps only these chunks, since readers come and go all the time.
func (s *Store) unpin(chunks []Hash) {
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

// current returns the catalog with its chunks pinned. If a peer holds the catalog's tenure up
// to seq, it returns what has changed since, if that is known, with the chunks of that.
func (s *Store) current(peer Version) (c catalog, by change, known bool, unpin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if peer != (Version{}) && peer.Epoch == s.catalog.Tenure.Epoch {
		by, known = s.changeSince(peer.Seq)
	}
	if !known {
		c = s.catalog
		c.Files = maps.Clone(c.Files)
		by = difference(catalog{}, c)
	}
	return c, by, known, s.pinned(by.chunks())
}

// want pins all chunks of a catalog and lists the missing ones. If this node is to adopt it,
// chunks that arrive are kept even if others do not.
func (s *Store) want(c catalog) (missing []Hash, unpin func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	by := difference(s.catalog, c)
	unpin = s.pinned(difference(catalog{}, c).chunks())
	if s.promise.Tenure == c.Tenure && s.broken == nil {
		s.expect(s.chunks(by))
	}
	return s.missing(by, math.MaxInt), unpin
}
