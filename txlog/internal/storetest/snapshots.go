package storetest

import (
	"bytes"
	"crypto/sha256"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/store"
)

// large are bytes of a snapshot of several pieces.
func large(size int, by byte) []byte {
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(i) ^ byte(i>>8) ^ by
	}
	return out
}

// keeps checks which snapshots are there, and reads them in pieces.
func (s *stage) keeps(want map[uint64][]byte) {
	s.Helper()
	view := s.store.View()
	s.equal(len(view.Kept), len(want))
	for i, k := range view.Kept {
		body := want[k.At.Index]
		s.equal([2]any{k.Size, k.Hash}, [2]any{len(body), txlog.Hash(sha256.Sum256(body))})
		s.equal(i == 0 || view.Kept[i-1].At.Index < k.At.Index, true)
		for _, at := range [][2]int{{0, 10}, {1, 300_000}, {65_530, 20}, {len(body) - 1, 100}, {0, len(body)}} {
			from := min(at[0], len(body)-1)
			got, err := s.store.Piece(k.At.Index, from, at[1])
			s.must(err)
			if !bytes.Equal(got, body[from:min(from+at[1], len(body))]) {
				s.Fatalf("the snapshot at %d is another one from byte %d on", k.At.Index, from)
			}
		}
		_, err := s.store.Piece(k.At.Index, len(body), 1)
		s.wants(err, store.ErrGone)
		_, err = s.store.Piece(k.At.Index, -1, 1)
		s.wants(err, store.ErrGone)
	}
}

func snapshots(s *stage) {
	records := s.grow(10, 10)
	start := s.copy.Genesis().Start()
	want := map[uint64][]byte{}
	for i, index := range []uint64{6, 0, 10, 6} {
		at := start
		if index > 0 {
			at = records[index-1].Position()
		}
		body := large(200_000*i+1, byte(index))
		if want[index] == nil {
			want[index] = body
		}
		s.must(s.store.Keep(at, body, store.Step{Values: map[string][]byte{"i": {byte(i)}}}))
		s.keeps(want)
		s.equal(s.store.Value("i"), []byte{byte(i)})
		s.reopen()
		s.keeps(want)
	}
	s.has(records)
	wrong := records[4].Position()
	wrong.Hash[0]++
	other, err := Grow(Copy(Genesis(9)), 1, 1)
	s.must(err)
	fits := records[4].Position()
	s.wants(s.store.Keep(wrong, []byte("x"), store.Step{}), store.ErrStep)
	s.wants(s.store.Keep(other[0].Position(), []byte("x"), store.Step{}), store.ErrStep)
	s.wants(s.store.Keep(fits, nil, store.Step{}), store.ErrStep)
	s.wants(s.store.Keep(fits, make([]byte, limits.MostSnapshot+1), store.Step{}), store.ErrStep)
	s.wants(s.store.Keep(fits, []byte("x"), store.Step{Below: 1}), store.ErrStep)
	s.wants(s.store.Keep(fits, []byte("x"), store.Step{Values: map[string][]byte{"": {}}}), store.ErrStep)
	s.keeps(want)
}

func ahead(s *stage) {
	s.grow(5, 10)
	s.must(s.store.Write(store.Step{Slots: []store.Slot{{Index: 2, Body: []byte("promised")}}, Heads: []txlog.Head{{Position: s.copy.Position()}}}))
	lazy := s.next(1, 10)
	s.must(s.store.Write(store.Step{Lazy: true, Records: lazy}))
	s.next(20, 10)
	at, body := s.snapshot()
	body = append(body, large(100_000, 1)...)
	head := txlog.Head{Position: at, Member: "a"}
	s.must(s.store.Keep(at, body, store.Step{Heads: []txlog.Head{head}, Values: map[string][]byte{"offer": {1}}}))
	for range 2 {
		view := s.store.View()
		s.equal([2]txlog.Position{view.Floor, view.Last}, [2]txlog.Position{at, at})
		s.keeps(map[uint64][]byte{at.Index: body})
		_, err := s.store.Records(5, 1)
		s.wants(err, store.ErrGone)
		got, found, err := s.store.Head(0, at.Index)
		s.must(err)
		s.equal(found && got.Position == head.Position, true)
		_, found, err = s.store.Head(0, at.Index-1)
		s.must(err)
		s.equal(found, false)
		promised, err := s.store.Slots(2, 100)
		s.must(err)
		s.equal(promised, []store.Slot{{Index: 2, Body: []byte("promised")}})
		s.equal(s.store.Value("offer"), []byte{1})
		s.reopen()
	}
	s.has(nil)
	records := s.grow(3, 10)
	s.reopen()
	s.has(records)
	s.wants(s.store.Keep(lazy[0].Position(), []byte("old"), store.Step{}), store.ErrStep)
}

func compaction(s *stage) {
	records := s.grow(2500, 10)
	_, err := s.store.Compact(1)
	s.wants(err, store.ErrStep)
	s.compact(0)
	want := map[uint64][]byte{}
	for _, index := range []uint64{100, 1500, 2400} {
		want[index] = large(3_000_000, byte(index))
		s.must(s.store.Keep(records[index-1].Position(), want[index], store.Step{}))
		s.must(s.store.Write(store.Step{Heads: []txlog.Head{{Position: records[index-1].Position()}}}))
	}
	_, err = s.store.Compact(2401)
	s.wants(err, store.ErrStep)
	s.compact(50)
	s.keeps(want)
	s.has(records[50:])
	_, err = s.store.Compact(1500) // a bounded number
	s.must(err)
	s.reopen()
	s.compact(1500)
	delete(want, 100)
	for range 2 {
		s.keeps(want)
		s.has(records[1500:])
		s.equal(s.store.View().Floor, records[1499].Position())
		_, err = s.store.Records(1500, 1)
		s.wants(err, store.ErrGone)
		_, found, err := s.store.Head(0, 1499)
		s.must(err)
		s.equal(found, false)
		_, found, err = s.store.Head(0, 1500)
		s.must(err)
		s.equal(found, true)
		s.reopen()
	}
	lazy := s.next(1, 10)
	s.must(s.store.Write(store.Step{Lazy: true, Records: lazy}))
	s.must(s.store.Keep(lazy[0].Position(), []byte("x"), store.Step{}))
	s.compact(lazy[0].Index)
	s.reopen()
	s.has(nil)
	s.equal(s.store.View().Last, lazy[0].Position())
	s.keeps(map[uint64][]byte{lazy[0].Index: []byte("x")})
}

// loaded: a node begins with what its store has (V2, V8).
func loaded(s *stage) {
	check := func() {
		s.Helper()
		c, err := store.Load(s.store, NewState)
		s.must(err)
		s.equal(c.Position(), s.copy.Position())
		s.equal(c.Hash(), s.copy.Hash())
	}
	check()
	s.grow(20, 100)
	check()
	at, snapshot := s.snapshot()
	s.must(s.store.Keep(at, snapshot, store.Step{}))
	s.grow(20, 100)
	s.compact(10)
	check()
	// One that does not restore is passed over while an older one has the records after it.
	s.must(s.store.Keep(s.copy.Position(), []byte("\x01 no snapshot of this version"), store.Step{}))
	s.grow(1, 1)
	s.reopen()
	check()
	s.compact(40)
	_, err := store.Load(s.store, NewState)
	s.wants(err, store.ErrUnfit)
}
