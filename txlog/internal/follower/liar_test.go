package follower

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/txlog"
)

// far is a head that a member has signed of an index that nobody has reached.
func far(l *line, index uint64, by string) txlog.Head {
	at := txlog.Position{Log: l.records[0].Log, Index: index, Term: 9, Hash: txlog.Hash{1, byte(index)}}
	return txlog.Head{Position: at, State: txlog.Hash{2}, Member: by}.Sign(key(by))
}

// A liar offers a snapshot of its head and sends no piece of it. What comes next is pulled all the same.
func TestAnOfferThatIsALie(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "anna", "ben")
	h := far(l, 1<<40, "anna")
	m.Step(0, Heard{Head: h, Via: "anna"})
	o := Offer{Head: h, Size: PieceSize, Sums: []txlog.Hash{{1}}}
	m.Step(0, HistoryCame{From: "anna", History: History{Serial: serialOf(m, "anna"), Offer: &o}})
	if m.fetch == nil {
		t.Fatal("it fetches nothing: this test shows nothing")
	}
	m.Step(woken, Heard{Head: l.head(6, "ben"), Via: "ben"})
	m.Step(woken, HistoryCame{From: "ben", History: History{Serial: serialOf(m, "ben"), Records: l.from(6, 6)}})
	if m.at.Index != 6 {
		t.Errorf("it is at %d", m.at.Index)
	}
}

// One member signs more heads than there is room for: those of the others stay.
func TestALiarHidesNoOthersHead(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "dora")
	true6 := l.head(6, "ben")
	m.Step(0, Heard{Head: true6, Via: "dora"})
	for i := range uint64(200) {
		m.Step(time.Duration(i)*round, Heard{Head: far(l, 6+i%2, "anna"), Via: "dora"})
		h := far(l, 6, "anna")
		h.State = txlog.Hash{byte(i)}
		m.Step(time.Duration(i)*round, Heard{Head: h.Sign(key("anna")), Via: "dora"})
	}
	if !slices.ContainsFunc(m.pool, func(c claim) bool { return c.Head.Hash == true6.Hash }) || len(m.pool) > 1+mostClaims {
		t.Errorf("of %d heads none is ben's", len(m.pool))
	}
}

// As long as the leader does not deny a head, a node says that it is behind, however long those who have the entries are away.
func TestAHeadWhoseHoldersAreAway(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "cleo")
	m.Step(0, Heard{Head: l.head(12, "anna"), Via: "cleo"})
	for m.now < time.Minute {
		for _, a := range of[Ask](m.Step(m.now+25*time.Millisecond, Tick{})) {
			m.Step(m.now, HistoryCame{From: "cleo", History: History{Serial: a.Pull.Serial, Waited: holdFor}})
		}
	}
	if s := m.Snapshot(); s.Known != 12 || len(s.Doubts) != 0 {
		t.Fatalf("it knows of %d, and doubts %v", s.Known, s.Doubts)
	}
	m.Step(m.now, Peers{Names: []string{"anna", "cleo"}})
	for end := m.now + 2*mostPatience; m.now < end && m.at.Index < 12; {
		for _, a := range of[Ask](m.Step(m.now+25*time.Millisecond, Tick{})) {
			if a.To == "anna" && a.Pull.From == 6 {
				m.Step(m.now, HistoryCame{From: "anna", History: History{Serial: a.Pull.Serial, Records: l.from(6, 12)}})
			}
		}
	}
	if m.at.Index != 12 {
		t.Errorf("it is at %d when they are back", m.at.Index)
	}
}

// A member that was denied once says more each second. Nobody seems to be behind by its new word, until there was time to deny that.
func TestALiarThatSaysMore(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "ben", "cleo")
	for second := range uint64(30) {
		m.Step(m.now, Heard{Head: far(l, 1<<40+second, "anna"), Via: "ben"})
		if s := m.Snapshot(); second > 8 && s.Known != 5 {
			t.Errorf("after %d s it knows of %d", second, s.Known)
		}
		for range 40 {
			for range of[Confirm](m.Step(m.now+25*time.Millisecond, Tick{})) {
				m.Step(m.now, Confirmed{Since: m.now, Index: 5})
			}
		}
	}
	if s := m.Snapshot(); len(s.Doubts) != 1 || s.Doubts[0].Count < 20 || len(s.Doubts[0].Head.Signature) == 0 {
		t.Errorf("it doubts %+v", s.Doubts)
	}
}

// denies has a machine at 5 hear a head, and the leader deny it.
func denies(m *Machine, h txlog.Head) (out []Action) {
	out = m.Step(m.now, Heard{Head: h, Via: "dora"})
	for end := m.now + 6*time.Second; m.now < end; {
		now := m.Step(m.now+25*time.Millisecond, Tick{})
		out = append(out, now...)
		for range of[Confirm](now) {
			out = append(out, m.Step(m.now, Confirmed{Since: m.now, Index: 5})...)
		}
	}
	return out
}

// A machine that begins anew takes no answer to the one before it: its questions have other numbers.
func TestAnAnswerToAnEarlierMachine(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	begins := func(seed uint64) (*Machine, []Ask) {
		m := followed(t, l, 5, func(c *Config) { c.Seed = seed }, "anna")
		return m, of[Ask](m.Step(0, Heard{Head: l.head(12, "anna"), Via: "anna"}))
	}
	_, before := begins(1)
	m, asks := begins(2)
	out := m.Step(0, HistoryCame{From: "anna", History: History{Serial: before[0].Pull.Serial, Records: l.from(6, 12)}})
	if refused := of[Refused](out); len(asks) != 1 || len(refused) != 1 || m.at.Index != 5 {
		t.Errorf("it is at %d, and refuses %v", m.at.Index, refused)
	}
}

// A liar that signs ever more does not have a node forget what it has of another member. That one's head comes true: it was signed too early.
func TestALiarPushesOutNobody(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "anna", "ben", "cleo")
	denies(m, l.head(8, "ben"))
	var told []Doubted
	for i := range uint64(2*mostAside + 2) {
		told = append(told, of[Doubted](denies(m, far(l, 1<<40+i, "anna")))...)
	}
	if len(told) != mostAside+1 || told[15].Head.Index != 1<<40+15 || told[15].Count != 16 || told[16].Count != 32 {
		t.Errorf("%d lies are told: %v", len(told), told)
	}
	for _, s := range m.suspects {
		if len(s.aside) > mostAside {
			t.Errorf("%d heads of %s are kept", len(s.aside), s.Head.Member)
		}
	}
	m.Step(m.now, Heard{Head: l.head(9, "cleo"), Via: "cleo"})
	m.Step(m.now, HistoryCame{From: "cleo", History: History{Serial: serialOf(m, "cleo"), Records: l.from(6, 9)}})
	if m.at.Index != 9 {
		t.Fatalf("it is at %d", m.at.Index)
	}
	if s := m.Snapshot(); len(s.Doubts) != 1 || s.Doubts[0].Head.Member != "anna" || s.Doubts[0].Count != 2*mostAside+2 {
		t.Errorf("it doubts %v", s.Doubts)
	}
}

// A liar signs heads from both ends inwards, so that the one in the middle is the oldest: it is kept until it is judged, and all with it.
func TestALiarThatPushesOutItsOwnHeads(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "ben", "cleo")
	asked, behind := 0, time.Duration(0)
	for n := uint64(0); m.now < time.Minute; n += 2 {
		for _, index := range []uint64{1<<40 + n, 1<<40 - n - 1} {
			m.Step(m.now, Heard{Head: far(l, index, "anna"), Via: "ben"})
			for range of[Confirm](m.Step(m.now+25*time.Millisecond, Tick{})) {
				asked++
				m.Step(m.now, Confirmed{Since: m.now, Index: 5})
			}
		}
		if m.Snapshot().Known > 5 {
			behind += 50 * time.Millisecond
		}
	}
	if asked < 10 || behind > 2*time.Second {
		t.Errorf("the leader was asked %d times, and the node seemed to be behind for %v", asked, behind)
	}
}

// A liar that goes on lying is taken out: none of its heads counts from then on.
func TestALiarIsTakenOut(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo", "dora", "emil").goals(5, "goal").change("ben", "cleo", "dora").goals(12, "goal")
	m := followed(t, l, 5, nil, "ben", "cleo")
	pass := func(end time.Duration) {
		for m.now < end {
			for range of[Confirm](m.Step(m.now+25*time.Millisecond, Tick{})) {
				m.Step(m.now, Confirmed{Since: m.now, Index: m.at.Index})
			}
		}
	}
	for n := range uint64(33) {
		m.Step(m.now, Heard{Head: far(l, 1<<40+n, "anna"), Via: "ben"})
		pass(time.Duration(n+1) * time.Second)
	}
	if s := m.Snapshot(); s.Known != 5 || len(s.Doubts) != 1 {
		t.Fatalf("it knows of %d, and doubts %v", s.Known, s.Doubts)
	}
	m.Step(m.now, Heard{Head: l.head(6, "ben"), Via: "ben"})
	m.Step(m.now, HistoryCame{From: "ben", History: History{Serial: serialOf(m, "ben"), Records: l.from(6, 6)}})
	for range 2 {
		if s := m.Snapshot(); s.At.Index != 6 || s.Known != 6 || len(s.Doubts) != 0 {
			t.Errorf("at %d it knows of %d, and doubts %v", s.At.Index, s.Known, s.Doubts)
		}
		pass(m.now + time.Hour)
	}
}

// A member under load hears heads a little before the leader tells it of their entries: it is not behind. One that is further behind, and comes on,
// lacks nothing either.
func TestAMemberUnderLoad(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(1200, "goal")
	for _, ahead := range []uint64{1, 80} {
		m := New(Config{Self: "ben", Base: l.copyAt(5), New: newBoard, First: 1, Member: true})
		m.Step(0, Peers{Names: []string{"anna", "cleo"}})
		behind := 0
		for i := uint64(6); i < 1000; i++ {
			m.Step(m.now, Heard{Head: l.head(i+ahead, "anna"), Via: "anna"})
			m.Step(m.now, Applied{Records: l.from(i, i)})
			out := m.Step(m.now+25*time.Millisecond, Tick{})
			s := m.Snapshot()
			if s.Known > i {
				behind++
			}
			if len(of[Parked](out)) > 0 || s.Gap > 100*time.Millisecond {
				t.Fatalf("%d ahead: at %d it has a gap of %v, and says %v", ahead, i, s.Gap, out)
			}
		}
		if ahead == 1 && behind > 0 || ahead > 1 && behind < 100 {
			t.Errorf("%d ahead: it seemed to be behind at %d of 1000 looks", ahead, behind)
		}
	}
}

// A lie that is repeated is one lie.
func TestALieThatIsRepeated(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(6, "goal")
	m := followed(t, l, 5, nil, "ben")
	told := 0
	for range 20 {
		told += len(of[Doubted](denies(m, far(l, 1<<40, "anna"))))
		if s := m.Snapshot(); s.Known != 5 || len(s.Doubts) != 1 || s.Doubts[0].Count != 1 || told != 1 {
			t.Fatalf("it knows of %d, doubts %v, and has said so %d times", s.Known, s.Doubts, told)
		}
	}
}

// A member that did not lead has denied a true head, and nothing comes after it. It is judged anew, and the copy comes to it.
func TestAHeadThatWasDeniedWrongly(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(6, "goal")
	m := followed(t, l, 5, nil, "ben")
	denies(m, l.head(6, "ben"))
	if s := m.Snapshot(); len(s.Doubts) != 1 || s.Known != 5 {
		t.Fatalf("it knows of %d, and doubts %v", s.Known, s.Doubts)
	}
	told := 0
	for m.now < 3*time.Minute && m.at.Index < 6 {
		for _, a := range m.Step(m.now+25*time.Millisecond, Tick{}) {
			switch a := a.(type) {
			case Confirm:
				m.Step(m.now, Confirmed{Since: m.now, Index: 6})
			case Doubted:
				told++
			case Ask:
				m.Step(m.now, HistoryCame{From: "ben", History: History{Serial: a.Pull.Serial, Records: l.from(6, 6), Heads: []txlog.Head{l.head(6, "ben")}}})
			}
		}
	}
	if s := m.Snapshot(); s.At.Index != 6 || len(s.Doubts) != 0 || told > 0 {
		t.Errorf("it is at %d, and doubts %v", s.At.Index, s.Doubts)
	}
}
