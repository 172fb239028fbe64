package storetest

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// Room has a store under test.
type Room interface {
	// Store returns the store as it is.
	Store() store.Store
	// Reopen closes the store and opens it again. It is nil if the store ends with its process.
	Reopen() store.Store
}

// Exercise is the suite that every store must pass. It opens a room of its own for each test.
func Exercise(t *testing.T, open func(*testing.T, txlog.Genesis) Room) {
	t.Helper()
	for name, test := range map[string]func(*stage){
		"a new store": empty, "what is written is there": written, "a step that does not fit": refused, "lazy steps": lazy,
		"slots": slots, "slots with records": shared, "slots of other records": others, "snapshots": snapshots, "a snapshot ahead": ahead, "compaction": compaction, "heads": heads, "a copy is made anew": loaded,
		"any steps": anything, "readers beside a writer": readers, "closed": closed,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := Genesis(7)
			room := open(t, g)
			test(&stage{T: t, room: room, store: room.Store(), copy: Copy(g)})
		})
	}
}

// stage is one test: a store, and the log that is written to it.
type stage struct {
	*testing.T
	room  Room
	store store.Store
	copy  *txlog.Copy
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stage) wants(err, want error) {
	s.Helper()
	if !errors.Is(err, want) {
		s.Fatalf("the error is %v, and should be %v", err, want)
	}
}

func (s *stage) equal(have, want any) {
	s.Helper()
	if !reflect.DeepEqual(have, want) {
		s.Fatalf("have %+v\nwant %+v", have, want)
	}
}

// grow writes records of so many bytes.
func (s *stage) grow(n, size int) []txlog.Record {
	s.Helper()
	records := s.next(n, size)
	s.must(s.store.Write(store.Step{Records: records}))
	return records
}

func (s *stage) next(n, size int) []txlog.Record {
	s.Helper()
	records, err := Grow(s.copy, n, size)
	s.must(err)
	return records
}

// reopen closes the store and opens it again, if it can.
func (s *stage) reopen() {
	if again := s.room.Reopen(); again != nil {
		s.store = again
	}
}

// has checks which records are there, and that they are these.
func (s *stage) has(records []txlog.Record) {
	s.Helper()
	view := s.store.View()
	s.equal(view.Last.Index-view.Floor.Index, uint64(len(records)))
	for from := view.Floor.Index + 1; from <= view.Last.Index; {
		got, err := s.store.Records(from, 10_000)
		s.must(err)
		if len(got) == 0 {
			s.Fatalf("record %d is missing", from)
		}
		for _, r := range got {
			want := records[r.Index-view.Floor.Index-1]
			if r.Index != from || !bytes.Equal(r.Raw(), want.Raw()) || r.Hash() != want.Hash() {
				s.Fatalf("record %d is another one", from)
			}
			from++
		}
	}
	none, err := s.store.Records(view.Last.Index+1, 1)
	s.must(err)
	s.equal(len(none), 0)
}

// compact drops what it can up to an index.
func (s *stage) compact(upto uint64) {
	s.Helper()
	for more := true; more; {
		var err error
		more, err = s.store.Compact(upto)
		s.must(err)
	}
}

func (s *stage) snapshot() (txlog.Position, []byte) { return s.copy.Position(), s.copy.Snapshot() }
