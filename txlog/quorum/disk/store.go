package disk

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// Store is one node's part of a log, in a file.
type Store struct {
	path  string
	write bool
	db    *bolt.DB
	file  *os.File // the library's
	id    uint64   // of the store
	log   txlog.ID

	keeping sync.Mutex // held by Keep
	writing sync.Mutex // held while a transaction is written, before mu
	closed  bool

	room      []byte      // of the last transaction, for the next one
	beginning sync.Mutex  // held while the library begins a transaction
	torn      atomic.Bool // the library was left with its locks held, and is not called any more

	// content is changed with writing and mu held, and read with one of them held; state and loose belong to writing
	// alone. Nobody holds mu while the disk is waited for.
	mu sync.RWMutex
	content
	held   store.Step // lazy steps, which are not in the file yet
	failed error      // why nothing works any more

	gone atomic.Uint64 // what is up to this index may have been dropped after a reading has begun
}

var _ store.Store = (*Store)(nil)

// View implements store.Store.
func (s *Store) View() store.View {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.view.Clone()
}

// Genesis implements store.Store.
func (s *Store) Genesis() txlog.Genesis { return s.genesis }

// Value implements store.Store.
func (s *Store) Value(name string) []byte {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return bytes.Clone(s.values[name])
}

// Names implements store.Store.
func (s *Store) Names(prefix string) []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := slices.Sorted(maps.Keys(s.values))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// Failed returns why the store is of no use any more; nil: it works.
func (s *Store) Failed() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failed
}

// fail ends the use of the store, and returns why. The first error counts.
func (s *Store) fail(err error) error {
	err = s.located(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
	return s.failed
}

// Close implements store.Store. It stores the lazy steps first, unless the store has failed.
func (s *Store) Close() error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed || s.db == nil {
		return nil
	}
	var err error
	if s.write && s.Failed() == nil {
		err = s.flush()
	}
	_ = s.fail(store.ErrClosed)
	s.closed = true
	if s.torn.Load() {
		return errors.Join(unlock(s.file), s.file.Close()) // its memory would hold the lock
	}
	return errors.Join(err, guarded(s.db.Close))
}
