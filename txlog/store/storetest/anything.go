package storetest

import (
	"errors"
	"maps"
	"math/rand/v2"
	"strconv"
	"sync"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// model is what a store should have.
type model struct {
	*stage
	chance  *rand.Rand
	records []txlog.Record
	kept    map[uint64][]byte
	slots   []string
	first   uint64
	values  map[string]string
}

// anything writes steps by chance and compares with what they mean.
func anything(s *stage) {
	const seed = 25
	m := &model{
		stage: s, chance: rand.New(rand.NewPCG(seed, seed)), //nolint:gosec // a run must replay
		kept: map[uint64][]byte{}, values: map[string]string{},
	}
	for range 300 {
		s.must(s.store.Write(m.step()))
	}
	for range 2 {
		s.has(m.records[s.store.View().Floor.Index:])
		s.keeps(m.kept)
		got, err := s.store.Slots(s.store.View().FirstSlot, 1<<20)
		s.must(err)
		s.equal(len(got), len(m.slots))
		for i, slot := range got {
			s.equal([2]any{slot.Index, string(slot.Body)}, [2]any{m.first + uint64(i), m.slots[i]})
		}
		s.equal(len(s.store.Names("")), len(m.values))
		for name, value := range m.values {
			s.equal(string(s.store.Value(name)), value)
		}
		s.reopen()
	}
}

// step returns some step, or does something else that a store offers.
func (m *model) step() (step store.Step) {
	switch m.chance.IntN(9) {
	case 0, 1, 2:
		step.Records = m.next(1+m.chance.IntN(4), m.chance.IntN(3000))
		step.Lazy = m.chance.IntN(2) == 0
		m.records = append(m.records, step.Records...)
	case 3, 4:
		if len(m.slots) == 0 && m.first == 0 {
			m.first = 2
		}
		m.slots = m.slots[:m.chance.IntN(len(m.slots)+1)]
		for range 1 + m.chance.IntN(3) {
			body := strconv.Itoa(m.chance.IntN(1000))
			step.Slots = append(step.Slots, store.Slot{Index: m.first + uint64(len(m.slots)), Body: []byte(body)})
			m.slots = append(m.slots, body)
		}
	case 5:
		drop := m.chance.IntN(len(m.slots) + 1)
		step.Below = m.first + uint64(drop)
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
		m.reopen()
	}
	return step
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
		for range 20 {
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
	for range 100 {
		records := s.grow(5, 100)
		s.must(s.store.Write(store.Step{Lazy: true, Heads: []txlog.Head{{Position: records[4].Position()}}}))
	}
	close(done)
	group.Wait()
	s.reopen()
	c, err := Grow(s.copy, 1, 1)
	s.must(err)
	s.must(s.store.Write(store.Step{Records: c}))
}
