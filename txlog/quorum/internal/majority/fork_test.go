package majority

import (
	"errors"
	"strings"
	"testing"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// A leader that has other entries than those that are committed here breaks what an election promises: a store was restored, or somebody lies.
// The member takes nothing, and does not say that it has it; both are told, and the advice names both explanations. What an old leader has, or what
// is not committed here, is replaced as ever.
func TestAnotherEntryIsCommittedHere(t *testing.T) {
	t.Parallel()
	brings := func(m *pb.Message, w *world, index, term uint64, data []byte) {
		before := w.node("b").m.log.slot(index - 1)
		m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(index-1), new(before.entry.GetTerm())
		m.Entries = []*pb.Entry{Entry{Index: index, Term: term, Data: data}.theirs()}
	}
	for name, c := range map[string]struct {
		change func(m *pb.Message, w *world, commit uint64)
		forks  bool
	}{
		"another term": {func(m *pb.Message, w *world, commit uint64) { brings(m, w, commit, m.GetTerm(), nil) }, true},
		"another one before it": {func(m *pb.Message, _ *world, commit uint64) {
			m.Type, m.Index, m.LogTerm = pb.MsgApp.Enum(), new(commit), new(m.GetTerm())
		}, true},
		"one of the same term": {func(m *pb.Message, w *world, commit uint64) {
			brings(m, w, commit, w.node("b").m.log.slot(commit).entry.GetTerm(), []byte("x"))
		}, true},
		"a record that follows another one": {func(m *pb.Message, w *world, commit uint64) {
			b := w.node("b")
			r, err := txlog.Seal(txlog.Entry{
				Kind: txlog.Executed, Log: w.genesis.ID(), GoalID: "x", Leader: "a", Term: m.GetTerm(), Index: b.m.log.last().at.Index + 1, Prev: txlog.Hash{1},
			})
			if err != nil {
				t.Fatal(err)
			}
			brings(m, w, commit+1, m.GetTerm(), r.Raw())
		}, true},
		"a place to go on from": {func(m *pb.Message, w *world, _ uint64) {
			mark := w.node("b").m.log.mark
			mark.Term++
			m.Type, m.Snapshot = pb.MsgSnap.Enum(), &pb.Snapshot{Data: mark.Encode(), Metadata: &pb.SnapshotMetadata{Index: new(mark.Index), Term: new(mark.Term), ConfState: mark.confState()}}
		}, true},
		"of an old leader": {func(m *pb.Message, w *world, commit uint64) {
			brings(m, w, commit, 1, nil)
			m.Term = new(uint64(1))
		}, false},
		"the same again": {func(m *pb.Message, w *world, commit uint64) {
			e := w.node("b").m.log.slot(commit).entry
			brings(m, w, commit, e.GetTerm(), e.GetData())
		}, false},
		"what comes next": {func(m *pb.Message, w *world, commit uint64) { brings(m, w, commit+1, m.GetTerm(), nil) }, false},
	} {
		leader, b := pair(t)
		commit := b.m.log.hard.Commit
		m := &pb.Message{From: new(leader.store), To: new(b.store), Term: new(b.m.term + 1)}
		c.change(m, b.world, commit)
		out := b.m.Step(b.clock(), Received{From: "a", Bytes: seal(b.world.genesis.ID(), ofLibrary, mustMarshal(t, m))})
		told := len(out.Messages) == 1 && out.Messages[0].To == "a" && out.Messages[0].Bytes[1] == ofFork
		forked := len(out.Refused) == 1 && errors.Is(out.Refused[0].Why, ErrForked)
		if out.Failed != nil || forked != c.forks || told != c.forks || (b.m.Snapshot().Fork != "") != c.forks {
			t.Errorf("%s: refused: %v, %d messages, stopped: %v, advice %q", name, out.Refused, len(out.Messages), out.Failed, b.m.Snapshot().Fork)
		}
		if text := b.m.Snapshot().Fork; c.forks && !named(text, "a leads, and has other entries") || c.forks && !out.Persist.Empty() {
			t.Errorf("%s: it says %q, and keeps %+v", name, text, out.Persist)
		}
	}
}

// named reports whether a text begins so, and names both explanations.
func named(text, begin string) bool {
	return strings.HasPrefix(text, begin) && strings.Contains(text, "restored from a backup or copied") && strings.Contains(text, " lies, or its key is stolen")
}

// A leader is told of what it does not have. One word proves nothing, of a member that lies or of one that is right: nothing changes but the advice,
// which names both explanations, and ends when nobody says so any more. The word that a member sends of another term, or to one that does not
// lead, is none.
func TestALeaderIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	for name, say := range map[string]func(a, b *node) []byte{
		"of what is committed there": func(a, b *node) []byte {
			r := refusal{from: b.store, to: a.store, term: a.m.term, index: 32}
			return seal(a.world.genesis.ID(), ofFork, r.encode())
		},
		"of what it has stored": func(a, b *node) []byte {
			m := &pb.Message{Type: pb.MsgAppResp.Enum(), From: new(b.store), To: new(a.store), Term: new(a.m.term), Index: new(a.m.log.last().entry.GetIndex() + 1)}
			return seal(a.world.genesis.ID(), ofLibrary, mustMarshal(t, m))
		},
	} {
		a, b := pair(t)
		before := a.m.Snapshot()
		refused, failed := saysBytes(a, "b", say(a, b))
		after := a.m.Snapshot()
		if failed != nil || !errors.Is(refused, ErrForked) || !named(after.Fork, "b says that entries are committed there which this leader does not have") {
			t.Errorf("%s: %v, %v, and it says %q", name, refused, failed, after.Fork)
		}
		if !after.Leading || after.Term != before.Term || after.Stored != before.Stored || after.Committed != before.Committed || after.Advice != "" {
			t.Errorf("%s: it has changed %+v to %+v", name, before, after)
		}
		a.world.run(2 * quiet * round)
		if text := a.m.Snapshot().Fork; text != "" || !a.m.Snapshot().Leading {
			t.Errorf("%s: nobody has said so for long, and it says %q", name, text)
		}
	}
	a, b := pair(t)
	for _, r := range []refusal{{from: b.store, to: a.store, term: a.m.term - 1, index: 32}, {from: a.store, to: b.store, term: a.m.term, index: 32}} {
		to, from := a, "b"
		if r.to == b.store {
			to, from = b, "a"
		}
		if refused, failed := saysBytes(to, from, seal(a.world.genesis.ID(), ofFork, r.encode())); refused != nil || failed != nil || to.m.Snapshot().Fork != "" {
			t.Errorf("%+v: %v, %v, %q", r, refused, failed, to.m.Snapshot().Fork)
		}
	}
}
