package disk

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// Lazy steps wait until they are as large as this.
const (
	mostHeld      = 4096
	mostHeldBytes = 4 << 20
	mostRoom      = 4 << 20 // of it is kept for the next one
)

// noStep is the step of a transaction that adds something else.
var noStep store.Step

// Write implements store.Store.
func (s *Store) Write(step store.Step) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	next, err := s.view.Next(step)
	if err != nil {
		return err
	}
	if err := step.CheckNumber(s.values); err != nil {
		return err
	}
	if err := s.checkSlots(step); err != nil {
		return err
	}
	if step.Lazy {
		s.hold(step, next)
		if s.small() {
			return nil
		}
		step = store.Step{}
	}
	return s.commit(next, step, func(*change) {})
}

// checkSlots checks the records of new slots.
func (s *Store) checkSlots(step store.Step) error {
	before := uint64(0)
	if len(step.Slots) > 0 && !step.Empty {
		before = s.slots.newest(s.slots.before(step.Slots[0].Index, s.view.NextSlot))
	}
	return step.CheckRecords(before)
}

// Flush implements store.Store.
func (s *Store) Flush() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.writable(); err != nil {
		return err
	}
	return s.flush()
}

func (s *Store) flush() error {
	if !s.holds() {
		return nil
	}
	return s.commit(s.view, noStep, func(*change) {})
}

func (s *Store) writable() error {
	if !s.write {
		return errReadOnly
	}
	return s.Failed()
}

// hold keeps a lazy step in memory, where everybody sees it.
func (s *Store) hold(step store.Step, next store.View) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.Values == nil {
		s.held.Values = map[string][]byte{}
	}
	for name, value := range step.Values {
		if value != nil {
			value = append([]byte{}, value...)
		}
		s.held.Values[name] = value
	}
	s.held.Below = max(s.held.Below, step.Below)
	s.held.Records = append(s.held.Records, step.Records...)
	s.held.Heads = append(s.held.Heads, step.Heads...)
	s.show(step, next)
}

// show changes what is in memory as a step says.
func (s *Store) show(step store.Step, next store.View) {
	for name, value := range step.Values {
		if value == nil {
			delete(s.values, name)
		} else {
			s.values[name] = append([]byte{}, value...)
		}
	}
	for _, h := range step.Heads {
		at, is := s.findHead(h.Index)
		if is {
			s.heads = slices.Delete(s.heads, at, at+1)
		}
		s.heads = slices.Insert(s.heads, at, h)
	}
	if gone, _ := s.findHead(next.Floor.Index); gone > 0 {
		s.heads = slices.Clone(s.heads[gone:])
	}
	s.view = next
}

// findHead returns where the head at an index is, or would be.
func (s *Store) findHead(index uint64) (int, bool) {
	return slices.BinarySearchFunc(s.heads, index, func(h txlog.Head, index uint64) int { return cmp.Compare(h.Index, index) })
}

// holds reports whether lazy steps wait.
func (s *Store) holds() bool {
	h := s.held
	return len(h.Values) > 0 || h.Below > 0 || len(h.Records) > 0 || len(h.Heads) > 0
}

// small reports whether the lazy steps may wait.
func (s *Store) small() bool {
	size := 0
	for _, r := range s.held.Records {
		size += len(r.Raw())
	}
	return size < mostHeldBytes && len(s.held.Records) < mostHeld && len(s.held.Heads) < mostHeld
}

// commit writes a transaction: the lazy steps that wait, and what add adds. After it the view is next, with the values of step.
// When it returns, everything is on the disk; after an error nothing works any more.
func (s *Store) commit(next store.View, step store.Step, add func(c *change)) error {
	var c *change
	tx, err := s.transaction(true)
	if err == nil {
		whole := false
		err = guarded(func() error {
			c = newChange(tx, s)
			c.step(s.held)
			c.step(step)
			add(c)
			if c.finish(next); c.err != nil {
				err = errors.Join(c.err, tx.Rollback())
			} else {
				err = tx.Commit()
			}
			whole = true
			return err
		})
		if !whole {
			s.torn.Store(true)
		}
	}
	if err != nil {
		if !errors.Is(err, store.ErrDamaged) {
			err = fmt.Errorf("%w: %s: %w", store.ErrSync, s.path, err)
		}
		return s.fail(err)
	}
	if s.room = c.room; cap(s.room) > mostRoom {
		s.room = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.slots, s.held = c.state, c.slots, store.Step{}
	s.show(step, next)
	return nil
}
