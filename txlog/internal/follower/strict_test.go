package follower

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/conchhq/conch/txlog"
)

// Each check of the machine is here by what goes wrong without it.

// namesake is another log with the same members, as an organisation has several.
func namesake(t *testing.T, upto uint64, members ...string) *line {
	t.Helper()
	g := txlog.Genesis{Namespace: "other", Machine: "board/1", Members: membersOf(members...)}.With()
	return (&line{t: t, copy: txlog.NewCopy(g, newBoard)}).goals(upto, "goal")
}

// A head of another log with the same members, however it has come into the store, says nothing of this one.
func TestAStoredHeadOfAnotherLog(t *testing.T) {
	t.Parallel()
	l, other := newLine(t, "anna").goals(12, "goal"), namesake(t, 12, "anna")
	for _, at := range []uint64{3, 5, 12} {
		m := followed(t, l, 5, func(c *Config) { c.Head = other.head(at, "anna") }, "good")
		if s := m.Snapshot(); s.Known != 5 || s.Head.Index != 0 || s.Covered != 0 {
			t.Errorf("with a head at %d it knows of %d, and its head is at %d", at, s.Known, s.Head.Index)
		}
	}
}

// Nor does the snapshot of such a log take the place of the copy.
func TestASnapshotOfAnotherLog(t *testing.T) {
	t.Parallel()
	l, other := newLine(t, "anna").goals(12, "goal"), namesake(t, 12, "anna")
	refuses(t, l, SumPieces(other.head(12, "anna"), other.copyAt(12).Snapshot()), other.copyAt(12).Snapshot(), ErrOffer)
}

// The snapshot of another entry that leads to the same state would have the copy go on from where the log never was.
func TestASnapshotOfAnotherEntry(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(11, "goal")
	fork := l.fork(11)
	l.change("anna")
	fork.next(txlog.Entry{Kind: txlog.Changed, Members: membersOf("anna"), Term: 5})
	if l.records[11].State != fork.records[11].State || l.records[11].Hash() == fork.records[11].Hash() {
		t.Fatal("it is not another entry that leads to the same state: this test shows nothing")
	}
	forged := fork.copyAt(12).Snapshot()
	refuses(t, l, SumPieces(l.head(12, "anna"), forged), forged, txlog.ErrState)
	h := l.head(12, "anna") // and one that says another state of the same entry would count as a cover of it
	h.State[0] ^= 1
	refuses(t, l, SumPieces(h.Sign(key("anna")), l.copyAt(12).Snapshot()), l.copyAt(12).Snapshot(), txlog.ErrState)
}

// refuses has a copy at 5 be offered a snapshot, and given all its pieces.
func refuses(t *testing.T, l *line, o Offer, snapshot []byte, why error) {
	t.Helper()
	m := followed(t, l, 5, nil, "evil")
	m.Step(0, Heard{Head: l.head(12, "anna"), Via: "evil"})
	out := m.Step(0, HistoryCame{From: "evil", History: History{Serial: serialOf(m, "evil"), Offer: &o}})
	for _, want := range of[AskPiece](out) {
		out = append(out, m.Step(0, Received{From: "evil", Piece: pieceOf(want.Want, snapshot)})...)
	}
	if r := of[Refused](out); len(r) != 1 || !errors.Is(r[0].Why, why) || len(of[Adopt](out)) != 0 || m.at != l.records[4].Position() {
		t.Errorf("it is at %d and refuses %v, want %v", m.at.Index, r, why)
	}
}

// The leader has denied a head: the snapshot of it is not fetched from another peer either.
func TestASnapshotOfADeniedHead(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "anna", "ben")
	h := far(l, 1<<40, "anna")
	denies(m, h)
	m.Step(m.now, News{})
	o := Offer{Head: h, Size: PieceSize, Sums: []txlog.Hash{{1}}}
	out := m.Step(m.now, HistoryCame{From: "ben", History: History{Serial: serialOf(m, "ben"), Offer: &o}})
	if r := of[Refused](out); len(r) != 1 || !errors.Is(r[0].Why, ErrOffer) || m.fetch != nil {
		t.Errorf("it does %v", out)
	}
}

// A member's own machine hands over what it has applied: an entry that does not come next is not taken for one.
func TestAMemberThatAppliesSomethingElse(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	fork := l.fork(4).goals(12, "fork")
	m := New(Config{Self: "anna", Base: l.copyAt(5), New: newBoard, First: 1, Member: true})
	for what, r := range map[string]txlog.Record{
		"one of a fork": fork.records[5], "one too far": l.records[6], "the last one again": l.records[4], "one of another log": namesake(t, 6, "anna").records[5],
	} {
		if out := of[Refused](m.Step(0, Applied{Records: []txlog.Record{r}})); len(out) != 1 || !errors.Is(out[0].Why, txlog.ErrChain) || m.at.Index != 5 {
			t.Errorf("%s: it is at %d, and refuses %v", what, m.at.Index, out)
		}
	}
	if m.Step(0, Applied{Records: l.from(6, 7)}); m.at.Index != 7 {
		t.Errorf("it is at %d", m.at.Index)
	}
}

// Bridges of long ago are in the store for others. Those who were members by them are none any more, also after a restart.
func TestABridgeOfLongAgo(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(9, "goal").change("ben").goals(19, "goal").change("cleo").goals(40, "goal")
	m := followed(t, l, 30, func(c *Config) { c.Bridges = []Bridge{l.bridge(10, 10, "anna"), l.bridge(20, 20, "ben")} }, "good")
	for _, by := range []string{"anna", "ben"} {
		if m.Step(0, Heard{Head: l.head(40, by), Via: "good"}); m.targetIndex() != 30 {
			t.Errorf("the word of %s counts, who was a member long ago", by)
		}
	}
	if m.Step(0, Heard{Head: l.head(40, "cleo"), Via: "good"}); m.targetIndex() != 40 {
		t.Error("the word of a member does not count")
	}
}

// As many members as a log may have sign as many heads as each may: there is room for so many, and one of each stays.
func TestHeadsOfAllMembers(t *testing.T) {
	t.Parallel()
	var names []string
	for n := range txlog.MostMembers {
		names = append(names, fmt.Sprint("m", n))
	}
	l := newLine(t, names...).goals(12, "goal")
	m := followed(t, l, 5, nil, "good")
	for i := range uint64(mostClaims) {
		for n, name := range names {
			m.Step(m.now+round, Heard{Head: far(l, 100+i*uint64(len(names))+uint64(n), name), Via: "good"})
		}
	}
	left := map[string]bool{}
	for _, c := range m.pool {
		left[c.Member] = true
	}
	if len(m.pool) != mostPool || len(left) != len(names) {
		t.Errorf("%d heads of %d members are kept", len(m.pool), len(left))
	}
}

// Pieces come twice, since two peers were asked; late, of a snapshot that was given up; and unasked. None of that ends a fetch, nor has a peer that
// has sent what is right be taken for a liar.
func TestPiecesTwiceAndLate(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	l.next(txlog.Entry{Kind: txlog.Executed, GoalID: "big", Goal: []byte("big 600000")})
	old := l.copyAt(11).Snapshot()
	l.goals(12, "goal")
	l.next(txlog.Entry{Kind: txlog.Executed, GoalID: "more", Goal: []byte("big 700000")})
	newer := l.copyAt(13).Snapshot()
	was, is := SumPieces(l.head(11, "anna"), old), SumPieces(l.head(13, "anna"), newer)
	m := followed(t, l, 5, nil, "good")
	m.Step(0, Heard{Head: l.head(13, "anna"), Via: "good"})
	offers := func(o Offer) {
		m.Step(0, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Offer: &o}})
	}
	gives := func(o Offer, n uint64, bytes []byte) (out []Action) {
		t.Helper()
		p := Piece{Want: Want{At: o.Head.Hash, Piece: n}}
		if bytes != nil {
			p = pieceOf(p.Want, bytes)
		}
		if out = m.Step(0, Received{From: "good", Piece: p}); len(of[Refused](out)) > 0 || m.known["good"].barred > 0 {
			t.Fatalf("piece %d of the snapshot at %d: it refuses %v", n, o.Head.Index, of[Refused](out))
		}
		return out
	}
	offers(was)
	gives(was, 0, old)
	gives(was, 1, nil) // it is dropped meanwhile
	offers(is)
	gives(was, 1, old) // it was on its way
	for range 3 {
		gives(is, 0, newer)
	}
	if gives(is, 0, nil); m.fetch == nil || m.fetch.count != 1 {
		t.Fatal("a piece that came twice has ended the fetch")
	}
	var out []Action
	for n := range uint64(len(is.Sums) - 1) {
		out = gives(is, n+1, newer)
	}
	if len(of[Adopt](out)) != 1 || m.at.Index != 13 {
		t.Errorf("it is at %d", m.at.Index)
	}
}

// A piece that nobody has asked for yet is refused, though it is one of the snapshot.
func TestAPieceBeforeItsTurn(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	m := followed(t, l, 5, nil, "good")
	m.Step(0, Heard{Head: l.head(12, "anna"), Via: "good"})
	large := make([]byte, (window+2)*PieceSize)
	o := SumPieces(l.head(12, "anna"), large)
	m.Step(0, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Offer: &o}})
	out := of[Refused](m.Step(0, Received{From: "good", Piece: pieceOf(Want{At: o.Head.Hash, Piece: window + 1}, large)}))
	if len(out) != 1 || !errors.Is(out[0].Why, ErrUnasked) || m.fetch == nil || m.fetch.count != 0 {
		t.Errorf("it refuses %v", out)
	}
}

// So much is applied at once that its begin is no longer in memory. A peer that waits for it is given what the store has, once it is there.
func TestWhatIsGivenOfTheStoreIsThere(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	for i := range 20 {
		l.next(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprint("big", i), Goal: []byte("big 300000")})
	}
	m := followed(t, l, 10, nil, "good")
	m.Step(0, Asked{From: "late", Pull: Pull{From: 11, Upto: 11}})
	out := m.Step(0, Heard{Head: l.head(30, "anna"), Via: "good"})
	for m.at.Index < 30 {
		asks := of[Ask](out)
		if len(asks) == 0 {
			t.Fatalf("it is at %d, and asks for nothing", m.at.Index)
		}
		p := asks[0].Pull
		out = m.Step(0, HistoryCame{From: "good", History: History{Serial: p.Serial, Records: l.from(p.From, p.From)}})
	}
	stored := slices.IndexFunc(out, func(a Action) bool { _, is := a.(Apply); return is })
	given := slices.IndexFunc(out, func(a Action) bool { g, is := a.(Give); return is && g.To == "late" && g.From == 11 })
	if given < 0 || given < stored {
		t.Errorf("it is given as action %d, and stored as action %d", given, stored)
	}
}
