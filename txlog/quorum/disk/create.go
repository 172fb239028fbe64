package disk

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/internal/durable"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// Create makes a store in which no log has begun, and returns its id, which is drawn by chance: below 2^53, so that every
// reader of JSON has it whole. A store that is there and has no log yet is taken as it is. It is an error if it has one; any other
// error is one of Open.
func Create(ctx context.Context, path string) (id uint64, err error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil && !errors.Is(err, fs.ErrExist) {
			return 0, err
		}
	}
	s, err := open(ctx, path, true)
	if err != nil {
		return 0, err
	}
	if s.begun {
		err = fault(errLog, "%s has log %s", path, s.log.Short())
	}
	return s.id, errors.Join(err, s.Close())
}

// create makes the file under another name first: one that is there is always whole.
func create(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	if err := f.Close(); err != nil {
		return err
	}
	db, err := bolt.Open(f.Name(), 0o600, &bolt.Options{PageSize: pageSize, NoFreelistSync: true, FreelistType: bolt.FreelistMapType, NoStatistics: true})
	if err != nil {
		return err
	}
	if err := errors.Join(fill(db), db.Close()); err != nil {
		return err
	}
	// A mark without a store is of one that was moved aside.
	if err := os.Remove(path + marked); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil { // unlike a rename, it takes nobody's place
		return err
	}
	return durable.Folder(filepath.Dir(path))
}

func fill(db *bolt.DB) error {
	return db.Update(func(tx *bolt.Tx) error {
		for _, name := range names {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		c := newChange(tx, &Store{content: content{state: state{Format: format, ID: draw()}}})
		c.finish(store.View{})
		return c.err
	})
}

// draw returns an id by chance, above 0.
func draw() uint64 {
	for {
		var b [8]byte
		_, _ = rand.Read(b[:]) // it never fails
		if id := binary.BigEndian.Uint64(b[:]) >> 11; id != 0 {
			return id
		}
	}
}

// Begin begins a log in a store that Create has made, and opens it. The same log may begin again. It is an error if
// another one has; any other error is one of Open.
func Begin(ctx context.Context, path string, g txlog.Genesis) (*Store, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	s, err := open(ctx, path, true)
	if err != nil {
		return nil, err
	}
	if s.begun && s.log != g.ID() {
		return nil, errors.Join(fault(errLog, "%s has log %s, and not %s", path, s.log.Short(), g.ID().Short()), s.Close())
	}
	if s.begun {
		return s, nil
	}
	next := s.view
	next.Floor, next.Last = g.Start(), g.Start()
	s.begun, s.genesis, s.log = true, g, g.ID()
	err = s.commit(next, noStep, func(c *change) { c.put(genesisBucket, only, g.Encode()) })
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}
