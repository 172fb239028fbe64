package disk

import (
	"crypto/sha256"
	"math"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// atOnce is how many pieces of a snapshot are written or dropped in one transaction: 1 MB, so that a step waits for
// milliseconds.
const atOnce = 16

// Keep implements store.Store. Snapshots are kept one after another.
func (s *Store) Keep(at txlog.Position, snapshot []byte, with store.Step) error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	known, err := s.place(at, len(snapshot), with)
	if err != nil {
		return err
	}
	if !known {
		if err := s.pieces(at.Index, snapshot); err != nil {
			return err
		}
	}
	err = s.whole(store.Kept{At: at, Size: len(snapshot), Hash: sha256.Sum256(snapshot)}, with)
	if err != nil && !known {
		s.writing.Lock()
		defer s.writing.Unlock()
		s.loose = append(s.loose, looseBytes{index: at.Index, pieces: pieces(len(snapshot))})
	}
	return err
}

// place checks that a snapshot may be kept.
func (s *Store) place(at txlog.Position, size int, with store.Step) (known bool, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return false, err
	}
	_, known, err = s.view.Place(at, size, with, s.hash)
	return known, err
}

func (s *Store) hash(index uint64) (txlog.Hash, error) {
	at, err := s.position(index)
	return at.Hash, err
}

// pieces writes the bytes of a snapshot. They are loose until it is whole: a crash leaves them to clean.
func (s *Store) pieces(index uint64, snapshot []byte) error {
	if err := s.clean(); err != nil {
		return err
	}
	for from := 0; from < pieces(len(snapshot)); from += atOnce {
		upto := min(from+atOnce, pieces(len(snapshot)))
		s.writing.Lock()
		err := s.writable()
		if err == nil {
			err = s.commit(s.view, noStep, func(c *change) {
				for n := from; n < upto; n++ {
					c.put(pieceBucket, pieceKey(index, n), snapshot[n*piece:min(len(snapshot), (n+1)*piece)])
				}
			})
		}
		s.writing.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// whole says that all pieces of a snapshot are there, and stores what comes with it. If the log goes on from it, what was before
// it is dropped.
func (s *Store) whole(k store.Kept, with store.Step) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	ahead, known, err := s.view.Place(k.At, k.Size, with, s.hash)
	if err == nil {
		err = with.CheckNumber(s.values)
	}
	if err != nil {
		return err
	}
	next := s.view
	if !known {
		next = next.With(k, ahead)
	}
	if ahead {
		s.gone.Store(k.At.Index - 1)
	}
	return s.commit(next, with, func(c *change) {
		if !known {
			c.put(keptBucket, number(k.At.Index), encodeKept(k))
		}
		if ahead {
			c.empty(recordBucket)
			c.removeBelow(headBucket, k.At.Index, math.MaxInt)
		}
	})
}

// clean drops loose pieces.
func (s *Store) clean() error {
	for {
		s.writing.Lock()
		err := s.writable()
		more := len(s.loose) > 0
		if err == nil && more {
			err = s.commit(s.view, noStep, s.loosen)
		}
		s.writing.Unlock()
		if err != nil || !more {
			return err
		}
	}
}

// loosen drops some loose pieces.
func (s *Store) loosen(c *change) {
	most := atOnce
	for most > 0 && len(s.loose) > 0 {
		l := &s.loose[0]
		for ; most > 0 && l.pieces > 0; most-- {
			l.pieces--
			c.remove(pieceBucket, pieceKey(l.index, l.pieces))
		}
		if l.pieces == 0 {
			s.loose = s.loose[1:]
		}
	}
}
