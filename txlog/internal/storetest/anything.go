package storetest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// model is what a store should have.
type model struct {
	*stage
	chance  *rand.Rand
	records []txlog.Record
	kept    map[uint64][]byte
	slots   []store.Slot
	first   uint64
	dropped uint64 // the newest record in slots that were dropped
	values  map[string]string
}

// anything writes steps by chance and compares with what they mean.
func anything(s *stage) {
	const seed = 25
	m := &model{
		stage: s, chance: rand.New(rand.NewPCG(seed, seed)), //nolint:gosec // a run must replay
		kept: map[uint64][]byte{}, values: map[string]string{},
	}
	for range runtest.ByDay(350, 700) {
		s.must(s.store.Write(m.step()))
	}
	for range 2 {
		m.compare()
		s.keeps(m.kept)
		s.equal(len(s.store.Names("")), len(m.values))
		for name, value := range m.values {
			s.equal(string(s.store.Value(name)), value)
		}
		s.reopen()
	}
}

// compare checks the records and the slots.
func (m *model) compare() {
	m.Helper()
	m.has(m.records[m.store.View().Floor.Index:])
	got, err := m.store.Slots(m.store.View().FirstSlot, 1<<20)
	m.must(err)
	m.equal(len(got), len(m.slots))
	for i, slot := range got {
		want := m.slots[i]
		m.equal([3]any{slot.Index, string(slot.Body), string(slot.Record.Raw())}, [3]any{m.first + uint64(i), string(want.Body), string(want.Record.Raw())})
	}
}

// step returns some step, or does something else that a store offers.
func (m *model) step() (step store.Step) {
	switch m.chance.IntN(10) {
	case 0, 1, 2:
		step.Records = m.next(1+m.chance.IntN(4), 30*m.chance.IntN(2))
		step.Lazy = m.chance.IntN(2) == 0
		m.records = append(m.records, step.Records...)
	case 3, 4:
		if len(m.slots) == 0 && m.first == 0 {
			m.first = 2
		}
		m.slots = m.slots[:m.chance.IntN(len(m.slots)+1)]
		step.Slots = m.fill(m.tail(1 + m.chance.IntN(3)))
	case 5:
		drop := m.chance.IntN(len(m.slots) + 1)
		step.Below = m.first + uint64(drop)
		m.dropped = newest(m.dropped, m.slots[:drop])
		m.slots, m.first = m.slots[drop:], m.first+uint64(drop)
	case 6:
		name := strconv.Itoa(m.chance.IntN(20))
		m.values[name] = strconv.Itoa(m.chance.IntN(1000))
		step.Values = map[string][]byte{name: []byte(m.values[name])}
	case 7:
		at, body := m.copy.Position(), large(1+m.chance.IntN(150_000), byte(len(m.records)))
		if m.kept[at.Index] == nil {
			m.kept[at.Index] = body
		}
		m.must(m.store.Keep(at, body, store.Step{}))
	case 8:
		if newest, is := m.store.View().Newest(); is {
			upto := m.chance.Uint64N(newest.At.Index + 1)
			m.compact(upto)
			maps.DeleteFunc(m.kept, func(index uint64, _ []byte) bool { return index < upto })
		}
		m.compare()
		m.reopen()
		m.compare()
	case 9: // the authority begins again anywhere, with records that the log may have
		step.Empty, m.slots, m.dropped, m.first = true, nil, 0, 1+m.chance.Uint64N(100)
		from := max(m.store.View().Floor.Index, uint64(len(m.records))-m.chance.Uint64N(uint64(min(len(m.records), 20)+1)))
		again := m.records[from:]
		step.Slots = m.fill(append(slices.Clone(again[:m.chance.IntN(len(again)+1)]), m.tail(m.chance.IntN(3))...))
		if len(m.slots) == 0 {
			m.first = 0
		}
	}
	return step
}

// fill returns slots after those that are there. Most have a record.
func (m *model) fill(records []txlog.Record) (all []store.Slot) {
	for _, r := range records {
		one := store.Slot{Index: m.first + uint64(len(m.slots)), Body: []byte(strconv.Itoa(m.chance.IntN(1000)))}
		if m.chance.IntN(3) > 0 {
			one.Record = r
		}
		all, m.slots = append(all, one), append(m.slots, one)
	}
	return all
}

// tail returns records that come after those of the slots, and may be the next ones of the log.
func (m *model) tail(n int) []txlog.Record {
	fork, err := txlog.Restore(m.copy.Snapshot(), NewState)
	m.must(err)
	last := newest(max(fork.Position().Index, m.dropped), m.slots)
	many := int(last-fork.Position().Index) + n
	records, err := Grow(fork, many, 0)
	m.must(err)
	return records[many-n:]
}

// newest returns the largest of an index and those of the records in slots.
func newest(index uint64, slots []store.Slot) uint64 {
	for _, slot := range slots {
		if slot.Record.Raw() != nil {
			index = max(index, slot.Record.Index)
		}
	}
	return index
}

// readers: what a reading finds is right or gone, while steps are written, snapshots kept and records dropped.
func readers(s *stage) {
	done := make(chan struct{})
	var group sync.WaitGroup
	body := func(index uint64) []byte { return large(300_000, byte(index)) }
	for range 3 {
		group.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				view := s.store.View()
				records, err := s.store.Records(view.Floor.Index+1, 10_000)
				if err != nil && !errors.Is(err, store.ErrGone) {
					s.Error(err)
				}
				for i, r := range records {
					if r.Index != view.Floor.Index+1+uint64(i) {
						s.Errorf("record %d is in the place of another", r.Index)
					}
				}
				if _, err := s.store.Records(view.Last.Index, 1); view.Last.Index > 0 && err != nil && !errors.Is(err, store.ErrGone) {
					s.Error(err)
				}
				if newest, is := view.Newest(); is {
					if _, err := s.store.Piece(newest.At.Index, 70_000, 100_000); err != nil && !errors.Is(err, store.ErrGone) {
						s.Error(err)
					}
				}
				if _, _, err := s.store.Head(0, view.Last.Index); err != nil {
					s.Error(err)
				}
			}
		})
	}
	group.Go(func() { // another goroutine keeps and compacts
		for range runtest.ByDay(10, 20) {
			at := s.store.View().Last
			if err := s.store.Keep(at, body(at.Index), store.Step{}); err != nil {
				s.Error(err)
				return
			}
			for more := true; more; {
				var err error
				if more, err = s.store.Compact(at.Index); err != nil {
					s.Error(err)
					return
				}
			}
		}
	})
	for range runtest.ByDay(50, 100) {
		records := s.growInSlots(5)
		s.must(s.store.Write(store.Step{Lazy: true, Heads: []txlog.Head{{Position: records[4].Position()}}}))
	}
	close(done)
	group.Wait()
	s.reopen()
	c, err := Grow(s.copy, 1, 1)
	s.must(err)
	s.must(s.store.Write(store.Step{Records: c}))
}

// growInSlots writes records, and has most of them in slots first, which are replaced once.
func (s *stage) growInSlots(many int) []txlog.Record {
	records := s.next(many, 100)
	var step store.Step
	for i, r := range records[1:] {
		step.Slots = append(step.Slots, store.Slot{Index: max(1, s.store.View().NextSlot) + uint64(i), Record: r})
	}
	step.Below = step.Slots[0].Index
	s.must(s.store.Write(step))
	s.must(s.store.Write(step))
	s.must(s.store.Write(store.Step{Records: records}))
	return records
}
