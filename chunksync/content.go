package chunksync

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Content reads one file as it was at one version, even if the catalog changes meanwhile.
// Read verifies each chunk and returns [ErrDamaged] if one is not as it was written.
// Content is not safe for concurrent use and must be closed.
type Content struct {
	Name    string
	File    File
	Version Version
	AsOf    time.Time // when Version was last known to be the leader's

	store *Store
	unpin func()
	next  int    // index of the next chunk
	rest  []byte // unread bytes of the current chunk
}

// open opens a file of the last complete catalog, or returns [ErrNotFound].
func (s *Store) open(name string) (*Content, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, known := s.catalog.Files[name]
	if !known {
		return nil, fmt.Errorf("%w: %.80q", ErrNotFound, name)
	}
	return &Content{
		Name: name, File: f, Version: s.catalog.Version(), AsOf: s.asOf,
		store: s, unpin: s.pinned(f.Chunks),
	}, nil
}

// Read implements io.Reader.
func (c *Content) Read(to []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.next == len(c.File.Chunks) {
			return 0, io.EOF
		}
		chunk, err := c.store.chunk(c.File.Chunks[c.next])
		if err != nil {
			return 0, err
		}
		want := min(ChunkSize, c.File.Size-int64(c.next)*ChunkSize)
		if int64(len(chunk)) != want {
			return 0, fmt.Errorf("%w: a chunk of %d bytes instead of %d", ErrDamaged, len(chunk), want)
		}
		c.rest, c.next = chunk, c.next+1
	}
	n := copy(to, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

// Close releases the chunks, which are swept once no catalog names them.
func (c *Content) Close() error {
	c.unpin()
	return nil
}

// chunk reads and verifies a chunk. A damaged one is removed, so that it is pushed again.
func (s *Store) chunk(h Hash) ([]byte, error) {
	data, err := s.disk.chunk(h)
	if errors.Is(err, ErrDamaged) {
		return s.giveUp(h)
	}
	return data, err
}

// giveUp removes a damaged chunk. The leader then finds it missing at its next offer, or
// resigns if it is this node. giveUp first reads the chunk again under the lock, since
// another reader may have removed it and a good one may have arrived.
func (s *Store) giveUp(h Hash) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.disk.chunk(h)
	if !errors.Is(err, ErrDamaged) {
		return data, err
	}
	if s.broken != nil {
		return nil, errors.Join(err, s.broken) // another process may have the folder by now
	}
	delete(s.have, h)
	s.sort(h)
	return nil, errors.Join(err, s.disk.remove(chunkFolder, h.String()))
}
