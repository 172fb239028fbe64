package chunksync

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Content is one file to be read, as it was at one version. It stays readable however
// the catalog changes meanwhile. Every chunk is verified: what Read returns is what was
// written, or its error is [ErrDamaged]. One goroutine uses it at a time; Close it.
type Content struct {
	Name    string
	File    File
	Version Version
	AsOf    time.Time // when the version was last known to be the leader's

	store *Store
	unpin func()
	next  int // chunk
	rest  []byte
}

// open opens a file of the last complete catalog; [ErrNotFound] if it names none.
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

// Close lets the content be swept once no catalog names it.
func (c *Content) Close() error {
	c.unpin()
	return nil
}

// chunk reads and verifies. What is damaged is given up, so that it can come again.
func (s *Store) chunk(h Hash) ([]byte, error) {
	data, err := s.disk.chunk(h)
	if errors.Is(err, ErrDamaged) {
		return s.giveUp(h)
	}
	return data, err
}

// giveUp removes a damaged chunk: whoever leads finds it missing at its next offer, or
// resigns if that is this node. It looks again first, where nothing is placed: another
// reader may have given it up long ago, and a good one may have come.
func (s *Store) giveUp(h Hash) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := s.disk.chunk(h)
	if !errors.Is(err, ErrDamaged) {
		return data, err
	}
	if s.broken != nil {
		return nil, errors.Join(err, s.broken) // the folder may be another process's by now
	}
	delete(s.have, h)
	return nil, errors.Join(err, s.disk.remove(h))
}
