package majority

import (
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// pair is a leader and a follower that have some records, and do not move by themselves.
func pair(t testing.TB) (leader, follower *node) {
	w := newWorld(t, 2, 3)
	w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
	w.run(10 * round)
	w.most = 0
	w.run(5 * round)
	return w.node("a"), w.node("b")
}

// says has a member say something to a node, and returns why it is refused, if it is.
func says(n *node, from string, m *pb.Message) (refused error, failed error) {
	body, err := proto.Marshal(m)
	if err != nil {
		n.world.t.Fatal(err)
	}
	return saysBytes(n, from, seal(n.world.genesis.ID(), ofLibrary, body))
}

func saysBytes(n *node, from string, b []byte) (refused error, failed error) {
	out := n.m.Step(n.clock(), Received{From: from, Bytes: b})
	n.disk.Write(out.Persist)
	if len(out.Refused) > 0 {
		refused = out.Refused[0].Why
	}
	return refused, out.Failed
}

// What no member sends is refused. Without the guard the library panics at the ones marked so, or believes them.
func TestHostileMessages(t *testing.T) {
	t.Parallel()
	type hostile struct {
		name   string
		to     string // a leads, b follows
		from   string
		change func(m *pb.Message, w *world)
		want   error
	}
	entry := func(index, term uint64) *pb.Entry { return Entry{Index: index, Term: term}.theirs() }
	last := func(w *world, n string) uint64 { return w.node(n).m.log.last().entry.GetIndex() }
	for _, h := range []hostile{
		{"a stranger", "b", "x", func(*pb.Message, *world) {}, ErrStranger},
		{"this node's own name", "b", "b", func(*pb.Message, *world) {}, ErrStranger},
		{"another member's store", "b", "c", func(*pb.Message, *world) {}, ErrOtherStore},
		{"an unknown store", "b", "a", func(m *pb.Message, _ *world) { m.From = new(uint64(999)) }, ErrOtherStore},
		{"for another store", "b", "a", func(m *pb.Message, _ *world) { m.To = new(uint64(999)) }, ErrOtherStore},
		{"for nobody", "b", "a", func(m *pb.Message, _ *world) { m.To = nil }, ErrOtherStore},
		{"no term", "b", "a", func(m *pb.Message, _ *world) { m.Term = nil }, ErrMessage},
		{"the last term", "b", "a", func(m *pb.Message, _ *world) { m.Term = new(^uint64(0)) }, ErrMessage},
		{"a term that leaps", "b", "a", func(m *pb.Message, _ *world) { m.Term = new(m.GetTerm() + mostLeap + 1) }, ErrMessage},
		{"a leader hears of a term that leaps", "a", "b", func(m *pb.Message, _ *world) {
			m.Type, m.Term, m.Reject = pb.MsgPreVoteResp.Enum(), new(m.GetTerm()+mostLeap+1), new(true)
		}, ErrMessage},
		{"a vote in a term that leaps", "b", "a", func(m *pb.Message, _ *world) {
			m.Type, m.Term = pb.MsgVote.Enum(), new(uint64(mostNumber))
		}, ErrMessage},
		{"a kind that does not exist", "b", "a", func(m *pb.Message, _ *world) { m.Type = pb.MessageType(99).Enum() }, ErrMessage},
		{"a local kind", "b", "a", func(m *pb.Message, _ *world) { m.Type = pb.MsgHup.Enum() }, ErrMessage},
		{"a term is handed over", "b", "a", func(m *pb.Message, _ *world) { m.Type = pb.MsgTimeoutNow.Enum() }, ErrMessage},
		{"a read is forwarded", "a", "b", func(m *pb.Message, _ *world) { m.Type = pb.MsgReadIndex.Enum() }, ErrMessage},
		{"a proposal is forwarded", "a", "b", func(m *pb.Message, w *world) {
			m.Type, m.Entries = pb.MsgProp.Enum(), []*pb.Entry{entry(0, 0)}
		}, ErrMessage},
		{"a vote by force", "b", "a", func(m *pb.Message, _ *world) {
			m.Type, m.Term, m.Context = pb.MsgVote.Enum(), new(m.GetTerm()+1), []byte("CampaignTransfer")
		}, ErrMessage},
		{"nested answers", "b", "a", func(m *pb.Message, _ *world) { m.Responses = []*pb.Message{{}} }, ErrMessage},
		{"a heartbeat with entries", "b", "a", func(m *pb.Message, w *world) { m.Entries = []*pb.Entry{entry(1, 1)} }, ErrMessage},
		{"panics: a commit beyond the end", "b", "a", func(m *pb.Message, w *world) { m.Commit = new(last(w, "b") + 1) }, ErrLost},
		{"panics: a commit beyond the end, by one that does not lead", "b", "c", func(m *pb.Message, w *world) {
			m.From, m.Commit = new(uint64(102)), new(last(w, "b")+1)
		}, ErrMessage},
		{"panics: a commit beyond the end, in the next term", "b", "c", func(m *pb.Message, w *world) {
			m.From, m.Term, m.Commit = new(uint64(102)), new(m.GetTerm()+1), new(last(w, "b")+1)
		}, ErrMessage},
		{"panics: a commit beyond the leader's end", "a", "b", func(m *pb.Message, w *world) { m.Commit = new(uint64(mostNumber)) }, ErrMessage},
		{"panics: a commit beyond the leader's end, in the next term", "a", "b", func(m *pb.Message, w *world) {
			m.Term, m.Commit = new(m.GetTerm()+1), new(last(w, "a")+1)
		}, ErrMessage},
		{"panics: a short context", "a", "b", func(m *pb.Message, _ *world) {
			m.Type, m.Context = pb.MsgHeartbeatResp.Enum(), []byte{1}
		}, ErrMessage},
		{"the answer to a question that was not asked", "a", "b", func(m *pb.Message, _ *world) {
			m.Type, m.Context = pb.MsgHeartbeatResp.Enum(), []byte{0, 0, 0, 0, 0, 0, 0, 1}
		}, ErrMessage},
		{"more is stored than there is", "a", "b", func(m *pb.Message, w *world) {
			m.Type, m.Index = pb.MsgAppResp.Enum(), new(last(w, "a")+1)
		}, ErrForked},
		{"a hint beyond the end", "a", "b", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.Reject, m.RejectHint = pb.MsgAppResp.Enum(), new(last(w, "a")), new(true), new(^uint64(0))
		}, ErrMessage},
		{"panics: a gap in entries", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			m.Entries = []*pb.Entry{entry(last(w, "b")+2, m.GetTerm())}
		}, ErrMessage},
		{"an entry below the commit", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			m.Entries = []*pb.Entry{entry(2, m.GetTerm())}
		}, ErrMessage},
		{"a term that goes back", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			m.Entries = []*pb.Entry{entry(last(w, "b")+1, 1)}
		}, ErrMessage},
		{"a term of the future", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			m.Entries = []*pb.Entry{entry(last(w, "b")+1, m.GetTerm()+1)}
		}, ErrMessage},
		{"an entry that is no record", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			e := entry(last(w, "b")+1, m.GetTerm())
			e.Data = []byte("no record")
			m.Entries = []*pb.Entry{e}
		}, txlog.ErrVersion},
		{"panics: an end of no change", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			e := entry(last(w, "b")+1, m.GetTerm())
			e.Type = pb.EntryConfChangeV2.Enum()
			m.Entries = []*pb.Entry{e}
		}, ErrMessage},
		{"panics: a change without members", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			e := entry(last(w, "b")+1, m.GetTerm())
			cc := &pb.ConfChangeV2{Transition: pb.ConfChangeTransitionJointImplicit.Enum()}
			for id := range uint64(3) {
				cc.Changes = append(cc.Changes, &pb.ConfChangeSingle{Type: pb.ConfChangeRemoveNode.Enum(), NodeId: new(100 + id)})
			}
			e.Type = pb.EntryConfChangeV2.Enum()
			e.Data, _ = proto.Marshal(cc)
			m.Entries = []*pb.Entry{e}
		}, ErrMessage},
		{"a record of another term", "b", "a", func(m *pb.Message, w *world) {
			brings(w, m, txlog.Entry{Kind: txlog.Executed, GoalID: "x", Term: 1}, nil)
		}, ErrMessage},
		{"a record at another index", "b", "a", func(m *pb.Message, w *world) {
			brings(w, m, txlog.Entry{Kind: txlog.Executed, GoalID: "x", Index: 99}, nil)
		}, ErrMessage},
		{"a change that is no entry of that kind", "b", "a", func(m *pb.Message, w *world) {
			brings(w, m, txlog.Entry{Kind: txlog.Changed, Members: w.genesis.Members[:2]}, nil)
		}, ErrMessage},
		{"a goal that changes the members", "b", "a", func(m *pb.Message, w *world) {
			brings(w, m, txlog.Entry{Kind: txlog.Executed, GoalID: "x"}, []uint64{102})
		}, ErrMessage},
		{"a change of nothing", "b", "a", func(m *pb.Message, w *world) {
			brings(w, m, txlog.Entry{Kind: txlog.Changed, Members: w.genesis.Members}, []uint64{})
		}, ErrMessage},
		{"a change to others than the record says", "b", "a", func(m *pb.Message, w *world) {
			brings(w, m, txlog.Entry{Kind: txlog.Changed, Members: w.genesis.Members[:2]}, []uint64{101})
		}, ErrMessage},
		{"an old kind of change", "b", "a", func(m *pb.Message, w *world) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(last(w, "b")), new(m.GetTerm())
			e := entry(last(w, "b")+1, m.GetTerm())
			e.Type = pb.EntryConfChange.Enum()
			m.Entries = []*pb.Entry{e}
		}, ErrMessage},
		{"a snapshot without content", "b", "a", func(m *pb.Message, _ *world) { m.Type = pb.MsgSnap.Enum() }, ErrMessage},
		{"panics: a snapshot of other members", "b", "a", func(m *pb.Message, w *world) {
			mark := w.node("a").m.log.mark
			mark.Index += 10
			s := &pb.Snapshot{Data: mark.Encode(), Metadata: &pb.SnapshotMetadata{Index: new(mark.Index), Term: new(mark.Term), ConfState: mark.confState()}}
			s.Metadata.ConfState.Voters = []uint64{101, 101, 101}
			m.Type, m.Snapshot = pb.MsgSnap.Enum(), s
		}, ErrMessage},
		{"a snapshot of another log", "b", "a", func(m *pb.Message, w *world) {
			mark := w.node("a").m.log.mark
			mark.Index += 10
			mark.At.Log = txlog.Hash{1}
			m.Type, m.Snapshot = pb.MsgSnap.Enum(), &pb.Snapshot{Data: mark.Encode(), Metadata: &pb.SnapshotMetadata{Index: new(mark.Index), Term: new(mark.Term), ConfState: mark.confState()}}
		}, ErrOtherLog},
	} {
		leader, follower := pair(t)
		to := map[string]*node{"a": leader, "b": follower}[h.to]
		sender := map[string]uint64{"a": 100, "b": 101, "c": 102, "x": 999}
		from := h.from
		if from == "c" {
			from = "a"
		}
		m := &pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(sender[from]), To: new(to.store), Term: new(leader.m.term)}
		h.change(m, to.world)
		before := to.m.Snapshot()
		refused, failed := says(to, h.from, m)
		if failed != nil || !errors.Is(refused, h.want) {
			t.Errorf("%s: refused: %v; stopped: %v; want %v", h.name, refused, failed, h.want)
			continue
		}
		if after := to.m.Snapshot(); after.Term != before.Term || after.Stored != before.Stored || after.Committed != before.Committed || after.Leader != before.Leader {
			t.Errorf("%s: it has changed %+v to %+v", h.name, before, after)
		}
	}
}

// brings has a message bring one entry with a record, which comes next but for what e says; with stores it removes these.
func brings(w *world, m *pb.Message, e txlog.Entry, remove []uint64) {
	b := w.node("b")
	last := b.toy.log[len(b.toy.log)-1]
	at := b.m.log.last().entry.GetIndex()
	e.Log, e.Index, e.Term, e.Prev, e.Leader = w.genesis.ID(), max(e.Index, last.Index+1), max(e.Term, 1), last.Hash(), "a"
	if e.Term == 1 && e.GoalID != "x" || e.Index != 99 && remove != nil || e.Index == 99 {
		e.Term = m.GetTerm()
	}
	r, err := txlog.Seal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	entry := Entry{Index: at + 1, Term: m.GetTerm(), Data: r.Raw()}
	if remove != nil {
		cc := &pb.ConfChangeV2{Transition: pb.ConfChangeTransitionJointImplicit.Enum(), Context: r.Raw()}
		for _, id := range remove {
			cc.Changes = append(cc.Changes, &pb.ConfChangeSingle{Type: pb.ConfChangeRemoveNode.Enum(), NodeId: new(id)})
		}
		entry.Change = true
		entry.Data, _ = proto.Marshal(cc)
	}
	m.Type, m.Index, m.LogTerm, m.Entries = pb.MsgApp.Enum(), new(at), new(b.m.log.last().entry.GetTerm()), []*pb.Entry{entry.theirs()}
}

// Bytes that are no message are refused.
func TestHostileBytes(t *testing.T) {
	t.Parallel()
	_, b := pair(t)
	log := b.world.genesis.ID()
	for name, h := range map[string]struct {
		bytes []byte
		want  error
	}{
		"nothing":        {nil, ErrMessage},
		"a short one":    {[]byte{1, 1, 2}, ErrMessage},
		"another log":    {seal(txlog.Hash{9}, ofLibrary, nil), ErrOtherLog},
		"a new format":   {append([]byte{9}, seal(log, ofLibrary, nil)[1:]...), txlog.ErrVersion},
		"another kind":   {seal(log, 7, nil), ErrMessage},
		"no message":     {seal(log, ofLibrary, []byte{0xff, 0xff}), ErrMessage},
		"no refusal":     {seal(log, ofRefusal, []byte{1}), ErrMessage},
		"a long one":     {seal(log, ofLibrary, make([]byte, mostMessage)), txlog.ErrSize},
		"an other store": {seal(log, ofRefusal, (&refusal{from: 999, to: 101}).encode()), ErrOtherStore},
	} {
		if refused, failed := saysBytes(b, "a", h.bytes); failed != nil || !errors.Is(refused, h.want) {
			t.Errorf("%s: %v, %v", name, refused, failed)
		}
	}
}

// A machine whose library has met something impossible does nothing any more, and nothing of the step leaves it.
func TestStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	fails := &failing{}
	w.change = func(c *raft.Config) { fails.Storage, c.Storage = c.Storage, fails }
	n := w.node("a")
	n.start0()
	w.change = func(*raft.Config) {}
	w.until(12, "a leads", func() bool { return n.m.Snapshot().Leading })
	fails.now = true
	out := n.m.Step(n.clock(), Append{Record: n.next(t, "x")})
	if !errors.Is(out.Failed, ErrStopped) || len(out.Messages) > 0 || len(out.Facts) > 0 || !out.Persist.Empty() {
		t.Fatalf("%+v", out)
	}
	fails.now = false
	if again := n.m.Step(n.clock(), Tick{}); !errors.Is(again.Failed, ErrStopped) {
		t.Errorf("%+v", again)
	}
	n.start0() // one that is made anew goes on
	w.until(20, "a is back", func() bool { return n.leader != "" })
}

// failing is a storage that the library cannot read.
type failing struct {
	raft.Storage

	now bool
}

func (f *failing) LastIndex() (uint64, error) {
	if f.now {
		return 0, errors.New("it cannot be read")
	}
	return f.Storage.LastIndex()
}

// next returns the record that comes next at a leader.
func (n *node) next(t testing.TB, goal string) txlog.Record {
	last := n.toy.log[len(n.toy.log)-1]
	if k := len(n.toy.executed); k > 0 {
		last = n.toy.executed[k-1]
	}
	r, err := txlog.Seal(txlog.Entry{
		Log: n.world.genesis.ID(), Index: last.Index + 1, Term: n.toy.leads, Prev: last.Hash(), Kind: txlog.Executed, GoalID: goal, Leader: n.name,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustMarshal(t testing.TB, m *pb.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// FuzzReceived has a member send anything: bytes, and messages with any fields, to a leader and to a follower. The machine
// does not stop, and what is committed stays.
func FuzzReceived(f *testing.F) {
	seed := func(m *pb.Message) {
		f.Add(mustMarshal(f, m), false)
		f.Add(mustMarshal(f, m), true)
	}
	for kind := range pb.MessageType_name {
		seed(&pb.Message{
			Type: pb.MessageType(kind).Enum(), Term: new(uint64(2)), Index: new(uint64(5)), LogTerm: new(uint64(2)), Commit: new(uint64(7)),
			Entries: []*pb.Entry{{Index: new(uint64(6)), Term: new(uint64(2)), Data: []byte("x")}}, Context: []byte("12345678"), RejectHint: new(uint64(9)),
		})
	}
	f.Fuzz(func(t *testing.T, body []byte, lead bool) {
		w := newWorld(t, 2, 3)
		w.most = 2
		w.until(12, "a leads", func() bool { return w.node("a").m.Snapshot().Leading })
		w.run(3 * round)
		to, from := w.node("b"), w.node("a")
		if lead {
			to, from = from, to
		}
		m := &pb.Message{}
		if proto.Unmarshal(body, m) == nil { // as a member would say it
			m.From, m.To = new(from.store), new(to.store)
			if m.GetTerm() > 10 {
				m.Term = new(m.GetTerm() % 10)
			}
			body = mustMarshal(t, m)
		}
		before := len(w.committed)
		out := to.m.Step(to.clock(), Received{From: from.name, Bytes: seal(w.genesis.ID(), ofLibrary, body)})
		if out.Failed != nil {
			t.Fatalf("%v, by %v", out.Failed, m)
		}
		for range 5 {
			if out := to.m.Step(to.clock(), Tick{}); out.Failed != nil {
				t.Fatalf("%v, after %v", out.Failed, m)
			}
		}
		if now := to.m.Snapshot().Committed.Index; now > uint64(before)+2 {
			t.Fatalf("%d records are committed, and %d were made: %v", now, before, m)
		}
		_ = fmt.Sprint(to.m.Snapshot())
	})
}
