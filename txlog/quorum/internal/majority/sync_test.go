package majority

import (
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/store"
)

// noted is a store that notes which steps may wait for the disk.
type noted struct {
	store.Store

	lazy []bool
}

func (n *noted) Write(s store.Step) error {
	n.lazy = append(n.lazy, s.Lazy)
	return n.Store.Write(s)
}

// sync-first: the vote and the term that a member gives away are on the disk before anybody hears of them: after a power cut it would vote twice.
// The word that more is committed may wait.
func TestAVoteIsSynced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 3)
	b := w.node("b")
	says := func(m *pb.Message) Output {
		t.Helper()
		out := b.m.Step(b.clock(), Received{From: "a", Bytes: seal(w.genesis.ID(), ofLibrary, mustMarshal(t, m))})
		if len(out.Refused) > 0 || out.Failed != nil || len(out.Messages) != 1 {
			t.Fatalf("%v, %v, %d messages", out.Refused, out.Failed, len(out.Messages))
		}
		return out
	}
	last := b.m.log.last().id()
	vote := says(&pb.Message{Type: pb.MsgVote.Enum(), From: new(uint64(100)), To: new(uint64(101)), Term: new(uint64(7)), Index: new(last.Index), LogTerm: new(last.Term)})
	if h := vote.Persist.Hard; h == nil || h.Term != 7 || h.Vote != 100 || !vote.Persist.Sync {
		t.Errorf("it votes, and asks to keep %+v", vote.Persist)
	}
	entry := says(&pb.Message{
		Type: pb.MsgApp.Enum(), From: new(uint64(100)), To: new(uint64(101)), Term: new(uint64(7)), Index: new(last.Index), LogTerm: new(last.Term),
		Entries: []*pb.Entry{Entry{Index: last.Index + 1, Term: 7}.theirs()},
	})
	committed := says(&pb.Message{Type: pb.MsgHeartbeat.Enum(), From: new(uint64(100)), To: new(uint64(101)), Term: new(uint64(7)), Commit: new(last.Index + 1)})
	s := &noted{Store: store.NewMemory(101, w.genesis)}
	for _, out := range []Output{vote, entry, committed} {
		if err := NewPromises(s).Persist(out.Persist); err != nil {
			t.Fatal(err)
		}
	}
	if s.lazy[0] || s.lazy[1] || !s.lazy[2] {
		t.Errorf("of a vote, an entry and the word that it is committed, these may wait: %v", s.lazy)
	}
}

// A store that is no member's any more, as a verified entry says, asks nobody for a vote, although what it has stored says that it may.
func TestARemovedStoreDoesNotCampaign(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members, before []string
		out             bool
	}{
		{[]string{"a", "c"}, []string{"a", "c"}, true}, {[]string{"a", "b", "c"}, []string{"a", "b", "c"}, false},
		{[]string{"a", "c"}, []string{"a", "b", "c"}, false}, // it leaves with the newest change, and is needed to end it
	} {
		_, b := pair(t)
		w := b.world
		named := func(names []string) (all []txlog.Member) {
			for _, name := range names {
				all = append(all, w.member(name, w.node(name).store))
			}
			return all
		}
		b.step(Known{Index: uint64(len(w.committed)) + 1, Members: named(c.members), Before: named(c.before)})
		sent := 0
		w.cut = func(from, to string) bool {
			if from == "b" {
				sent++
			}
			return from == "b" || to == "b"
		}
		w.run(2 * round)
		sent = 0 // what was under way
		w.run(50 * round)
		if (sent == 0) != c.out {
			t.Errorf("of %v, after %v, it has sent %d messages", c.members, c.before, sent)
		}
	}
}
