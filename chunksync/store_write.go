package chunksync

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.takeLocked(difference(s.catalog, c), true, holder, partial) // only with writing held it changes
}

// follow is take for a change of the held catalog, or of an earlier one of its tenure. It
// returns errGap if that catalog is another one, and then a whole catalog is needed.
func (s *Store) follow(by change, holder string, partial bool) (missing []Hash, held Version, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.takeLocked(by, false, holder, partial)
}

func (s *Store) takeLocked(by change, whole bool, holder string, partial bool) (missing []Hash, held Version, err error) {
	p, err := s.raiseLocked(by.Tenure, holder)
	if err != nil {
		return nil, p.Held, err
	}
	fresh := p.fresh(by.Version())
	if fresh && !whole && !by.follows(s.catalog) {
		return nil, p.Held, errGap
	}
	if !fresh {
		by = change{} // the same leader's is held; chunks that rotted are missing again
	}
	if missing, err = s.prepare(by, fresh, partial); err != nil {
		return nil, p.Held, err
	}
	if len(missing) > 0 {
		return missing, p.Held, nil
	}
	if !fresh {
		s.confirm(p.Tenure)
		return nil, p.Held, nil
	}
	if err := s.syncChunks(); err != nil {
		return nil, p.Held, err
	}
	if sure, err := s.record(by, whole); err != nil {
		if !sure {
			s.fail(err)
		}
		return nil, p.Held, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.apply(by)
	s.offered, s.asOf = nil, time.Now()
	s.sweep()
	return nil, s.promise.Held, nil
}

// prepare lists the chunks that a catalog lacks, and expects them.
func (s *Store) prepare(by change, fresh, partial bool) (missing []Hash, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if after := s.roomAfter(by); fresh && after > s.room && after > maxRoom {
		return nil, ErrFull
	}
	if !partial {
		missing = s.missing(by, missingAtOnce)
	}
	if fresh || len(missing) > 0 {
		s.expect(s.chunks(by))
	}
	return missing, nil
}

// syncChunks makes the names of placed chunks durable, before a catalog names them.
func (s *Store) syncChunks() error {
	s.mu.Lock()
	dirty := s.dirty
	s.dirty = false // chunks placed from here on are not needed by this catalog
	s.mu.Unlock()
	if !dirty {
		return nil
	}
	err := s.disk.syncDir(chunkFolder)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dirty = true
	}
	return err
}

// confirm notes that the catalog is the promised leader's at this time.
func (s *Store) confirm(t Tenure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.catalog.Tenure == t {
		s.asOf = time.Now()
	}
}

// add stores a chunk that the caller has pinned.
func (s *Store) add(chunk []byte) error {
	f, err := s.disk.draft(bytes.NewReader(chunk), ChunkSize)
	if err != nil {
		return err
	}
	return s.keep(f)
}

// keep gives a draft the name of its hash, which the caller has pinned, unless that is there.
func (s *Store) keep(f draft) error {
	s.mu.RLock()
	_, there := s.have[f.hash]
	broken := s.broken
	s.mu.RUnlock()
	if there || broken != nil {
		f.discard()
		return broken
	}
	if err := s.disk.sync(f); err != nil {
		return err
	}
	// Place it under the lock, so that no sweep removes it before it is recorded.
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.broken
	if err == nil {
		err = s.disk.place(f, chunkFolder, f.hash.String())
	}
	if err != nil {
		f.discard()
		return err
	}
	s.have[f.hash], s.dirty = struct{}{}, true
	s.sort(f.hash)
	return nil
}

// receive stores a chunk if the promised leader's offered catalog names it.
func (s *Store) receive(t Tenure, h Hash, chunk io.Reader) error {
	unpin := s.pin(h)
	defer unpin()
	if err := s.wanted(t, h); err != nil {
		return err
	}
	f, err := s.disk.draft(chunk, ChunkSize+1)
	switch {
	case err != nil:
		return err
	case !errors.Is(f.ended, io.EOF):
		err = readError(f.ended)
	case f.hash != h:
		err = errMismatch
	default:
		return s.keep(f)
	}
	f.discard()
	return err
}

// wanted refuses a chunk that no catalog of the promised leader needs.
func (s *Store) wanted(t Tenure, h Hash) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.promise.raise(t, ""); err != nil {
		return err
	}
	// Another tenure is a later leader's, which has offered nothing yet.
	if _, offered := s.offered[h]; !offered || t != s.promise.Tenure {
		return errNotOffered
	}
	return nil
}
