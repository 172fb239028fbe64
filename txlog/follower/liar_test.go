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
	m.Step(0, Answered{From: "anna", Answer: Answer{Serial: serialOf(m, "anna"), Offer: &o}})
	if m.fetch == nil {
		t.Fatal("it fetches nothing: this test shows nothing")
	}
	m.Step(woken, Heard{Head: l.head(6, "ben"), Via: "ben"})
	m.Step(woken, Answered{From: "ben", Answer: Answer{Serial: serialOf(m, "ben"), Records: l.from(6, 6)}})
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
			m.Step(m.now, Answered{From: "cleo", Answer: Answer{Serial: a.Pull.Serial, Waited: holdFor}})
		}
	}
	if s := m.Snapshot(); s.Known != 12 || len(s.Doubts) != 0 {
		t.Fatalf("it knows of %d, and doubts %v", s.Known, s.Doubts)
	}
	m.Step(m.now, Peers{Names: []string{"anna", "cleo"}})
	for end := m.now + 2*mostPatience; m.now < end && m.at.Index < 12; {
		for _, a := range of[Ask](m.Step(m.now+25*time.Millisecond, Tick{})) {
			if a.To == "anna" && a.Pull.From == 6 {
				m.Step(m.now, Answered{From: "anna", Answer: Answer{Serial: a.Pull.Serial, Records: l.from(6, 12)}})
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
	out := m.Step(0, Answered{From: "anna", Answer: Answer{Serial: before[0].Pull.Serial, Records: l.from(6, 12)}})
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
	m.Step(m.now, Answered{From: "cleo", Answer: Answer{Serial: serialOf(m, "cleo"), Records: l.from(6, 9)}})
	if m.at.Index != 9 {
		t.Fatalf("it is at %d", m.at.Index)
	}
	if s := m.Snapshot(); len(s.Doubts) != 1 || s.Doubts[0].Head.Member != "anna" || s.Doubts[0].Count != 2*mostAside+2 {
		t.Errorf("it doubts %v", s.Doubts)
	}
}
