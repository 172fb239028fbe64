package follower

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// fed steps a machine until it asks for nothing more, and answers each request with what a source of all entries has.
func fed(t *testing.T, m *Machine, out []Action, give func(p Pull) History) {
	t.Helper()
	for range 10_000 {
		asks := of[Ask](out)
		if len(asks) == 0 {
			return
		}
		out = nil
		for _, a := range asks {
			answer := give(a.Pull)
			answer.Serial = a.Pull.Serial
			m.now += round // its allowance of answers is not what is tested
			out = append(out, m.Step(m.now, HistoryCame{From: a.To, History: answer})...)
		}
	}
	t.Fatal("it asks without end")
}

// As many entries wait for a head as there is room for, exactly: a copy that is so far behind comes to its head, and one that is one entry
// further behind does by any head in between (never-skip).
func TestAsFarBehindAsThereIsRoom(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(mostEarly+2, "goal")
	for _, c := range []struct{ upto, between uint64 }{{mostEarly - 1, 0}, {mostEarly, 0}, {mostEarly + 1, 1}, {mostEarly + 1, mostEarly}, {mostEarly + 2, mostEarly}} {
		m := followed(t, l, 0, func(c *Config) { c.breadth = 1 }, "good")
		most := 0
		fed(t, m, m.Step(0, Heard{Head: l.head(c.upto, "anna"), Via: "good"}), func(p Pull) History {
			most = max(most, len(m.early))
			a := History{Records: l.from(p.From, min(p.Upto, p.From+MostRecords-1))}
			if p.From <= c.between && c.between <= p.Upto {
				a.Heads = []txlog.Head{l.head(c.between, "anna")}
			}
			return a
		})
		if m.at.Index != c.upto || most > mostEarly {
			t.Errorf("up to %d, with a head of %d: it is at %d, and had %d entries", c.upto, c.between, m.at.Index, most)
		}
	}
}

// An answer has as many records, heads and bridges as it may, and one more of any is refused, with its peer named; so is a record beyond what was
// asked for.
func TestTheLargestAnswer(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(2*MostRecords, "goal")
	heads := func(n int) []txlog.Head { return slices.Repeat([]txlog.Head{l.head(MostRecords, "anna")}, n) }
	for name, c := range map[string]struct {
		upto  uint64 // the newest head
		a     History
		takes bool
	}{
		"records":       {2 * MostRecords, History{Records: l.from(1, MostRecords), Heads: heads(1)}, true},
		"a record more": {2 * MostRecords, History{Records: l.from(1, MostRecords+1), Heads: heads(1)}, false},
		"all that lack": {5, History{Records: l.from(1, 5)}, true},
		"one more":      {5, History{Records: l.from(1, 6)}, false},
		"heads":         {2 * MostRecords, History{Records: l.from(1, MostRecords), Heads: heads(MostHeads)}, true},
		"a head more":   {2 * MostRecords, History{Records: l.from(1, MostRecords), Heads: heads(MostHeads + 1)}, false},
		"a bridge more": {2 * MostRecords, History{Records: l.from(1, MostRecords), Heads: heads(1), Bridges: make([]Bridge, MostBridges+1)}, false},
	} {
		m := followed(t, l, 0, func(c *Config) { c.breadth = 1 }, "good")
		asks := of[Ask](m.Step(0, Heard{Head: l.head(c.upto, "anna"), Via: "good"}))
		c.a.Serial = asks[0].Pull.Serial
		out := m.Step(0, HistoryCame{From: "good", History: c.a})
		refused := of[Refused](out)
		if takes := m.at.Index > 0; takes != c.takes || takes != (len(refused) == 0) {
			t.Errorf("%s: it is at %d, and refuses %v", name, m.at.Index, refused)
		}
		if !c.takes && (len(refused) == 0 || !errors.Is(refused[0].Why, ErrAnswer) || refused[0].From != "good") {
			t.Errorf("%s: it is refused as %v", name, refused)
		}
	}
}

// What is given from memory has as many bytes as it may, exactly, one record at least, and as many records as it may.
func TestTheLargestGift(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sizes []int // of records, in bytes
		gives int
	}{
		"just as many bytes": {[]int{MostAnswer / 2, MostAnswer / 2, 1000}, 2},
		"a byte more":        {[]int{MostAnswer / 2, MostAnswer/2 + 1, 1000}, 1},
		"the first alone":    {[]int{MostAnswer + 1, 1000}, 1},
		"just as many":       {slices.Repeat([]int{900}, MostRecords), MostRecords},
		"one more":           {slices.Repeat([]int{900}, MostRecords+1), MostRecords},
	} {
		l := paddedLine(t)
		for i, size := range c.sizes {
			l.sized(fmt.Sprint(i), size)
		}
		m := New(Config{Self: "one", Base: l.copyWith(0, newPad), New: newPad, Member: true})
		m.Step(0, Applied{Records: l.records})
		gifts := of[Give](m.Step(0, Asked{From: "good", Pull: Pull{From: 1, Upto: uint64(len(c.sizes))}}))
		if len(gifts) != 1 || len(gifts[0].History.Records) != c.gives {
			t.Errorf("%s: it gives %d records", name, len(gifts[0].History.Records))
		}
	}
}

// pad is a state machine for tests: a goal is a number, of which the diff has so many bytes, and then the state, if they are many.
type pad struct{ size int }

func newPad() txlog.State { return &pad{} }

func (p *pad) Execute(goal []byte, _ *txlog.Budget) txlog.Outcome {
	n, _ := strconv.Atoi(string(goal))
	return txlog.Outcome{Diff: make([]byte, n)}
}

func (p *pad) Apply(diff []byte) error {
	if len(diff) > 100 {
		p.size = len(diff)
	}
	return nil
}

func (p *pad) View() txlog.View                            { return p }
func (p *pad) Query([]byte, *txlog.Budget) ([]byte, error) { return nil, nil }
func (p *pad) Hash() txlog.Hash {
	return txlog.Hash{byte(p.size), byte(p.size >> 8), byte(p.size >> 16)}
}
func (p *pad) Snapshot() []byte              { return make([]byte, p.size) }
func (p *pad) Restore(snapshot []byte) error { p.size = len(snapshot); return nil }

// paddedLine is a log of that state machine.
func paddedLine(t *testing.T) *line {
	t.Helper()
	g := txlog.Genesis{Namespace: "flags", Machine: "pad/1", Members: membersOf("anna")}.With()
	return &line{t: t, copy: txlog.NewCopy(g, newPad)}
}

// padded follows such a log from its beginning.
func padded(c *Config) { c.Base, c.New, c.breadth = txlog.NewCopy(c.Base.Genesis(), newPad), newPad, 1 }

// sized adds a record of so many bytes.
func (l *line) sized(id string, size int) {
	l.t.Helper()
	diff := 0
	for range 4 { // where the diff is longer, its length is written in more bytes
		r, err := l.copyWith(uint64(len(l.records)), newPad).Next(txlog.Entry{Kind: txlog.Executed, GoalID: id, Goal: fmt.Appendf(nil, "%07d", diff), Diff: make([]byte, diff), Term: 1, Leader: "anna"})
		if err != nil {
			l.t.Fatal(err)
		}
		if diff += size - len(r.Raw()); len(r.Raw()) == size {
			l.records = append(l.records, r)
			return
		}
	}
	l.t.Fatalf("there is no record of %d bytes", size)
}

// A snapshot that ends with a piece, or a byte before or after one, is fetched whole. One of the largest size has as many pieces as there are,
// and a byte more is no snapshot.
func TestSnapshotsThatEndWithAPiece(t *testing.T) {
	t.Parallel()
	for _, size := range []int{PieceSize - 1, PieceSize, PieceSize + 1, 2 * PieceSize} {
		l := snapshotOf(t, size)
		at := l.copy.Position().Index
		snapshot := l.copy.Snapshot()
		o := SumPieces(l.head(at, "anna"), snapshot)
		if want := (size + PieceSize - 1) / PieceSize; len(snapshot) != size || len(o.Sums) != want || o.size(uint64(want-1)) != uint64(size-(want-1)*PieceSize) {
			t.Fatalf("a snapshot of %d bytes has %d pieces, the last of %d", len(snapshot), len(o.Sums), o.size(uint64(want-1)))
		}
		m := followed(t, l, 0, padded, "good")
		asks := of[Ask](m.Step(0, Heard{Head: l.head(at, "anna"), Via: "good"}))
		out := m.Step(0, HistoryCame{From: "good", History: History{Serial: asks[0].Pull.Serial, Offer: &o}})
		for n, w := range of[AskPiece](out) {
			if n != int(w.Want.Piece) {
				t.Errorf("%d bytes: piece %d is asked for as number %d", size, w.Want.Piece, n)
			}
			from := n * PieceSize
			out = m.Step(0, Received{From: "good", Piece: Piece{Want: w.Want, Bytes: snapshot[from:min(size, from+PieceSize)]}})
		}
		if adopted := of[Adopt](out); len(adopted) != 1 || len(adopted[0].Snapshot) != size || m.at.Index != at {
			t.Errorf("%d bytes: the copy is at %d", size, m.at.Index)
		}
	}
	sums := make([]txlog.Hash, MostPieces+1)
	for _, c := range []struct {
		size, pieces uint64
		good         bool
	}{{limits.MostSnapshot, MostPieces, true}, {limits.MostSnapshot + 1, MostPieces + 1, false}, {limits.MostSnapshot, MostPieces - 1, false}, {PieceSize, 1, true}, {PieceSize, 2, false}, {PieceSize + 1, 1, false}, {1, 1, true}, {0, 0, false}} {
		o := Offer{Size: c.size, Sums: sums[:c.pieces]}
		if err := o.check(); (err == nil) != c.good {
			t.Errorf("%d bytes in %d pieces: %v", c.size, c.pieces, err)
		}
	}
}

// snapshotOf returns a log whose copy has a snapshot of so many bytes.
func snapshotOf(t *testing.T, size int) *line {
	t.Helper()
	for n, text := 0, 1000; n != size; text += size - n {
		l := paddedLine(t)
		for i, diff := range []int{text, 10} {
			l.next(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprint(i), Goal: fmt.Appendf(nil, "%07d", diff)})
		}
		if n = len(l.copy.Snapshot()); n == size {
			return l
		}
	}
	return nil
}

// As many requests wait as there is room for: of one peer an eighth, of all the rest. What finds none is answered at once, with nothing.
func TestAsManyRequestsWaitAsThereIsRoom(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(20, "goal")
	m := followed(t, l, 10, func(c *Config) { c.mostGiven = 10 * mostHeld }, "good")
	peers := []string{"good"}
	for i := range 9 {
		peers = append(peers, fmt.Sprint("p", i))
	}
	m.Step(0, Peers{Names: peers})
	sent := 0
	for i := range mostHeld + 8 {
		peer := i / (mostHeld / 8) // the ninth finds no room
		sent += len(of[Give](m.Step(0, Asked{From: fmt.Sprint("p", peer), Pull: Pull{Serial: 1, From: 11, Upto: 11}})))
	}
	if len(m.held) != mostHeld || sent != 8 {
		t.Errorf("%d requests wait, and %d are answered at once", len(m.held), sent)
	}
	one := followed(t, l, 10, func(c *Config) { c.mostGiven = 10 * mostHeld }, "good")
	for i := range mostHeld/8 + 1 {
		sent = len(of[Give](one.Step(0, Asked{From: "p", Pull: Pull{Serial: uint64(i), From: 11, Upto: 11}})))
	}
	if len(one.held) != mostHeld/8 || sent != 1 {
		t.Errorf("%d requests of one peer wait, and the last one is answered at once: %d", len(one.held), sent)
	}
}

// A log whose members change for ever costs a bounded part of memory for its bridges, as it does of the store: then no more are kept.
func TestBridgesAreBounded(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna")
	m := followed(t, l, 0, nil, "good")
	for i := range 2*mostBridges + 1 {
		r, err := txlog.Seal(txlog.Entry{Log: m.at.Log, Index: uint64(i + 1), Term: 1, Prev: m.at.Hash, Kind: txlog.Changed, Leader: "anna", Members: membersOf("anna")})
		if err != nil {
			t.Fatal(err)
		}
		m.keepBridge(Bridge{Records: []txlog.Record{r}})
	}
	if kept := of[KeepBridge](m.out); len(m.bridges) != mostBridges || len(kept) != mostBridges {
		t.Errorf("%d bridges are in memory, and %d are to be stored", len(m.bridges), len(kept))
	}
}
