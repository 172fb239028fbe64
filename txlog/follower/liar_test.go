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

// As long as no majority of the members denies a head, a node says that it is behind, however long those who have the entries are away.
func TestAHeadWhoseHoldersAreAway(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "cleo")
	m.Step(0, Heard{Head: l.head(12, "anna"), Via: "cleo"})
	for m.now < time.Minute {
		for _, a := range of[Ask](m.Step(m.now+25*time.Millisecond, Tick{})) {
			m.Step(m.now, Answered{From: "cleo", Answer: Answer{Serial: a.Pull.Serial, At: 5, Waited: holdFor}})
		}
	}
	if s := m.Snapshot(); s.Known != 12 || len(s.Doubts) != 0 {
		t.Fatalf("it knows of %d, and doubts %v", s.Known, s.Doubts)
	}
	m.Step(m.now, Peers{Names: []string{"anna", "cleo"}})
	for end := m.now + 2*mostPatience; m.now < end && m.at.Index < 12; {
		for _, a := range of[Ask](m.Step(m.now+25*time.Millisecond, Tick{})) {
			if a.To == "anna" && a.Pull.From == 6 {
				m.Step(m.now, Answered{From: "anna", Answer: Answer{Serial: a.Pull.Serial, Records: l.from(6, 12), At: 12}})
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
			for _, a := range of[Ask](m.Step(m.now+25*time.Millisecond, Tick{})) {
				m.Step(m.now, Answered{From: a.To, Answer: Answer{Serial: a.Pull.Serial, At: 5, Waited: holdFor}})
			}
		}
	}
	if s := m.Snapshot(); len(s.Doubts) != 1 || s.Doubts[0].Count < 20 || len(s.Doubts[0].Head.Signature) == 0 {
		t.Errorf("it doubts %+v", s.Doubts)
	}
}

// denies has a machine at 5 hear a head, and all it asks of the members be denied.
func denies(m *Machine, h txlog.Head) (out []Action) {
	out = m.Step(m.now, Heard{Head: h, Via: "dora"})
	for end := m.now + 6*time.Second; m.now < end; {
		now := m.Step(m.now+25*time.Millisecond, Tick{})
		out = append(out, now...)
		for _, a := range of[Ask](now) {
			out = append(out, m.Step(m.now, Answered{From: a.To, Answer: Answer{Serial: a.Pull.Serial, At: 5, Waited: holdFor}})...)
		}
		for range of[Confirm](now) {
			out = append(out, m.Step(m.now, Confirmed{Since: m.now, Index: 5})...)
		}
	}
	return out
}

// A member was asked before the head was heard, and has answered since: it may have looked before the head was signed.
func TestAWordOfBefore(t *testing.T) {
	t.Parallel()
	l := newLine(t, "anna", "ben", "cleo").goals(12, "goal")
	m := followed(t, l, 5, nil, "ben", "cleo")
	m.Step(0, Heard{Head: l.head(6, "anna"), Via: "ben"})
	asks := of[Ask](m.Step(time.Second, Tick{}))
	m.Step(m.now+time.Millisecond, Heard{Head: l.head(12, "ben"), Via: "ben"})
	for _, a := range asks {
		m.Step(m.now, Answered{From: a.To, Answer: Answer{Serial: a.Pull.Serial, At: 5, Waited: holdFor}})
	}
	m.Step(m.now+25*time.Millisecond, Tick{})
	if s := m.Snapshot(); len(asks) < 2 || s.Known != 12 || len(s.Doubts) != 1 || s.Doubts[0].Head.Index != 6 {
		t.Errorf("%d were asked; it knows of %d, and doubts %v", len(asks), s.Known, s.Doubts)
	}
}

// In a log of one or two members all of them have to deny a head, the one whose key has signed it too: its process may be honest.
func TestDeniedAmongFew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members []string
		self    string
		peers   []string
		denied  bool
	}{
		{[]string{"anna"}, "anna", []string{"dora"}, true},
		{[]string{"anna"}, "dora", []string{"anna"}, true},
		{[]string{"anna"}, "dora", []string{"emil"}, false},
		{[]string{"anna", "ben"}, "ben", []string{"anna"}, true},
		{[]string{"anna", "ben"}, "ben", []string{"dora"}, false},
		{[]string{"anna", "ben"}, "dora", []string{"anna", "ben"}, true},
		{[]string{"anna", "ben"}, "dora", []string{"ben"}, false},
	} {
		l := newLine(t, c.members...).goals(12, "goal")
		m := followed(t, l, 5, func(f *Config) { f.Self = c.self }, c.peers...)
		denies(m, far(l, 1<<40, "anna"))
		if s := m.Snapshot(); (len(s.Doubts) == 1) != c.denied || (s.Known == 5) != c.denied {
			t.Errorf("of the members %v %s, which reaches %v, knows of %d, and doubts %v", c.members, c.self, c.peers, s.Known, s.Doubts)
		}
	}
}

// A liar that signs ever more does not have a node forget what it has of another member. That one's head comes true: the thief of its key had
// told it too early.
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
	out := m.Step(m.now, Heard{Head: l.head(9, "cleo"), Via: "cleo"})
	out = append(out, m.Step(m.now, Answered{From: "cleo", Answer: Answer{Serial: serialOf(m, "cleo"), Records: l.from(6, 9)}})...)
	if cleared := of[Cleared](out); m.at.Index != 9 || len(cleared) != 1 || cleared[0].Head.Member != "ben" {
		t.Errorf("at %d it takes %v for true", m.at.Index, cleared)
	}
	if s := m.Snapshot(); len(s.Doubts) != 1 || s.Doubts[0].Head.Member != "anna" || s.Doubts[0].Count != 2*mostAside+2 {
		t.Errorf("it doubts %v", s.Doubts)
	}
}
