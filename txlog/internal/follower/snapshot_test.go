package follower

import (
	"errors"
	"slices"
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
	m.beginSnapshot(l.head(20, "anna"))
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

// forgets is a board that some times cannot be restored: this node's memory is wrong.
type forgets struct {
	txlog.State

	times *int
}

func (f forgets) Restore(snapshot []byte) error {
	if *f.times--; *f.times >= 0 {
		return txlog.ErrMalformed
	}
	return f.State.Restore(snapshot)
}

// A snapshot that does not come out as its head says is restored once more before its peer is blamed, and so are its pieces looked at:
// this node's own memory may be the wrong one. It would lose its honest peers one after the other.
func TestASnapshotInAWrongMemory(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(40, "goal")
	whole := l.copyAt(40).Snapshot()
	for name, c := range map[string]struct {
		times  int // that Restore fails
		flip   bool
		adopts bool
		bars   bool
		says   error
	}{
		"once":             {times: 1, adopts: true},
		"each time":        {times: 9, bars: true, says: txlog.ErrMalformed},
		"a piece is wrong": {flip: true, says: errOwnMemory},
	} {
		m := New(Config{Self: "one", Base: l.copyAt(5), New: func() txlog.State { return forgets{newBoard(), &c.times} }})
		m.Step(0, Peers{Names: []string{"good"}})
		offer := SumPieces(l.head(40, "anna"), whole)
		m.fetch = &fetch{offer: offer, from: "good", asked: map[uint64]try{}}
		for piece := range slices.Chunk(whole, PieceSize) {
			m.fetch.pieces = append(m.fetch.pieces, slices.Clone(piece))
		}
		if c.flip {
			m.fetch.pieces[0][len(m.fetch.pieces[0])-1] ^= 1
		}
		m.adoptSnapshot()
		adopted, why := false, error(nil)
		for _, a := range m.out {
			switch a := a.(type) {
			case Adopt:
				adopted = true
			case Refused:
				why = a.Why
			}
		}
		if barred := m.known["good"].barred > 0; adopted != c.adopts || barred != c.bars || !errors.Is(why, c.says) || m.fetch != nil {
			t.Errorf("%s: it is adopted: %v; its peer is barred: %v; it says %v", name, adopted, barred, why)
		}
	}
}

// A peer whose snapshot is dropped while it is fetched has not lied: it has newer ones, and is asked for one of these at once. One that has
// given nothing of what it offers is not asked for a while.
func TestASnapshotThatIsDroppedMeanwhile(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	l.next(txlog.Entry{Kind: txlog.Executed, GoalID: "big", Goal: []byte("big 600000")})
	l.goals(20, "goal")
	old, newer := l.copyAt(11).Snapshot(), l.copyAt(20).Snapshot()
	was, is := SumPieces(l.head(11, "anna"), old), SumPieces(l.head(20, "anna"), newer)
	for given := range 3 {
		m := followed(t, l, 5, nil, "good")
		m.Step(0, Heard{Head: l.head(20, "anna"), Via: "good"})
		var out []Action
		for i, want := range of[AskPiece](m.Step(0, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Offer: &was}})) {
			p := Piece{Want: want.Want}
			if i < given {
				p = pieceOf(want.Want, old)
			}
			out = append(out, m.Step(0, Received{From: "good", Piece: p})...)
		}
		empty := given == 0
		if barred := m.known["good"].barred > 0; barred != empty || len(of[Refused](out)) > 0 != empty || m.fetch != nil || len(of[Ask](out)) > 0 == empty {
			t.Errorf("after %d pieces its peer is barred: %v; what it does is %v", given, barred, out)
		}
		if !adopts(m, &is, newer) {
			t.Errorf("after %d pieces the newer snapshot is not taken", given)
		}
	}
}

// A peer that gives one piece of each snapshot and then nothing is not asked for a while after the second: others may have one.
func TestASnapshotThatIsDroppedAgain(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	l.next(txlog.Entry{Kind: txlog.Executed, GoalID: "big", Goal: []byte("big 600000")})
	l.goals(20, "goal")
	m := followed(t, l, 5, nil, "bad")
	m.Step(0, Heard{Head: l.head(20, "anna"), Via: "bad"})
	for time, at := range []uint64{11, 12, 13} {
		if barred := m.known["bad"].barred > 0; barred != (time == 2) {
			t.Fatalf("after %d snapshots that it no longer has it is barred: %v", time, barred)
		}
		if time == 2 {
			break
		}
		bytes := l.copyAt(at).Snapshot()
		offer := SumPieces(l.head(at, "anna"), bytes)
		for i, want := range of[AskPiece](m.Step(0, HistoryCame{From: "bad", History: History{Serial: serialOf(m, "bad"), Offer: &offer}})) {
			p := Piece{Want: want.Want}
			if i == 0 {
				p = pieceOf(want.Want, bytes)
			}
			m.Step(0, Received{From: "bad", Piece: p})
		}
	}
}
