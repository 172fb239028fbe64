package follower

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
)

// A peer may send whatever it likes: what that costs is bounded, counted and named, and nobody else notices.

// followed is a machine that follows a log at an index, among some peers.
func followed(t *testing.T, l *line, at uint64, change func(*Config), peers ...string) *Machine {
	t.Helper()
	c := Config{Self: "node", Base: l.copyAt(at), New: newBoard, First: 1}
	if change != nil {
		change(&c)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	m := New(c)
	m.Step(0, Peers{Names: peers})
	return m
}

func of[A Action](out []Action) (all []A) {
	for _, a := range out {
		if a, is := a.(A); is {
			all = append(all, a)
		}
	}
	return all
}

// Heads of strangers take room for a few, and the signatures of what one peer sends too much of are not looked at.
func TestAFloodOfHeads(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(40, "goal")
	m := followed(t, l, 10, nil, "evil", "good")
	flood, strangers := 0, 0
	for i := range 2000 {
		h := l.head(20, fmt.Sprint("nobody", i))
		for _, r := range of[Refused](m.Step(time.Duration(i)*time.Millisecond, Heard{Head: h, Via: "evil"})) {
			switch {
			case r.From != "evil":
				t.Fatalf("%s is named", r.From)
			case errors.Is(r.Why, ErrFlood):
				flood++
			case errors.Is(r.Why, txlog.ErrStranger):
				strangers++
			}
		}
	}
	if len(m.strange) > mostStrange {
		t.Errorf("%d heads of strangers are kept", len(m.strange))
	}
	if flood == 0 || strangers == 0 {
		t.Errorf("%d are refused for a flood, %d for strangers", flood, strangers)
	}
	asks := of[Ask](m.Step(2*time.Second, Heard{Head: l.head(20, "anna"), Via: "good"}))
	if len(asks) == 0 || asks[0].To != "good" {
		t.Errorf("a good head is followed by %v", asks)
	}
}

// A few heads far ahead do not make a node ask for more than it keeps, and indexes near the last one overflow nothing.
func TestHugeNumbers(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(40, "goal")
	m := followed(t, l, 10, nil, "evil", "good")
	h := l.head(20, "anna")
	h.Index = ^uint64(0)
	h = h.Sign(key("anna"))
	for _, a := range of[Ask](m.Step(0, Heard{Head: h, Via: "evil"})) {
		if a.Pull.Upto > 10+uint64(mostEarly) {
			t.Errorf("it asks for entries up to %d", a.Pull.Upto)
		}
	}
	for _, p := range []Pull{{From: ^uint64(0), Upto: ^uint64(0), Change: ^uint64(0), Known: ^uint64(0)}, {From: 1, Upto: ^uint64(0)}, {From: 0, Upto: ^uint64(0), Change: ^uint64(0)}, {}} {
		for _, g := range of[Give](m.Step(time.Second, Asked{From: "evil", Pull: p})) {
			if len(g.History.Records) > MostRecords || g.Upto >= g.From+MostRecords {
				t.Errorf("to %+v it gives %s", p, describe(g))
			}
		}
	}
	m.Step(2*time.Second, Behind{Index: ^uint64(0), From: "evil"})
	if m.planned > 10+uint64(mostEarly) {
		t.Errorf("it plans up to %d", m.planned)
	}
}

// What one peer wants to wait for leaves room for others, and an allowance is each peer's own.
func TestAFloodOfPulls(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(40, "goal")
	m := followed(t, l, 10, nil, "evil", "good")
	refused, at := 0, time.Duration(0)
	for i := range 4000 {
		at += time.Millisecond / 4
		refused += len(of[Refused](m.Step(at, Asked{From: "evil", Pull: Pull{Serial: uint64(i), From: uint64(12 + 40*i), Upto: uint64(13 + 40*i)}})))
	}
	if len(m.held) > mostHeld/8 || refused == 0 {
		t.Errorf("%d requests of one peer wait, and %d are refused", len(m.held), refused)
	}
	if out := of[Give](m.Step(at, Asked{From: "good", Pull: Pull{From: 10, Upto: 10}})); len(out) != 1 || len(out[0].History.Records) != 1 {
		t.Errorf("another peer is given %v", out)
	}
	m.Step(at, Asked{From: "good", Pull: Pull{Serial: 9, From: 11, Upto: 11}})
	m.Step(at, Heard{Head: l.head(11, "anna"), Via: "good"})
	out := m.Step(at, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Records: l.from(11, 11)}})
	if !slices.ContainsFunc(of[Give](out), func(g Give) bool { return g.To == "good" && g.History.Serial == 9 }) {
		t.Error("another peer's request does not wait")
	}
	m.Step(at+holdFor, Tick{})
	if len(m.held) > 0 {
		t.Errorf("%d requests wait for ever", len(m.held))
	}
}

// An entry that is young is given so often and not more: the others who ask are sent on, at once.
func TestNobodyCarriesTheCrowd(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(40, "goal")
	m := followed(t, l, 10, func(c *Config) { c.mostGiven = 5 }, "good")
	m.Step(0, Heard{Head: l.head(11, "anna"), Via: "good"})
	serial := m.serial
	var sent []Give
	for i := range 9 {
		sent = append(sent, of[Give](m.Step(0, Asked{From: fmt.Sprint("p", i), Pull: Pull{From: 11, Upto: 11}}))...)
	}
	out := of[Give](m.Step(0, HistoryCame{From: "good", History: History{Serial: serial, Records: l.from(11, 11)}}))
	late := of[Give](m.Step(time.Second, Asked{From: "late", Pull: Pull{From: 11, Upto: 11}}))
	after := of[Give](m.Step(young, Asked{From: "late", Pull: Pull{From: 11, Upto: 11}}))
	if len(sent) != 4 || len(out) != 5 || len(late) != 1 || len(late[0].History.Records) != 0 || len(after[0].History.Records) != 1 {
		t.Errorf("%d are sent on, %d are given the entry, then %v, after a while %v", len(sent), len(out), late, after)
	}
}

// Entries that no head covers, however many are given, take no more room than they may; then a snapshot is asked for.
func TestEntriesWithoutEnd(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	for i := range 40 {
		l.next(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprint("big", i), Goal: []byte("big 300000")})
	}
	m := followed(t, l, 10, func(c *Config) { c.mostBytes = 8 << 20 }, "evil", "good")
	m.Step(0, Heard{Head: l.head(50, "anna"), Via: "evil"})
	asked := map[uint64]bool{}
	for i := range 2000 {
		at := time.Duration(i) * 25 * time.Millisecond
		for _, a := range of[Ask](m.Step(at, Tick{})) {
			asked[a.Pull.From] = true
		}
		for _, a := range slices.Clone(m.asks) {
			if a.from > 0 && a.from < 50 {
				m.Step(at, HistoryCame{From: a.to, History: History{Serial: a.serial, Records: l.from(a.from, a.from)}})
			}
		}
		if s := m.Snapshot(); s.HeldBytes > 8<<20 {
			t.Fatalf("%d bytes of entries wait", s.HeldBytes)
		}
	}
	if !asked[0] {
		t.Errorf("no snapshot is asked for; it asked for %v", asked)
	}
}

// The next entry lacks, and those after it take all the room there is. What finds none is wanted once, and asked for ever less often; when
// the gap is filled, all of it comes.
func TestNoRoomBehindAGap(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	for i := range 40 {
		l.next(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprint("big", i), Goal: []byte("big 300000")})
	}
	m := followed(t, l, 10, func(c *Config) { c.mostBytes = 8 << 20 }, "one", "two")
	for index := uint64(11); index <= 50; index++ {
		m.Step(0, Heard{Head: l.head(index, "anna"), Via: "one"})
	}
	pass := func(least uint64, upto time.Duration) {
		for at := m.now; at < upto && m.at.Index < 50; at += 25 * time.Millisecond {
			m.Step(at, Tick{})
			for _, a := range slices.Clone(m.asks) {
				if a.from >= least && a.from <= 50 {
					m.Step(at, HistoryCame{From: a.to, History: History{Serial: a.serial, Records: l.from(a.from, a.from), Heads: []txlog.Head{l.head(a.from, "anna")}}})
				}
			}
		}
	}
	pass(12, 50*time.Second)
	if len(m.wants) > 40 || m.counts.Dropped == 0 || m.counts.Dropped > 2000 {
		t.Errorf("of 40 entries %d ranges are wanted, and %d entries came in vain", len(m.wants), m.counts.Dropped)
	}
	if pass(11, 2*time.Minute); m.at.Index != 50 {
		t.Errorf("the gap is filled, and the copy is at %d", m.at.Index)
	}
}

// Offers and pieces that are no good: each is refused and named, and a good snapshot is taken afterwards.
func TestBadSnapshots(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	l.next(txlog.Entry{Kind: txlog.Executed, GoalID: "big", Goal: []byte("big 600000")})
	snapshot := l.copyAt(11).Snapshot()
	good := SumPieces(l.head(11, "anna"), snapshot)
	if len(good.Sums) < 3 {
		t.Fatal("the snapshot is too small for this test")
	}
	other := bytes.Clone(snapshot)
	other[len(other)-1] ^= 1
	lying := SumPieces(good.Head, other)
	for name, c := range map[string]struct {
		offer Offer
		bytes []byte
		why   error
	}{
		"nothing":       {offer: Offer{Head: good.Head}, why: ErrOffer},
		"huge":          {offer: Offer{Head: good.Head, Size: 1 << 40, Sums: good.Sums}, why: ErrOffer},
		"a sum missing": {offer: Offer{Head: good.Head, Size: good.Size, Sums: good.Sums[1:]}, why: ErrOffer},
		"old":           {offer: SumPieces(l.head(3, "anna"), snapshot), why: ErrOffer},
		"a stranger's":  {offer: SumPieces(l.head(11, "mallory"), snapshot), why: txlog.ErrStranger},
		"wrong pieces":  {offer: good, bytes: other, why: ErrPiece},
		"another state": {offer: lying, bytes: other, why: txlog.ErrState},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := followed(t, l, 5, nil, "evil", "good")
			m.Step(0, Heard{Head: l.head(11, "anna"), Via: "evil"})
			out := m.Step(0, HistoryCame{From: "evil", History: History{Serial: serialOf(m, "evil"), Offer: &c.offer}})
			refused := of[Refused](out)
			for _, want := range of[AskPiece](out) {
				refused = append(refused, of[Refused](m.Step(0, Received{From: want.To, Piece: pieceOf(want.Want, c.bytes)}))...)
			}
			if len(refused) == 0 || refused[0].From != "evil" || !errors.Is(refused[0].Why, c.why) {
				t.Fatalf("it refuses %v, want %v of evil", refused, c.why)
			}
			if !adopts(m, &good, snapshot) {
				t.Error("a good snapshot is not taken afterwards")
			}
		})
	}
}

// One peer offers a snapshot that is there, with sums that are not its pieces', and sends none. Those that send the right pieces have not
// lied: they are asked on, and the one that offered it is not, for a while.
func TestAnOfferWithWrongSums(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(10, "goal")
	l.next(txlog.Entry{Kind: txlog.Executed, GoalID: "big", Goal: []byte("big 600000")})
	snapshot := l.copyAt(11).Snapshot()
	good := SumPieces(l.head(11, "anna"), snapshot)
	wrong := Offer{Head: good.Head, Size: good.Size, Sums: slices.Repeat([]txlog.Hash{{1}}, len(good.Sums))}
	m := followed(t, l, 5, nil, "evil", "good", "fair")
	honest := []string{"good", "fair"}
	out := m.Step(0, Heard{Head: l.head(11, "anna"), Via: "evil"})
	for m.now < 2*expires {
		for len(out) > 0 {
			a := out[0]
			out = out[1:]
			switch a := a.(type) {
			case Ask:
				offer := &good
				if a.To == "evil" {
					offer = &wrong
				}
				if a.To == "evil" || m.now > expires { // it is the first to answer
					out = append(out, m.Step(m.now, HistoryCame{From: a.To, History: History{Serial: a.Pull.Serial, Offer: offer}})...)
				}
			case AskPiece:
				if slices.Contains(honest, a.To) {
					out = append(out, m.Step(m.now, Received{From: a.To, Piece: pieceOf(a.Want, snapshot)})...)
				}
			case Adopt:
				return
			}
		}
		for _, name := range honest {
			if m.known[name].barred > m.now {
				t.Fatalf("after %v %s is barred, and it has sent what is right", m.now, name)
			}
		}
		out = m.Step(m.now+25*time.Millisecond, Tick{})
	}
	t.Error("the snapshot was not taken")
}

// serialOf is of the last thing that a peer was asked.
func serialOf(m *Machine, peer string) uint64 {
	for _, a := range slices.Backward(m.asks) {
		if a.to == peer {
			return a.serial
		}
	}
	return 0
}

func pieceOf(w Want, snapshot []byte) Piece {
	return Piece{Want: w, Bytes: snapshot[w.Piece*PieceSize : min(uint64(len(snapshot)), (w.Piece+1)*PieceSize)]}
}

// adopts has the peer "good" answer whatever it is asked, and reports whether the snapshot was taken.
func adopts(m *Machine, good *Offer, snapshot []byte) bool {
	for i := range 4000 {
		out := m.Step(time.Second+time.Duration(i)*25*time.Millisecond, Tick{})
		for len(out) > 0 {
			a := out[0]
			out = out[1:]
			switch a := a.(type) {
			case Ask:
				if a.To == "good" {
					out = append(out, m.Step(m.now, HistoryCame{From: "good", History: History{Serial: a.Pull.Serial, Offer: good}})...)
				}
			case AskPiece:
				if a.To == "good" {
					out = append(out, m.Step(m.now, Received{From: "good", Piece: pieceOf(a.Want, snapshot)})...)
				}
			case Adopt:
				return a.Base.Position() == good.Head.Position
			}
		}
	}
	return false
}

// Pieces that nobody asked for, or of another snapshot, are refused.
func TestPiecesOutOfPlace(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	m := followed(t, l, 5, nil, "evil", "good")
	p := Piece{Want: Want{At: l.records[9].Hash()}, Bytes: []byte("x")}
	if out := of[Refused](m.Step(0, Received{From: "evil", Piece: p})); len(out) != 1 || !errors.Is(out[0].Why, ErrPiece) {
		t.Errorf("it refuses %v", out)
	}
	m.Step(0, Heard{Head: l.head(12, "anna"), Via: "good"})
	o := SumPieces(l.head(10, "anna"), l.copyAt(10).Snapshot())
	m.Step(0, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Offer: &o}})
	p.Piece = ^uint64(0)
	if out := of[Refused](m.Step(0, Received{From: "evil", Piece: p})); len(out) != 1 || !errors.Is(out[0].Why, ErrUnasked) {
		t.Errorf("it refuses %v", out)
	}
}

// Bridges that prove nothing are refused.
func TestBadBridges(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben").goals(30, "goal").change("cleo").goals(40, "goal")
	fork := l.fork(29).goals(30, "fork").change("mallory").goals(40, "fork")
	whole := l.bridge(31, 33, "anna")
	wide := newLine(t, "anna", "ben").goals(30, "goal").change("cleo")
	for n := range 35 {
		wide.next(txlog.Entry{Kind: txlog.Executed, GoalID: fmt.Sprint("wide ", n), Goal: bytes.Repeat([]byte("x"), txlog.MostGoal)})
	}
	other := &line{t: t, copy: txlog.NewCopy(txlog.Genesis{Namespace: "other", Machine: "board/1", Members: membersOf("anna", "ben")}.With(), newBoard)}
	other.goals(30, "goal").change("cleo").goals(40, "goal")
	signed := func(h txlog.Head) txlog.Head { return h.Sign(key(h.Member)) }
	for name, b := range map[string]Bridge{
		"nothing":         {},
		"too large":       {Records: wide.from(31, 66), Head: wide.head(66, "anna")},
		"no change":       {Records: l.from(32, 33), Head: l.head(33, "anna")},
		"a gap":           {Records: []txlog.Record{l.records[30], l.records[32]}, Head: l.head(33, "anna")},
		"another head":    {Records: l.from(31, 33), Head: l.head(34, "anna")},
		"by a new member": {Records: l.from(31, 33), Head: l.head(33, "cleo")},
		"by nobody":       fork.bridge(31, 33, "mallory"),
		"forged":          {Records: fork.from(31, 33), Head: whole.Head},
		// Each of these is refused by one check alone.
		"of another log with the same members":         other.bridge(31, 33, "anna"),
		"a forged change before entries that are true": {Records: []txlog.Record{fork.records[30], l.records[31]}, Head: l.head(32, "anna")},
		"of a place where other entries are":           {Records: fork.from(31, 33), Head: signed(txlog.Head{Position: l.records[32].Position(), State: fork.records[32].State, Member: "anna"})},
		"of another state":                             {Records: l.from(31, 33), Head: signed(txlog.Head{Position: l.records[32].Position(), State: fork.records[32].State, Member: "anna"})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := followed(t, l, 20, nil, "evil")
			m.Step(0, Heard{Head: l.head(40, "cleo"), Via: "evil"})
			out := m.Step(0, HistoryCame{From: "evil", History: History{Serial: serialOf(m, "evil"), Bridges: []Bridge{b}}})
			if r := of[Refused](out); len(r) != 1 || r[0].From != "evil" || !errors.Is(r[0].Why, ErrBridge) {
				t.Errorf("it refuses %v", r)
			}
			if len(m.sets) > 0 || len(of[KeepBridge](out)) > 0 || m.targetIndex() != 20 {
				t.Error("it is believed")
			}
		})
	}
}

// Over a change that is applied a bridge is kept for others only if it is over that very change, and one of the members before has signed it.
func TestABridgeOverWhatIsApplied(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben").goals(30, "goal").change("cleo").goals(40, "goal")
	fork := l.fork(29).goals(30, "fork").change("mallory").goals(40, "fork")
	m := followed(t, l, 35, nil, "peer")
	m.lacking = []lack{{Record: l.records[30], before: membersOf("anna", "ben")}}
	for _, c := range []struct {
		bridge Bridge
		kept   int
	}{{l.bridge(31, 33, "cleo"), 0}, {fork.bridge(31, 33, "anna"), 0}, {l.bridge(31, 33, "anna"), 1}} {
		if m.takeBridge(&c.bridge, "peer"); len(of[KeepBridge](m.out)) != c.kept || len(m.lacking) != 1-c.kept {
			t.Errorf("of a bridge by %s to %s it keeps %d", c.bridge.Head.Member, c.bridge.Head.Hash.Short(), len(of[KeepBridge](m.out)))
		}
	}
}

// A bridge leads a node that has nothing but the genesis over two changes of members to a snapshot.
func TestFromNothingOverTwoChanges(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(9, "goal").change("ben").goals(19, "goal").change("cleo").goals(40, "goal")
	m := followed(t, l, 0, nil, "old")
	m.Step(0, Heard{Head: l.head(40, "cleo"), Via: "old"})
	snapshot := l.copyAt(35).Snapshot()
	o := SumPieces(l.head(35, "cleo"), snapshot)
	out := m.Step(0, HistoryCame{From: "old", History: History{
		Serial: serialOf(m, "old"), Offer: &o, Bridges: []Bridge{l.bridge(10, 10, "anna"), l.bridge(20, 22, "ben")},
	}})
	if len(of[KeepBridge](out)) != 2 {
		t.Fatalf("it keeps %d bridges", len(of[KeepBridge](out)))
	}
	var adopted []Adopt
	for _, want := range of[AskPiece](out) {
		adopted = append(adopted, of[Adopt](m.Step(0, Received{From: "old", Piece: pieceOf(want.Want, snapshot)}))...)
	}
	if len(adopted) != 1 || m.at.Index != 35 {
		t.Fatalf("it is at %d", m.at.Index)
	}
	// It serves the bridges to the next one, also after a restart.
	again := New(Config{Self: "node", Base: adopted[0].Base, New: newBoard, Bridges: m.bridges, Offers: []Offer{o}})
	for _, m := range []*Machine{m, again} {
		g := of[Give](m.Step(0, Asked{From: "new", Pull: Pull{From: 1, Upto: 9}}))
		if len(g) != 1 || len(g[0].History.Bridges) != 2 || g[0].History.Offer == nil {
			t.Errorf("it gives %v", g)
		}
	}
}

// A log that goes on from a lost one begins with that one's state: a node without it asks for it, and takes no entries before.
func TestAChildOfALostLog(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	first, err := l.copy.Child(txlog.Genesis{Namespace: "flags", Machine: "board/1", Members: membersOf("ben")}.With())
	if err != nil {
		t.Fatal(err)
	}
	snapshot := first.Snapshot()
	start := txlog.Head{Position: first.Position(), State: first.Hash()}
	child := &line{t: t, copy: first, records: slices.Clone(l.records)}
	child.goals(15, "more")
	m := New(Config{Self: "node", Base: txlog.NewCopy(first.Genesis(), newBoard), New: newBoard})
	m.Step(0, Peers{Names: []string{"ben"}})
	asks := of[Ask](m.Step(0, Heard{Head: child.head(15, "ben"), Via: "ben"}))
	if len(asks) != 1 || asks[0].Pull.From != 0 {
		t.Fatalf("it asks %v", asks)
	}
	o := SumPieces(start, snapshot)
	out := m.Step(0, HistoryCame{From: "ben", History: History{Serial: asks[0].Pull.Serial, Offer: &o}})
	for _, want := range of[AskPiece](out) {
		out = m.Step(0, Received{From: "ben", Piece: pieceOf(want.Want, snapshot)})
	}
	asks = of[Ask](out)
	if len(of[Adopt](out)) != 1 || len(asks) != 1 || asks[0].Pull.From != 13 {
		t.Fatalf("then it does %v", out)
	}
	m.Step(0, HistoryCame{From: "ben", History: History{Serial: asks[0].Pull.Serial, Records: child.from(13, 15)}})
	if m.at.Index != 15 {
		t.Errorf("it comes to %d", m.at.Index)
	}
}

// V8, V1: two nodes wait for something, and the one that has history gives it to the other with its diffs.
func TestParkedNodesServe(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(40, "goal")
	m := followed(t, l, 20, nil, "other")
	m.Step(0, Heard{Head: l.head(30, "anna"), Via: "dead"})
	g := of[Give](m.Step(0, Asked{From: "other", Pull: Pull{From: 20, Upto: 30}}))
	if len(g) != 1 || len(g[0].History.Records) != 1 || g[0].History.Records[0].Diff == nil {
		t.Errorf("it gives %v", g)
	}
}

// The head of a snapshot covers entries that are here: they are applied, and the snapshot is left.
func TestASnapshotInVain(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	m := followed(t, l, 5, nil, "good")
	m.Step(0, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Records: l.from(6, 8)}})
	m.Step(0, News{})
	o := SumPieces(l.head(7, "anna"), l.copyAt(7).Snapshot())
	out := m.Step(0, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Offer: &o}})
	if len(of[AskPiece](out)) > 0 || m.at.Index != 7 {
		t.Errorf("it does %v and is at %d", out, m.at.Index)
	}
}

// forgetful is a board on which no diff fits, as of a node whose state machine is another one.
type forgetful struct{ board }

func (*forgetful) Apply([]byte) error { return txlog.ErrDiff }

// A copy that was made anew and does not take the same entry again is made anew ever less often: it costs much, and brings nothing.
func TestAnEntryThatNeverFits(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	anew := func() *txlog.Copy {
		c, err := txlog.Restore(l.copyAt(5).Snapshot(), func() txlog.State { return &forgetful{} })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	m := followed(t, l, 5, func(c *Config) { c.Base = anew() }, "good")
	out := m.Step(0, Heard{Head: l.head(12, "anna"), Via: "good"})
	var spoiled []time.Duration
	for m.now < time.Minute {
		for len(out) > 0 && len(spoiled) < 100 {
			a := out[0]
			out = out[1:]
			switch a := a.(type) {
			case Ask:
				out = append(out, m.Step(m.now, HistoryCame{From: "good", History: History{Serial: a.Pull.Serial, Records: l.from(a.Pull.From, 12)}})...)
			case Spoiled:
				spoiled = append(spoiled, m.now)
				out = append(out, m.Step(m.now, Follow{Base: anew()})...)
			}
		}
		out = m.Step(m.now+25*time.Millisecond, Tick{})
	}
	if len(spoiled) < 3 || len(spoiled) > 8 || spoiled[1] > time.Second {
		t.Errorf("in a minute it was made anew %d times, at %v", len(spoiled), spoiled)
	}
	m.Step(m.now, News{})
	o := SumPieces(l.head(12, "anna"), l.copyAt(12).Snapshot())
	for _, want := range of[AskPiece](m.Step(m.now, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Offer: &o}})) {
		m.Step(m.now, Received{From: "good", Piece: pieceOf(want.Want, l.copyAt(12).Snapshot())})
	}
	l.goals(13, "goal")
	if asks := of[Ask](m.Step(m.now, Heard{Head: l.head(13, "anna"), Via: "good"})); m.at.Index != 12 || len(asks) == 0 {
		t.Errorf("with a snapshot over the entry it is at %d, and asks %v for what comes next", m.at.Index, asks)
	}
}

// A member has signed the right entry with another state: that is evidence, not a fault of the peer that gave the entry.
func TestAHeadOfAnotherState(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	m := followed(t, l, 5, nil, "good")
	h := l.head(8, "anna")
	h.State[0] ^= 1
	h = h.Sign(key("anna"))
	m.Step(0, Heard{Head: h, Via: "good"})
	out := m.Step(0, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Records: l.from(6, 8)}})
	if len(of[Evidence](out)) != 1 || len(of[Refused](out)) != 0 || m.at.Index != 5 {
		t.Errorf("it does %v and is at %d", out, m.at.Index)
	}
	out = m.Step(leastWary, Heard{Head: l.head(8, "anna"), Via: "good"})
	m.Step(leastWary, HistoryCame{From: "good", History: History{Serial: serialOf(m, "good"), Records: l.from(6, 8)}})
	if m.at.Index != 8 {
		t.Errorf("after %v it is at %d", out, m.at.Index)
	}
}

// Answers and wishes are counted as requests are: a peer that sends too many is cut short.
func TestAFloodOfAnswers(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna").goals(12, "goal")
	for _, in := range []Input{HistoryCame{From: "evil", History: History{Serial: 1 << 40}}, Wanted{From: "evil"}} {
		m := followed(t, l, 5, nil, "evil")
		n := 0
		for range 1000 {
			for _, r := range of[Refused](m.Step(0, in)) {
				if errors.Is(r.Why, ErrFlood) {
					n++
				}
			}
		}
		if n != 1000-8*flood {
			t.Errorf("%T: %d are refused", in, n)
		}
	}
}
