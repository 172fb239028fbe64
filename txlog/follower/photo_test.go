package follower

import (
	"testing"

	"github.com/conchhq/conch/txlog"
)

// wide is a board that is read in ten parts.
type wide struct{ txlog.State }

func (w wide) Read(bool) txlog.Reading {
	return &reading{left: 10, hash: w.Hash(), snapshot: w.Snapshot()}
}

type reading struct {
	left     int
	hash     txlog.Hash
	snapshot []byte
}

func (r *reading) Next(uint64) bool { r.left--; return r.left <= 0 }
func (r *reading) Hash() txlog.Hash { return r.hash }
func (r *reading) Snapshot() []byte { return r.snapshot }

// A snapshot that was begun becomes whole although no entry comes.
func TestASnapshotOfAQuietLog(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(20, "goal")
	m := New(Config{Self: "one", Base: l.copyWith(20, func() txlog.State { return wide{newBoard()} }), New: newBoard, SnapshotEvery: 10})
	m.snapshot(l.head(20, "anna"))
	for range 10 {
		for _, a := range m.Step(0, Tick{}) {
			if k, is := a.(Keep); is {
				if want := l.copyAt(20).Snapshot(); string(k.Photo.Bytes()) != string(want) || k.Head.Index != 20 {
					t.Errorf("it is %q at %d, want %q", k.Photo.Bytes(), k.Head.Index, want)
				}
				return
			}
		}
	}
	t.Error("it is not whole")
}
