package disk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// resets is a store whose slots have all the records of its log, and a tail that is not committed.
type resets struct {
	*testing.T
	path  string
	s     *Store
	copy  *txlog.Copy
	all   []txlog.Record
	slots []store.Slot // that the authority has
}

func newResets(t *testing.T, committed, tail int) *resets {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	r := &resets{T: t, path: filepath.Join(t.TempDir(), "log")}
	id, err := Create(ctx, r.path)
	r.must(err)
	r.s, err = Begin(ctx, r.path, storetest.Genesis(id))
	r.must(err)
	t.Cleanup(func() { _ = r.s.Close() })
	r.copy = storetest.Copy(r.s.Genesis())
	for from := 0; from < committed+tail; from += 250 {
		records, err := storetest.Grow(r.copy, 250, 2000)
		r.must(err)
		step := store.Step{}
		for i, one := range records {
			step.Slots = append(step.Slots, store.Slot{Index: uint64(2 + from + i), Record: one})
		}
		if from < committed {
			step.Records = records
			r.all = append(r.all, records...)
		}
		r.must(r.s.Write(step))
	}
	return r
}

func (r *resets) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// step writes a step, whose work has a limit, and looks at what a crash leaves.
func (r *resets) step(step store.Step) {
	r.Helper()
	before, values, was := r.file(), r.s.state.Sums[slotBucket].N, *r
	var from, to runtime.MemStats
	runtime.ReadMemStats(&from)
	r.must(r.s.Write(step))
	runtime.ReadMemStats(&to)
	after := r.file()
	if step.Empty {
		r.slots = nil
	}
	r.slots = append(r.slots, step.Slots...)
	pages := 0
	for at := 0; at < len(after); at += pageSize {
		if at >= len(before) || !bytes.Equal(before[at:at+pageSize], after[at:at+pageSize]) {
			pages++
		}
	}
	gone := int(values) - int(r.s.state.Sums[slotBucket].N)
	if pages > 50 || gone > mostDropped || to.TotalAlloc-from.TotalAlloc > 4<<20 {
		r.Errorf("it has written %d pages, dropped %d slots and allocated %d bytes", pages, gone, to.TotalAlloc-from.TotalAlloc)
	}
	r.survives(after)
	// Its pages were written, and the one that says that they count was not.
	was.survives(append(bytes.Clone(before[:metaPages*pageSize]), after[metaPages*pageSize:]...))
}

func (r *resets) file() []byte {
	b, err := os.ReadFile(r.path)
	r.must(err)
	return b
}

// survives opens what a crash has left, and goes on.
func (r *resets) survives(file []byte) {
	r.Helper()
	path := filepath.Join(r.TempDir(), "crashed")
	r.must(os.WriteFile(path, file, 0o600))
	ctx, cancel := context.WithTimeout(r.Context(), time.Minute)
	defer cancel()
	s, err := Open(ctx, path)
	r.must(err)
	view := s.View()
	var have []txlog.Record
	for view.Floor.Index+uint64(len(have)) < view.Last.Index {
		some, err := s.Records(view.Floor.Index+uint64(len(have))+1, 1<<20)
		r.must(err)
		have = append(have, some...)
	}
	if len(have) != len(r.all) || len(have) > 0 && have[len(have)-1].Hash() != r.all[len(r.all)-1].Hash() {
		r.Fatalf("%d records are there, and %d were committed", len(have), len(r.all))
	}
	if slots, err := s.Slots(view.FirstSlot, 1<<20); err != nil || r.slots != nil && len(slots) != len(r.slots) {
		r.Fatalf("%d slots are there, and the authority had %d: %v", len(slots), len(r.slots), err)
	}
	more := store.Step{Slots: []store.Slot{{Index: max(1, view.NextSlot), Body: []byte("more")}}}
	r.must(errors.Join(s.Write(more), s.Close()))
}

// An authority that begins again moves nothing, however many records of the log are in its slots. Each step does a bounded
// amount, and a crash after any of them, or within it, leaves a store that goes on.
func TestAResetMovesNothing(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	r := newResets(t, 1500, 0)
	r.step(store.Step{Empty: true, Slots: []store.Slot{{Index: 9000, Body: []byte("a")}}})
	r.step(store.Step{Slots: []store.Slot{{Index: 9001, Body: []byte("b")}}})
	r.step(store.Step{Empty: true})
	r.step(store.Step{Empty: true, Slots: []store.Slot{{Index: 1, Body: []byte("c")}}})
	if n := r.s.state.Sums[recordBucket].N; n > 0 {
		t.Errorf("%d records were moved", n)
	}
}

// What neither the authority nor the log needs goes out of the file in a bounded number of slots each time.
func TestAResetDropsSomeAtATime(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	r := newResets(t, 1000, 2500)
	r.must(r.s.Keep(r.copy.Position(), []byte("ahead"), store.Step{}))
	r.all = nil
	for n := range uint64(4) {
		r.step(store.Step{Empty: true, Slots: []store.Slot{{Index: 5 + n, Body: []byte("a")}}})
	}
	if n := r.s.state.Sums[slotBucket].N; n != 1 {
		t.Errorf("%d slots are in the file, and the authority has one", n)
	}
}

// A reader whose record was dropped meanwhile is told so, though another slot has the number of its own since.
func TestAReaderMeetsAnotherSlot(t *testing.T) {
	t.Parallel()
	r := newResets(t, 250, 0)
	before := r.s.slots
	r.must(r.s.Keep(r.copy.Position(), []byte("snapshot"), store.Step{}))
	for more := true; more; {
		var err error
		more, err = r.s.Compact(250)
		r.must(err)
	}
	r.must(r.s.Write(store.Step{Empty: true}))
	r.must(r.s.Write(store.Step{Empty: true, Slots: []store.Slot{{Index: before.homes[249].number, Body: []byte("another")}}}))
	err := r.s.reading(func(tx *bolt.Tx) error {
		_, err := r.s.record(tx, before, 250)
		return err
	})
	if !errors.Is(err, store.ErrGone) || r.s.Failed() != nil {
		t.Errorf("it is told: %v, and the store says %v", err, r.s.Failed())
	}
}
