package disk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/internal/durable"
	"github.com/conchhq/conch/txlog/store"
)

// marked is what is appended to a store's path: the file says that the store was found to be damaged. What is read wrong
// once may be read right later, and is not trusted again.
const marked = ".damaged"

// between is how long to wait between two tries to lock a file.
const between = 20 * time.Millisecond

// Open opens a store to write it. It reads and checks all of it. While another process has it, it waits until the context ends.
// The error is store.ErrHeld, store.ErrDamaged, ErrNoLog, fs.ErrNotExist, since nothing makes a store but Create, or
// txlog.ErrVersion: a newer program has written it, and it stays as it is. What is no file at all, such as a folder, is ErrForeign
// and not damaged.
func Open(ctx context.Context, path string) (*Store, error) {
	s, err := open(ctx, path, true)
	if err != nil {
		return nil, err
	}
	if !s.begun {
		return nil, errors.Join(fault(ErrNoLog, "%s", path), s.Close())
	}
	return s, nil
}

// OpenReadOnly opens a store that no process writes, to read it, and changes nothing. It reads and checks all of it, as Open does.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	s, err := open(ctx, path, false)
	if err != nil {
		return nil, err
	}
	if !s.begun {
		return nil, errors.Join(fault(ErrNoLog, "%s", path), s.Close())
	}
	return s, nil
}

func open(ctx context.Context, path string, write bool) (*Store, error) {
	s := &Store{path: path, write: write}
	err := s.open(ctx)
	if err == nil && write {
		err = s.clean()
	}
	if err != nil {
		_ = s.Close()
		return nil, s.located(err)
	}
	return s, nil
}

func (s *Store) open(ctx context.Context) (err error) {
	switch info, err := os.Stat(s.path); {
	case err != nil:
		return err // a mark alone is of a store that was moved away
	case info.IsDir():
		return fault(ErrForeign, "%s is a folder", s.path)
	case !info.Mode().IsRegular(): // to open a pipe may take for ever
		return fault(ErrForeign, "%s is no regular file", s.path)
	}
	if s.write {
		if what, err := os.ReadFile(s.path + marked); err == nil {
			return damage("it was found to be: %s", what)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	how := os.O_RDONLY
	if s.write {
		how = os.O_RDWR
	}
	if s.file, err = os.OpenFile(s.path, how, 0); err != nil {
		return err
	}
	if err := lock(ctx, s.file, s.write); err != nil {
		return errors.Join(err, s.file.Close())
	}
	// Before the library has it: what it would do with a page that is another one cannot be caught.
	if err := s.take(s.file); err != nil {
		return errors.Join(err, s.file.Close())
	}
	return guarded(func() (err error) {
		s.db, err = bolt.Open(s.path, 0, &bolt.Options{
			ReadOnly: !s.write, PageSize: pageSize, NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoStatistics: true,
			Timeout:  between,
			OpenFile: func(string, int, os.FileMode) (*os.File, error) { return s.file, nil },
		})
		return err
	})
}

// take reads what is in the file.
func (s *Store) take(f *os.File) error {
	// A process that was killed between writing and syncing has left what a crash of the machine would still take away, and
	// it looks stored. It is, before anybody believes it.
	if s.write {
		if err := f.Sync(); err != nil {
			return fmt.Errorf("%w: %w", store.ErrSync, err)
		}
	}
	dropCache(f)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	c, err := read(f, info.Size())
	if d, is := errors.AsType[*DamageError](err); is {
		d.Foreign = !begins(f)
	}
	if err != nil {
		return err
	}
	s.content, s.id, s.log = *c, c.state.ID, c.state.Last.Log
	return nil
}

// begins reports whether one of the first two pages has the mark of the library, and those of our files: its version and size.
func begins(f io.ReaderAt) bool {
	want := order.AppendUint32(order.AppendUint32(order.AppendUint32(nil, magic), fileVersion), pageSize)
	for n := range int64(metaPages) {
		b := make([]byte, len(want))
		if _, err := f.ReadAt(b, n*pageSize+headerSize); err == nil && bytes.Equal(b, want) {
			return true
		}
	}
	return false
}

// located adds the path to damage, and marks the store.
func (s *Store) located(err error) error {
	d, is := errors.AsType[*DamageError](err)
	if !is || d.Path != "" {
		return err
	}
	d.Path = s.path
	if s.write {
		s.mark(d.What)
	}
	return err
}

// mark leaves a file beside the store. If that fails, the error that the caller returns is all there is.
func (s *Store) mark(what string) {
	f, err := os.OpenFile(s.path+marked, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(what)
	_, _ = f.Sync(), f.Close()
	_ = durable.Folder(filepath.Dir(s.path))
}
