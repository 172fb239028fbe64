package storetest

import (
	"bytes"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// shared: a record that is in a slot is the log's when a step says so, and stays when the slot is replaced or dropped.
func shared(s *stage) {
	var (
		all  []txlog.Record
		none txlog.Record
	)
	slot := func(index uint64, r txlog.Record) store.Slot {
		return store.Slot{Index: index, Body: []byte{byte(index)}, Record: r}
	}
	check := func(first uint64, want ...txlog.Record) {
		s.Helper()
		for range 2 {
			s.has(all)
			got, err := s.store.Slots(first, 1<<20)
			s.must(err)
			s.equal(len(got), len(want))
			for i, g := range got {
				s.equal(g.Index, first+uint64(i))
				s.equal(bytes.Equal(g.Record.Raw(), want[i].Raw()), true)
			}
			s.reopen()
		}
	}
	step := func(first uint64, with []txlog.Record, more store.Step) {
		s.Helper()
		for i, r := range with {
			more.Slots = append(more.Slots, slot(first+uint64(i), r))
		}
		all = append(all, more.Records...)
		s.must(s.store.Write(more))
	}
	r := s.next(12, 100)
	step(2, []txlog.Record{none, r[0], r[1], none, r[2]}, store.Step{})
	check(2, none, r[0], r[1], none, r[2])
	step(0, nil, store.Step{Records: r[:2], Lazy: true}) // they are in slots
	step(0, nil, store.Step{Records: r[2:4]})            // and one is not
	check(2, none, r[0], r[1], none, r[2])
	s.wants(s.store.Write(store.Step{Slots: []store.Slot{slot(7, r[2])}}), store.ErrStep)
	step(7, []txlog.Record{r[4], r[5]}, store.Step{Below: 5})
	check(5, none, r[2], r[4], r[5])
	step(6, []txlog.Record{r[6]}, store.Step{Records: r[4:6]}) // whose slots are replaced meanwhile
	check(5, none, r[6])
	step(100, []txlog.Record{r[7], r[8]}, store.Step{Empty: true, Records: r[6:9]})
	check(100, r[7], r[8])
	s.must(s.store.Keep(r[8].Position(), []byte("snapshot"), store.Step{}))
	s.compact(8)
	all = all[8:]
	step(1, []txlog.Record{r[10]}, store.Step{Empty: true}) // record 8 is dropped, and stays so
	check(1, r[10])
	s.must(s.store.Keep(r[9].Position(), []byte("ahead"), store.Step{}))
	all = nil
	check(1, r[10])
	step(2, nil, store.Step{Below: 2, Records: r[10:]})
	check(2)
	s.compact(9)
	check(2)
}

// others: an authority that begins again may have other records in its slots, at indices that the log has: none of them is the log's.
func others(s *stage) {
	r := s.next(5, 100)
	wrong, err := Grow(Copy(s.copy.Genesis()), 6, 10)
	s.must(err)
	inSlots := func(first uint64, records []txlog.Record) (all []store.Slot) {
		for i, one := range records {
			all = append(all, store.Slot{Index: first + uint64(i), Record: one})
		}
		return all
	}
	s.must(s.store.Write(store.Step{Slots: inSlots(2, r), Records: r[:4]}))
	for n := range 3 {
		s.must(s.store.Write(store.Step{Empty: true, Slots: inSlots(uint64(9-4*n), wrong)}))
		s.has(r[:4])
		s.reopen()
		s.has(r[:4])
	}
	s.must(s.store.Write(store.Step{Slots: inSlots(1, r[4:]), Records: r[4:]}))
	s.reopen()
	s.has(r)
}
