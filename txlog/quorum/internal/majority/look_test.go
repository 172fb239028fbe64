package majority

import (
	"errors"
	"slices"
	"testing"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/store"
)

// A member looks before it stores. What it refuses it does not store, it says so to its own member and to the leader, and
// it goes on when the leader is another one. A majority that refuses commits nothing (review, finding 5).
func TestLookBeforeStoring(t *testing.T) {
	t.Parallel()
	spoiled := func(refuse ...string) *world {
		w := newWorld(t, 2, 5)
		for _, n := range w.nodes {
			n.start0()
		}
		w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
		w.run(10 * round)
		w.most = 0
		w.run(5 * round)
		for _, n := range w.nodes {
			if slices.Contains(refuse, n.name) {
				n.toy.look = func(records []txlog.Record) error {
					if slices.ContainsFunc(records, func(r txlog.Record) bool { return r.GoalID == "wrong" }) {
						return txlog.ErrState
					}
					return nil
				}
			}
		}
		w.node("a").execute(txlog.Entry{Kind: txlog.Executed, GoalID: "wrong"})
		w.run(20 * round)
		return w
	}
	has := func(w *world, name string) bool {
		return slices.ContainsFunc(w.node(name).toy.log, func(r txlog.Record) bool { return r.GoalID == "wrong" })
	}
	w := spoiled("b", "c", "d")
	if w.committed[len(w.committed)-1].GoalID == "wrong" {
		t.Error("what a majority refuses is committed")
	}
	for _, name := range []string{"b", "c", "d"} {
		if has(w, name) {
			t.Errorf("%s has stored what it refuses", name)
		}
		if !w.node(name).refuses(txlog.ErrState) {
			t.Errorf("%s does not say what it refuses", name)
		}
		if !slices.ContainsFunc(w.refusals, func(r authority.Refused) bool { return r.Member == name && r.Index == uint64(len(w.committed)+1) }) {
			t.Errorf("nobody was told that %s refuses", name)
		}
	}
	if a := w.node("a").m.Snapshot(); !a.Leading {
		t.Errorf("a refusal has deposed the leader: %+v", a)
	}
	w.node("a").crash() // it quarantines itself
	w.until(20, "another one leads", func() bool { return w.leader() != nil })
	w.most = 4
	n := len(w.committed)
	w.until(20, "the log goes on", func() bool { return len(w.committed) > n+3 })
	if slices.ContainsFunc(w.committed, func(r txlog.Record) bool { return r.GoalID == "wrong" }) && !has(w, "e") {
		t.Error("what a majority refused was committed")
	}

	if w := spoiled("b"); w.committed[len(w.committed)-1].GoalID != "wrong" {
		t.Error("what one member refuses stops all")
	}
	if w := spoiled(); w.committed[len(w.committed)-1].GoalID != "wrong" {
		t.Error("the rule is not needed: this test cannot fail")
	}
}

// A member's word that it refuses counts for the leader of the term that it was said in, and of nobody else.
func TestRefusalOfAnOldTerm(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	log := a.world.genesis.ID()
	say := func(n *node, from string, r refusal) (facts []authority.Fact) {
		return n.m.Step(n.clock(), Received{From: from, Bytes: seal(log, ofRefusal, r.encode())}).Facts
	}
	term := a.m.Snapshot().Term
	if facts := say(a, "b", refusal{from: 101, to: 100, term: term, index: 3}); len(facts) != 1 || facts[0] != (authority.Refused{Member: "b", Index: 3}) {
		t.Errorf("%v", facts)
	}
	if facts := say(a, "b", refusal{from: 101, to: 100, term: term - 1, index: 3}); len(facts) != 0 {
		t.Errorf("of an old term: %v", facts)
	}
	if facts := say(b, "a", refusal{from: 100, to: 101, term: term, index: 3}); len(facts) != 0 {
		t.Errorf("told to a member that does not lead: %v", facts)
	}
}

// In a batch what one message brings is looked at together with what the messages before it have brought, since it is not
// told yet.
func TestLookAtBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.most = 0
	w.run(10 * round)
	b := w.node("b")
	var waits Batch
	w.cut = func(_, to string) bool { return to == "b" }
	var looked [][]txlog.Record
	b.toy.look = func(records []txlog.Record) error {
		looked = append(looked, records)
		return nil
	}
	before := uint64(len(b.toy.log))
	for _, id := range []string{"one", "two", "three"} {
		a := w.node("a")
		a.execute(txlog.Entry{Kind: txlog.Executed, GoalID: id})
		r := a.toy.executed[len(a.toy.executed)-1]
		out := a.m.Step(a.clock(), Append{Record: r})
		a.disk.Write(out.Persist)
		a.disk.Sync()
		for _, m := range out.Messages {
			if m.To == "b" {
				waits = append(waits, Received{From: "a", Bytes: m.Bytes})
			}
		}
	}
	b.step(waits)
	if len(looked) != 3 || len(looked[2]) != 3 || looked[2][0].Index != before+1 {
		t.Errorf("it has looked at %d batches", len(looked))
	}
	if len(b.toy.log) != int(before)+3 {
		t.Errorf("it has stored %d records, of 3", len(b.toy.log)-int(before))
	}
}

// A tail that is replaced by the library's own entry alone is told as dropped, so that nobody executes on top of it.
func TestTailIsDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	a := w.node("a")
	w.most = 0
	w.run(5 * round)
	w.apart("a")
	for _, n := range w.nodes {
		n.toy.mute = n != a // the new leader appends no record: what the others get is the library's own entry
	}
	a.execute(txlog.Entry{Kind: txlog.Executed, GoalID: "lost"})
	w.until(60, "another one leads", func() bool { l := w.leader(); return l != nil && l != a })
	w.run(2 * round)
	if !slices.ContainsFunc(a.toy.log, func(r txlog.Record) bool { return r.GoalID == "lost" }) {
		t.Fatal("a has not stored it")
	}
	w.heal()
	w.until(20, "a has dropped it", func() bool {
		return !slices.ContainsFunc(a.toy.log, func(r txlog.Record) bool { return r.GoalID == "lost" })
	})
	if w.facts["authority.Dropped"] != 1 {
		t.Errorf("%v", w.facts)
	}
}

// What its own user appends out of order is refused, and so would be all after it: the leader gives its term up, as with a wrong memory
// (V7). Else it would go on beating, and the log would stand while nobody says so.
func TestAppendOutOfOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	for name, change := range map[string]func(*txlog.Entry){
		"index": func(e *txlog.Entry) { e.Index++ }, "prev": func(e *txlog.Entry) { e.Prev = txlog.Hash{1} },
		"term": func(e *txlog.Entry) { e.Term-- }, "log": func(e *txlog.Entry) { e.Log = txlog.Hash{1} },
		"members": func(e *txlog.Entry) {
			e.Kind, e.GoalID, e.Members = txlog.Changed, "", []txlog.Member{{Name: "a", Store: 1 << 63}}
		},
	} {
		w.most = 0
		w.until(60, "the leader has opened, and nothing is in flight", func() bool {
			l := w.leader()
			return l != nil && l.toy.committed >= l.toy.opening && l.toy.committed == uint64(len(l.toy.log)) && len(l.toy.executed) == 0
		})
		l := w.leader()
		last := l.toy.log[len(l.toy.log)-1]
		e := txlog.Entry{Kind: txlog.Executed, Log: w.genesis.ID(), Index: last.Index + 1, Term: l.toy.leads, Prev: last.Hash(), GoalID: "x", Leader: l.name}
		change(&e)
		r, err := txlog.Seal(e)
		if err != nil {
			t.Fatal(err)
		}
		out := l.m.Step(l.clock(), Batch{Tick{}, Append{Record: r}}) // a beat is due
		if slices.ContainsFunc(out.Persist.Entries, func(e Entry) bool { return len(e.Data) > 0 }) {
			t.Errorf("a record with a wrong %s is stored", name)
		}
		switch given := errors.Is(out.Failed, ErrGivenUp); {
		case name == "term":
			if given || len(out.Refused) > 0 {
				t.Errorf("what was executed in an old term is dropped, and that is no fault: %v, %v", out.Failed, out.Refused)
			}
		case !given || len(out.Messages)+len(out.Facts) > 0 || len(out.Refused) != 1 || out.Refused[0].From != l.name:
			t.Errorf("a wrong %s: %v, %v, %d messages, %d facts", name, out.Failed, out.Refused, len(out.Messages), len(out.Facts))
		}
		_ = l.disk.Persist(out.Persist)
		l.start0()
		w.most = 4
		n := len(w.committed)
		w.until(60, "the log goes on", func() bool { return len(w.committed) > n+3 })
	}
}

// A member that is far behind gets a place to go on from, and no entries. It fetches the records as a follower does. A lost
// message is said again.
func TestBehind(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds(10)) {
		w := newWorld(t, seed, 3)
		w.keep, w.loss = 10, 0.2
		for _, n := range w.nodes {
			n.start0()
		}
		w.until(30, "somebody leads", func() bool { return w.leader() != nil })
		w.run(10 * round)
		late := w.nodes[2]
		if late == w.leader() {
			late = w.nodes[1]
		}
		late.crash()
		w.run(100 * round)
		for _, n := range w.nodes {
			if n.m != nil && len(n.m.log.slots) > 90 {
				t.Fatalf("seed %d: %s keeps %d entries", seed, n.name, len(n.m.log.slots))
			}
			if n.m != nil && len(n.disk.Kept().Entries) > 90 {
				t.Fatalf("seed %d: %s's disk keeps %d entries", seed, n.name, len(n.disk.Kept().Entries))
			}
		}
		have := len(w.committed)
		late.start()
		w.until(300, "it has come after", func() bool { return late.m.Snapshot().Committed.Index >= uint64(have) })
		w.until(50, "it follows entry by entry", func() bool { return late.toy.committed+20 > uint64(len(w.committed)) && !late.m.Snapshot().Behind })
	}
}

// A place to go on from whose record is another one than the verified one is refused.
func TestBehindForked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	w.keep = 5
	w.until(30, "somebody leads", func() bool { return w.leader() != nil })
	for _, n := range w.nodes {
		n.start0()
	}
	late := w.nodes[2]
	late.crash()
	w.run(100 * round)
	late.start()
	var at *txlog.Position
	w.cut = func(from, to string) bool { return to == "c" && late.m.Snapshot().Behind }
	w.until(60, "it is behind", func() bool { return late.m.Snapshot().Behind })
	if at = &late.m.behind.mark.At; at.Index == 0 {
		t.Fatal("at 0")
	}
	wrong := *at
	wrong.Hash = txlog.Hash{1}
	out := late.m.Step(late.clock(), Reached{At: wrong})
	if len(out.Refused) != 1 || out.Persist.Reset != nil || !errors.Is(out.Refused[0].Why, ErrMessage) {
		t.Errorf("%+v", out)
	}
	if late.m.Snapshot().Behind {
		t.Error("it still waits")
	}
}

// A leader whose place to go on from is refused says it again and again. The member, which reads all of its store for that, looks at it
// after growing pauses; what another leader says, at once.
func TestBehindForkedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	w.keep = 5
	w.until(30, "somebody leads", func() bool { return w.leader() != nil })
	for _, n := range w.nodes {
		n.start0()
	}
	late := w.nodes[2]
	late.crash()
	w.run(100 * round)
	late.start()
	w.cut = func(_, to string) bool { return to == "c" && late.m.Snapshot().Behind }
	w.until(60, "it is behind", func() bool { return late.m.Snapshot().Behind })
	from, msg, wrong := late.m.behind.from, late.m.behind.msg, late.m.behind.mark.At
	wrong.Hash = txlog.Hash{1}
	late.m.Step(late.clock(), Reached{At: wrong})
	says := func() bool {
		return late.m.Step(late.clock(), Received{From: from, Bytes: seal(w.genesis.ID(), ofLibrary, mustMarshal(t, msg))}).Behind != nil
	}
	var looks []int
	for i := range 1000 {
		if late.m.Step(late.clock(), Tick{}); i%20 == 0 && says() {
			looks = append(looks, i)
			late.m.Step(late.clock(), Reached{At: wrong})
		}
	}
	if !slices.Equal(looks, []int{100, 300, 700}) {
		t.Errorf("it looks after %d rounds", looks)
	}
	msg.Term = new(msg.GetTerm() + 1)
	if !says() {
		t.Error("it does not look at what another leader says")
	}
}

// The place to go on from does not move while records are fetched, although the leader says newer ones: else a member that
// fetches slowly would never come after.
func TestBehindAndSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	w.keep, w.far = 40, 35*round
	for _, n := range w.nodes {
		n.start0()
	}
	w.until(30, "somebody leads", func() bool { return w.leader() != nil })
	late := w.nodes[2]
	late.crash()
	w.run(60 * round)
	w.most = 1
	late.start()
	w.until(30, "it is behind", func() bool { return late.m.Snapshot().Behind })
	w.until(60, "it goes on", func() bool { return !late.m.Snapshot().Behind })
}

// What a step has stored before it goes on from another place is not kept.
func TestResetInBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	w.keep = 5
	for _, n := range w.nodes {
		n.start0()
	}
	w.until(30, "somebody leads", func() bool { return w.leader() != nil })
	w.run(5 * round)
	late := w.nodes[2]
	late.crash()
	w.run(100 * round)
	late.start()
	w.cut = func(_, to string) bool { return to == "c" && late.m.Snapshot().Behind }
	w.until(60, "it is behind", func() bool { return late.m.Snapshot().Behind })
	last, at := late.m.log.last().entry, late.m.behind.mark.At
	m := &pb.Message{
		Type: pb.MsgApp.Enum(), From: new(w.leader().store), To: new(late.store), Term: new(late.m.term), Index: last.Index, LogTerm: last.Term,
		Entries: []*pb.Entry{Entry{Index: last.GetIndex() + 1, Term: late.m.term}.theirs()},
	}
	out := late.m.Step(late.clock(), Batch{Received{From: w.leader().name, Bytes: seal(w.genesis.ID(), ofLibrary, mustMarshal(t, m))}, Reached{At: at}})
	if out.Failed != nil || out.Persist.Reset == nil || out.Persist.Reset.At != at {
		t.Fatalf("%+v", out)
	}
	late.disk.Write(out.Persist)
	stored, _ := late.disk.Load()
	if _, err := New(Config{Self: "c", Store: late.store, Log: w.genesis.ID(), Stored: stored, Lease: round, Look: late.looks}); err != nil {
		t.Error(err)
	}
}

// A machine that is made from a store that contradicts itself is refused, and none panics.
func TestDamagedStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, 3)
	w.until(30, "somebody leads", func() bool { return w.leader() != nil })
	w.run(20 * round)
	for name, spoil := range map[string]func(*Stored){
		"a mark below the base":  func(s *Stored) { s.Base.Index = s.Mark.Index + 1 },
		"a mark above the end":   func(s *Stored) { s.Mark.Index = 1 << 40 },
		"a commit above the end": func(s *Stored) { s.Hard.Commit = 1 << 40 },
		"a commit below":         func(s *Stored) { s.Hard.Commit = 0 },
		"no term":                func(s *Stored) { s.Hard.Term = 0 },
		"a gap":                  func(s *Stored) { s.Entries = append(s.Entries[:3:3], s.Entries[4:]...) },
		"another order":          func(s *Stored) { s.Entries = slices.Clone(s.Entries); slices.Reverse(s.Entries) },
		"no members":             func(s *Stored) { s.Mark.Members = nil },
		"a flipped bit": func(s *Stored) {
			s.Mark = Fresh(w.genesis).Mark
			s.Entries = slices.Clone(s.Entries)
			for i := range s.Entries {
				if len(s.Entries[i].Data) > 0 {
					s.Entries[i].Data = slices.Clone(s.Entries[i].Data)
					s.Entries[i].Data[len(s.Entries[i].Data)/2] ^= 1
				}
			}
		},
	} {
		n := w.node("a")
		stored, _ := n.disk.Load()
		spoil(&stored)
		_, err := newMachine(Config{Self: "a", Store: 100, Log: w.genesis.ID(), Stored: stored, Lease: round, Look: n.looks}, func(*raft.Config) {})
		if !errors.Is(err, store.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
