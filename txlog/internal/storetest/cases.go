package storetest

import (
	"bytes"
	"math"
	"strings"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/store"
)

func empty(s *stage) {
	start := s.copy.Genesis().Start()
	for range 2 {
		view := s.store.View()
		s.equal(view, store.View{ID: view.ID, Floor: start, Last: start})
		s.equal(view.ID != 0, true)
		s.equal(s.store.Genesis().ID(), s.copy.Genesis().ID())
		s.equal(s.store.Value("hard") == nil, true)
		s.has(nil)
		_, err := s.store.Records(0, 1)
		s.wants(err, store.ErrGone)
		_, err = s.store.Records(2, 1)
		s.wants(err, store.ErrGone)
		_, err = s.store.Piece(0, 0, 1)
		s.wants(err, store.ErrGone)
		_, found, err := s.store.Head(0, math.MaxUint64)
		s.must(err)
		s.equal(found, false)
		s.reopen()
		s.equal(s.store.View().ID, view.ID)
	}
}

func written(s *stage) {
	var all []txlog.Record
	for i, size := range []int{0, 10, 5000, txlog.MostGoal, 1} {
		all = append(all, s.grow(i+1, size)...)
		s.must(s.store.Write(store.Step{Values: map[string][]byte{"n": {byte(i)}, "empty": {}, strings.Repeat("é", 64): bytes.Repeat([]byte{9}, limits.MostValue)}}))
		if i%2 == 1 {
			s.reopen()
		}
		s.has(all)
		s.equal(s.store.Value("n"), []byte{byte(i)})
		s.equal(s.store.Value("empty"), []byte{})
		s.equal(s.store.Names(""), []string{"empty", "n", strings.Repeat("é", 64)})
		s.equal(s.store.Names("e"), []string{"empty"})
	}
	s.must(s.store.Write(store.Step{Values: map[string][]byte{"n": nil, "never": nil}}))
	s.equal(s.store.Value("n") == nil, true)
	s.reopen()
	s.equal(s.store.Value("n") == nil, true)
	one, err := s.store.Records(2, 0)
	s.must(err)
	s.equal(len(one), 1)
}

func refused(s *stage) {
	s.grow(3, 10)
	s.must(s.store.Write(store.Step{Slots: []store.Slot{{Index: 5, Body: []byte("five")}}, Values: map[string][]byte{"a": []byte("b")}}))
	view := s.store.View()
	next := s.next(2, 10)
	other, err := Grow(Copy(Genesis(8)), 4, 1)
	s.must(err)
	for _, step := range []store.Step{
		{Records: next[1:]}, {Records: next[:1:1], Slots: []store.Slot{{Index: 7}}}, {Records: other[3:]}, {Records: []txlog.Record{next[0], next[0]}},
		{Records: []txlog.Record{{}}}, {Slots: []store.Slot{{Index: 4}}}, {Slots: []store.Slot{{Index: 5}, {Index: 7}}}, {Slots: []store.Slot{{Index: 6, Body: make([]byte, limits.MostSlot+1)}}},
		{Empty: true, Slots: []store.Slot{{Index: 0}}}, {Below: 7}, {Values: map[string][]byte{"": {}}}, {Values: map[string][]byte{"\xff": {}}},
		{Values: map[string][]byte{strings.Repeat("x", limits.MostValueName+1): {}}}, {Values: map[string][]byte{"x": make([]byte, limits.MostValue+1)}},
		{Lazy: true, Empty: true}, {Lazy: true, Slots: []store.Slot{{Index: 6}}}, {Heads: []txlog.Head{{Position: next[0].Position()}}}, {Heads: []txlog.Head{{Position: other[0].Position()}}},
		{Slots: []store.Slot{{Index: 6, Record: other[0]}}}, {Slots: []store.Slot{{Index: 6, Record: next[1]}, {Index: 7, Record: next[0]}}},
	} {
		if step.Values == nil {
			step.Values = map[string][]byte{"a": []byte("c"), "d": {}}
		}
		s.wants(s.store.Write(step), store.ErrStep)
		s.equal(s.store.View(), view)
		s.equal(s.store.Value("a"), []byte("b"))
		s.equal(s.store.Names(""), []string{"a"})
	}
	s.must(s.store.Write(store.Step{Records: next}))
}

func lazy(s *stage) {
	all := s.grow(2, 10)
	for range 3 {
		more := s.next(2, 10)
		all = append(all, more...)
		head := txlog.Head{Position: more[1].Position(), Member: "a"}
		s.must(s.store.Write(store.Step{Lazy: true, Records: more[:1], Values: map[string][]byte{"x": {1}, "y": {1}}}))
		s.must(s.store.Write(store.Step{Lazy: true, Records: more[1:], Heads: []txlog.Head{head}, Values: map[string][]byte{"x": {2}, "y": nil}}))
		s.has(all)
		s.equal(s.store.Value("x"), []byte{2})
		s.equal(s.store.Names(""), []string{"x"})
		got, found, err := s.store.Head(1, more[1].Index)
		s.must(err)
		s.equal(found && got.Position == head.Position, true)
	}
	s.must(s.store.Flush())
	s.must(s.store.Flush())
	all = append(all, s.grow(1, 10)...)
	last := s.next(1, 10)
	s.must(s.store.Write(store.Step{Lazy: true, Records: last}))
	all = append(all, last...)
	s.reopen() // Close stores what waits
	s.has(all)
	s.equal(s.store.Value("x"), []byte{2})
	for i := range 40 { // as many as are not lazy any more
		more := s.next(10, 10)
		all = append(all, more...)
		s.must(s.store.Write(store.Step{Lazy: true, Records: more, Values: map[string][]byte{"x": {byte(i)}}}))
	}
	s.has(all)
	s.reopen()
	s.has(all)
	s.equal(s.store.Value("x"), []byte{39})
}

func slots(s *stage) {
	check := func(first uint64, want ...string) {
		s.Helper()
		for range 2 {
			view := s.store.View()
			s.equal([2]uint64{view.FirstSlot, view.NextSlot}, [2]uint64{first, first + uint64(len(want))})
			var got []string
			for from := view.FirstSlot; from < view.NextSlot; {
				part, err := s.store.Slots(from, 3)
				s.must(err)
				for _, slot := range part {
					s.equal(slot.Index, from)
					got = append(got, string(slot.Body))
					from++
				}
			}
			s.equal(got, want)
			_, err := s.store.Slots(view.NextSlot+1, 1)
			s.wants(err, store.ErrGone)
			s.reopen()
		}
	}
	put := func(step store.Step, first uint64, bodies ...string) {
		s.Helper()
		for i, body := range bodies {
			step.Slots = append(step.Slots, store.Slot{Index: first + uint64(i), Body: []byte(body)})
		}
		s.must(s.store.Write(step))
	}
	put(store.Step{}, 2, "a", "b", "c", "d")
	check(2, "a", "b", "c", "d")
	put(store.Step{}, 4, "C")
	check(2, "a", "b", "C")
	put(store.Step{Below: 4}, 5, "D", "E", "")
	check(4, "C", "D", "E", "")
	_, err := s.store.Slots(3, 1)
	s.wants(err, store.ErrGone)
	put(store.Step{}, 4, "x")
	check(4, "x")
	put(store.Step{Below: 5}, 5)
	check(5)
	put(store.Step{}, 5, "y")
	put(store.Step{Lazy: true, Below: 6}, 6)
	put(store.Step{}, 6, "z")
	check(6, "z")
	put(store.Step{Empty: true}, 100, "far")
	check(100, "far")
	put(store.Step{Empty: true}, 0)
	put(store.Step{}, 3, "again")
	check(3, "again")
}

func heads(s *stage) {
	records := s.grow(10, 10)
	at := func(index uint64, member string) txlog.Head {
		return txlog.Head{Position: records[index-1].Position(), Member: member}
	}
	s.must(s.store.Write(store.Step{Heads: []txlog.Head{at(3, "a"), at(7, "a")}}))
	s.must(s.store.Write(store.Step{Heads: []txlog.Head{at(7, "b")}}))
	s.must(s.store.Write(store.Step{Lazy: true, Heads: []txlog.Head{at(9, "a"), at(5, "l")}}))
	check := func(from, upto, want uint64, member string) {
		s.Helper()
		got, found, err := s.store.Head(from, upto)
		s.must(err)
		s.equal(found, want > 0)
		s.equal([2]any{got.Index, got.Member}, [2]any{want, member})
	}
	for range 2 {
		check(0, math.MaxUint64, 9, "a")
		check(1, 8, 7, "b")
		check(7, 7, 7, "b")
		check(1, 6, 5, "l")
		check(1, 4, 3, "a")
		check(4, 4, 0, "")
		check(10, 20, 0, "")
		check(1, 2, 0, "")
		check(8, 3, 0, "")
		s.reopen()
	}
}

func closed(s *stage) {
	s.grow(2, 10)
	s.must(s.store.Close())
	s.must(s.store.Close())
	s.wants(s.store.Write(store.Step{}), store.ErrClosed)
	s.wants(s.store.Flush(), store.ErrClosed)
	_, err := s.store.Records(1, 1)
	s.wants(err, store.ErrClosed)
	_, err = s.store.Slots(0, 1)
	s.wants(err, store.ErrClosed)
	_, err = s.store.Compact(0)
	s.wants(err, store.ErrClosed)
	_, _, err = s.store.Head(1, 2)
	s.wants(err, store.ErrClosed)
	at, snapshot := s.snapshot()
	s.wants(s.store.Keep(at, snapshot, store.Step{}), store.ErrClosed)
}
