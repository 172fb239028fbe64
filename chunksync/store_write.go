package chunksync

import (
	"encoding/json"
	"time"
)

// missingAtOnce bounds an answer to an offer: 4 GB of content.
const missingAtOnce = 4096

// raise promises to refuse all leaders before this one. It has been promised durably
// when this returns nil; a *[StaleError] says that it cannot be.
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
	if sure && s.clear(err) {
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

// take makes a catalog the node's own if all its content is there. Otherwise it says
// what is missing, and keeps what is there of it from being swept. A catalog that is
// not newer than what the node holds changes nothing. Partial takes it all the same: it
// is for a node that has nobody to get from what has rotted.
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
		c = s.catalog // of the same leader; what rotted of it is missing again
	}
	if !partial {
		missing = s.missingOf(c, missingAtOnce)
	}
	if !fresh && len(missing) > 0 {
		s.expect(s.named)
	}
	dirty := s.dirty
	s.dirty = false // what is placed from here on is not of this catalog, or was there
	s.mu.Unlock()
	if len(missing) > 0 || !fresh {
		s.redirty(dirty)
		if len(missing) == 0 && c.Tenure == p.Tenure {
			s.confirm()
		}
		return missing, p.Held, nil
	}
	// First the content, then the catalog that names it.
	if dirty {
		if err := s.disk.settle(chunkFolder); err != nil {
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

// confirm notes that the catalog is the leader's now.
func (s *Store) confirm() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asOf = time.Now()
}

// add stores content that the caller has pinned, unless it is there.
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
	// Under the lock: a sweep must not remove what another has just placed.
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

// receive stores a chunk that a leader sends, which this node hears and whose catalog,
// as it was offered, names the chunk.
func (s *Store) receive(t Tenure, h Hash, chunk []byte) error {
	unpin := s.pin(h)
	defer unpin()
	s.mu.RLock()
	_, err := s.promise.raise(t, "")
	if err == nil && t != s.promise.Tenure {
		err = errNotOffered // it has offered nothing
	}
	if _, wanted := s.offered[h]; err == nil && !wanted {
		err = errNotOffered
	}
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	if hashOf(chunk) != h {
		return errNotThis
	}
	return s.add(h, chunk)
}
