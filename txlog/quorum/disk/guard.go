package disk

import (
	"errors"
	"fmt"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/txlog/store"
)

// guarded calls the library. It reads the file as memory: where the file has become shorter or the disk cannot be read, that is a
// fault of memory, and a page that is another one is a panic. Both are damage here.
func guarded(call func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if why := recover(); why != nil {
			err = damage("a page cannot be read: %s", fmt.Sprint(why))
		}
	}()
	return call()
}

// transaction begins one of the library. If it meets damage there, it holds a lock for ever: it is not called again, or
// the next caller would hang.
func (s *Store) transaction(write bool) (tx *bolt.Tx, err error) {
	s.beginning.Lock()
	defer s.beginning.Unlock()
	if s.torn.Load() {
		return nil, damage("an earlier page could not be read")
	}
	err = guarded(func() error {
		tx, err = s.db.Begin(write)
		return err
	})
	if errors.Is(err, store.ErrDamaged) {
		s.torn.Store(true)
	}
	return tx, err
}
