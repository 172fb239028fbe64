package disk

import (
	"crypto/sha256"
	"errors"
	"slices"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// reading calls look in a reading of the library. What look gets of it is valid until it returns.
func (s *Store) reading(look func(tx *bolt.Tx) error) error {
	if err := s.Failed(); err != nil {
		return err
	}
	tx, err := s.transaction(false)
	if err == nil {
		err = guarded(func() error { return look(tx) })
		err = errors.Join(err, tx.Rollback())
	}
	switch {
	case errors.Is(err, berrors.ErrDatabaseNotOpen):
		return store.ErrClosed
	case errors.Is(err, store.ErrDamaged):
		return s.fail(err)
	}
	return err
}

// get returns a copy of a value, or nil if it is not there.
func (s *Store) get(tx *bolt.Tx, bucket int, key []byte) ([]byte, error) {
	framed, err := framed(tx, bucket, key)
	if framed == nil || err != nil {
		return nil, err
	}
	return unframe(s.id, bucket, key, framed)
}

// framed returns a copy of what is stored for a value, or nil if it is not there.
func framed(tx *bolt.Tx, bucket int, key []byte) ([]byte, error) {
	in := tx.Bucket(names[bucket])
	if in == nil {
		return nil, damage("a bucket is missing")
	}
	return slices.Clone(in.Get(key)), nil
}

// missing says why something is not there that the view has: it was dropped since, or the file has lost it.
func (s *Store) missing(index uint64, what string) error {
	if index <= s.gone.Load() {
		return fault(store.ErrGone, "%s %d was dropped", what, index)
	}
	return damage("%s %d is missing", what, index)
}

// Records implements store.Store.
func (s *Store) Records(from uint64, most int) (out []txlog.Record, err error) {
	s.mu.RLock()
	view, held, slots := s.view, s.held.Records, s.slots
	s.mu.RUnlock()
	if _, err := view.RecordsFrom(from); err != nil {
		return nil, err
	}
	last := view.Last.Index - uint64(len(held)) // of those in the file
	full := false
	take := func(r txlog.Record) bool {
		if most -= len(r.Raw()); most < 0 && len(out) > 0 {
			full = true
			return false
		}
		out = append(out, r)
		return true
	}
	err = s.reading(func(tx *bolt.Tx) error {
		for index := from; index <= last; index++ {
			r, err := s.record(tx, slots, index)
			if err != nil {
				return err
			}
			if n := len(out); n > 0 && r.Prev != out[n-1].Hash() {
				return damage("record %d does not follow record %d", index, index-1)
			}
			if !take(r) {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range held {
		if r.Index >= from && (full || !take(r)) {
			break
		}
	}
	return out, nil
}

// record reads a record of the file. The slots are as they were before the reading began.
func (s *Store) record(tx *bolt.Tx, in places, index uint64) (r txlog.Record, err error) {
	body, err := s.get(tx, recordBucket, number(index))
	switch {
	case err != nil:
		return r, err
	case body != nil:
		r, err = txlog.Own(body)
	default:
		r, err = s.slotted(tx, in, index)
	}
	if err == nil && (r.Index != index || r.Log != s.log) {
		err = damage("record %d is another one", index)
	}
	return r, err
}

// slotted reads a record that is in a slot.
func (s *Store) slotted(tx *bolt.Tx, in places, index uint64) (txlog.Record, error) {
	home, is := in.home(index)
	if !is {
		return txlog.Record{}, s.missing(index, "record")
	}
	slot, here, err := s.slot(tx, home.number, home.sum)
	if err == nil && !here || err != nil && index <= s.gone.Load() { // another slot may have its number since
		err = s.missing(index, "record")
	}
	return slot.Record, err
}

// position returns the place of a record that is here, or of the floor.
func (s *Store) position(index uint64) (at txlog.Position, err error) {
	s.mu.RLock()
	view, held, slots := s.view, s.held.Records, s.slots
	s.mu.RUnlock()
	switch {
	case index == view.Floor.Index:
		return view.Floor, nil
	case index > view.Last.Index-uint64(len(held)):
		return held[uint64(len(held))-(view.Last.Index-index)-1].Position(), nil
	}
	err = s.reading(func(tx *bolt.Tx) error {
		r, err := s.record(tx, slots, index)
		at = r.Position()
		return err
	})
	return at, err
}

// Slots implements store.Store. It waits for a step that is being written.
func (s *Store) Slots(from uint64, most int) (out []store.Slot, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	view := s.View()
	if _, err := view.SlotsFrom(from); err != nil {
		return nil, err
	}
	err = s.reading(func(tx *bolt.Tx) error {
		for index := from; index < view.NextSlot; index++ {
			i := s.slots.before(index, view.NextSlot)
			slot, here, err := s.slot(tx, s.slots.at(i), s.slots.all[i].sum)
			switch {
			case err != nil:
				return err
			case !here:
				return damage("slot %d is missing", index)
			}
			if most -= slot.Size(); most < 0 && len(out) > 0 {
				return nil
			}
			slot.Index = index
			out = append(out, slot)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// slot reads the slot with a number, which has to be the newest that was written there. It is not here if it was dropped.
func (s *Store) slot(tx *bolt.Tx, n uint64, sum txlog.Hash) (slot store.Slot, here bool, err error) {
	value, err := framed(tx, slotBucket, number(n))
	if value == nil || err != nil {
		return slot, false, err
	}
	if slot, err = unframeSlot(s.id, number(n), value); err == nil && txlog.Hash(value[:sha256.Size]) != sum {
		err = damage("slot %d is an older one", slot.Index)
	}
	return slot, true, err
}

// Head implements store.Store. All heads are in memory.
func (s *Store) Head(from, upto uint64) (head txlog.Head, found bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.failed != nil {
		return txlog.Head{}, false, s.failed
	}
	at, is := s.findHead(upto)
	if !is {
		at--
	}
	if at < 0 || s.heads[at].Index < from {
		return txlog.Head{}, false, nil
	}
	return s.heads[at], true, nil
}

// Piece implements store.Store.
func (s *Store) Piece(index uint64, offset, most int) ([]byte, error) {
	kept, err := s.View().Find(index, offset, most)
	if err != nil {
		return nil, err
	}
	end := min(kept.Size, offset+most)
	out := make([]byte, 0, end-offset)
	err = s.reading(func(tx *bolt.Tx) error {
		for n := offset / piece; n*piece < end; n++ {
			body, err := s.get(tx, pieceBucket, pieceKey(index, n))
			if err != nil {
				return err
			}
			if want := min(piece, kept.Size-n*piece); len(body) != want {
				return s.missing(index+1, "the snapshot before record") // one at the index that was compacted stays
			}
			out = append(out, body[max(0, offset-n*piece):min(len(body), end-n*piece)]...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}
