package chunksync

import (
	"encoding/json"
	"time"
)

// missingAtOnce limits the answer to an offer, to 4 GB of content.
const missingAtOnce = 4096

// raise durably promises to refuse all leaders before t, or returns a *[StaleError].
func (s *Store) raise(t Tenure, holder string) (promise, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.raiseLocked(t, holder)
}

func (s *Store) raiseLocked(t Tenure, holder string) (promise, error) {
	s.mu.RLock()
	before, broken := s.promise, s.broken
	s.mu.RUnlock()
	if broken != nil {
		return before, broken
	}
	p, err := before.raise(t, holder)
	if err != nil || p == before {
		return p, err
	}
	text, err := json.Marshal(promiseJSON{t, holder})
	if err != nil {
		return before, err
	}
	sure, err := s.disk.replace(promiseFile, text)
	if sure && s.makeRoom(err) {
		sure, err = s.disk.replace(promiseFile, text)
	}
	if err != nil {
		if !sure {
			s.fail(err)
		}
		return before, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.promise = p
	return p, nil
}

// take stores a catalog that is newer than the held one if all its chunks are there.
// Otherwise it returns the missing ones and keeps the others from being swept. With partial
// it ignores missing chunks: a node without peers cannot get them back.
func (s *Store) take(c catalog, holder string, partial bool) (missing []Hash, held Version, err error) {
	text, err := c.encode()
	if err != nil {
		return nil, Version{}, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	p, err := s.raiseLocked(c.Tenure, holder)
	if err != nil {
		return nil, p.Held, err
	}
	s.mu.Lock()
	fresh, all := p.fresh(c.Version()), c.chunks()
	if fresh {
		s.expect(all)
	} else {
		c = s.catalog // the same leader's; chunks that rotted are missing again
	}
	if !partial {
		missing = s.missingOf(c, missingAtOnce)
	}
	if !fresh && len(missing) > 0 {
		s.expect(s.named)
	}
	dirty := s.dirty
	s.dirty = false // chunks placed from here on are not needed by this catalog
	s.mu.Unlock()
	if len(missing) > 0 || !fresh {
		s.redirty(dirty)
		if len(missing) == 0 && c.Tenure == p.Tenure {
			s.confirm()
		}
		return missing, p.Held, nil
	}
	// Sync the chunks before storing the catalog that names them.
	if dirty {
		if err := s.disk.syncDir(chunkFolder); err != nil {
			s.redirty(true)
			return nil, p.Held, err
		}
	}
	if sure, err := s.disk.replace(catalogFile, text); err != nil {
		if !sure {
			s.fail(err)
		}
		return nil, p.Held, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.catalog, s.named, s.promise.Held, s.offered, s.asOf = c, all, c.Version(), nil, time.Now()
	s.sweep()
	return nil, s.promise.Held, nil
}

func (s *Store) redirty(dirty bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = s.dirty || dirty
}

// confirm notes that the catalog is the leader's at this time.
func (s *Store) confirm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asOf = time.Now()
}

// add stores a chunk that the caller has pinned, unless it is there.
func (s *Store) add(h Hash, chunk []byte) error {
	s.mu.RLock()
	_, there := s.have[h]
	broken := s.broken
	s.mu.RUnlock()
	if there || broken != nil {
		return broken
	}
	draft, err := s.disk.draft(chunk)
	if err != nil {
		return err
	}
	// Place it under the lock, so that no sweep removes it before it is recorded.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	if err := s.disk.place(draft, chunkFolder, h.String()); err != nil {
		return err
	}
	s.have[h], s.dirty = struct{}{}, true
	return nil
}

// receive stores a chunk if the promised leader's offered catalog names it.
func (s *Store) receive(t Tenure, h Hash, chunk []byte) error {
	unpin := s.pin(h)
	defer unpin()
	s.mu.RLock()
	_, err := s.promise.raise(t, "")
	if err == nil && t != s.promise.Tenure {
		err = errNotOffered // a later leader, which has offered nothing yet
	}
	if _, wanted := s.offered[h]; err == nil && !wanted {
		err = errNotOffered
	}
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	if hashOf(chunk) != h {
		return errMismatch
	}
	return s.add(h, chunk)
}
