package majority

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// heavy are messages of which a few bytes would become many in memory, between two stores.
func heavy(log txlog.ID, from, to uint64) map[string][]byte {
	message := func(kind pb.MessageType, field protowire.Number, item []byte, n int) []byte {
		return repeated(log, &pb.Message{Type: kind.Enum(), From: new(from), To: new(to), Term: new(uint64(1))}, field, item, n)
	}
	voters := bytes.Repeat([]byte{1 << 3, 1}, 1_000_000)
	state := protowire.AppendBytes([]byte{1<<3 | 2}, voters)
	return map[string][]byte{
		"entries":               message(pb.MsgApp, entriesField, nil, 2_000_000),
		"entries in a question": message(pb.MsgPreVote, entriesField, nil, 2_000_000),
		"responses":             message(pb.MsgApp, responsesField, nil, 2_000_000),
		"voters of a snapshot":  message(pb.MsgSnap, snapshotField, protowire.AppendBytes([]byte{2<<3 | 2}, state), 1),
		"a snapshot many times": message(pb.MsgSnap, snapshotField, protowire.AppendBytes([]byte{2<<3 | 2}, protowire.AppendBytes([]byte{1<<3 | 2}, voters[:200])), 9_000),
	}
}

// repeated is a message with an item so many times in a field.
func repeated(log txlog.ID, m *pb.Message, field protowire.Number, item []byte, n int) []byte {
	body, _ := proto.Marshal(m)
	return seal(log, ofLibrary, append(body, bytes.Repeat(protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), item), n)...))
}

// allocated returns how many bytes something allocates.
func allocated(what func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	what()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A message costs no memory before it is known who sends it, to which store, and how many parts it has. No other test runs meanwhile.
func TestAMessageIsWeighedBeforeItIsDecoded(t *testing.T) {
	leader, follower := pair(t)
	log := leader.world.genesis.ID()
	const most = 64 << 10
	for _, to := range []*node{leader, follower} {
		other := leader
		if to == leader {
			other = follower
		}
		for name, message := range heavy(log, other.store, to.store) {
			for _, from := range []string{"x", other.name} {
				var refused, failed error
				took := allocated(func() { refused, failed = saysBytes(to, from, message) })
				if refused == nil || failed != nil || took > most {
					t.Errorf("%s, from %s to %s: %d bytes take %d, and it says %v, %v", name, from, to.name, len(message), took, refused, failed)
				}
			}
		}
		// A member may send so many entries, and nobody else, nor to another store.
		for _, from := range []string{"x", other.name} {
			message := repeated(log, &pb.Message{Type: pb.MsgPreVote.Enum(), From: new(uint64(999)), To: new(to.store), Term: new(uint64(1))}, entriesField, nil, mostCount)
			var refused, failed error
			if took := allocated(func() { refused, failed = saysBytes(to, from, message) }); refused == nil || failed != nil || took > most {
				t.Errorf("from a store that is none of %s to %s: %d bytes take %d, and it says %v, %v", from, to.name, len(message), took, refused, failed)
			}
		}
	}
	for name, message := range heavy(log, 1, 2) {
		if took := allocated(func() { _, _, _ = Ends(log, message) }); took > most {
			t.Errorf("%s: its ends take %d bytes", name, took)
		}
	}
	changes := Entry{Index: 1, Term: 1, Change: true, Data: bytes.Repeat([]byte{2<<3 | 2, 0}, 1_000_000)}
	if took := allocated(func() {
		if _, _, err := changes.Record(); !errors.Is(err, ErrMessage) {
			t.Errorf("an entry of a million changes: %v", err)
		}
	}); took > most {
		t.Errorf("an entry of a million changes takes %d bytes", took)
	}
}

// The outline says what the message says: the same stores, and no fewer parts.
func FuzzOutline(f *testing.F) {
	log := txlog.ID{1}
	for _, m := range []*pb.Message{
		{}, {From: new(uint64(1)), To: new(uint64(1) << 62), Entries: []*pb.Entry{{Index: new(uint64(3))}, {}}},
		{Snapshot: &pb.Snapshot{Metadata: &pb.SnapshotMetadata{ConfState: &pb.ConfState{Voters: []uint64{1, 2}}}}},
	} {
		f.Add(mustMarshal(f, m))
	}
	f.Add([]byte{3 << 3, 1, 3 << 3, 2, 3<<3 | 5, 1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, body []byte) {
		o, err := skim(log, seal(log, ofLibrary, body))
		m := &pb.Message{}
		if proto.Unmarshal(body, m) != nil {
			return
		}
		weight := len(m.GetEntries()) > mostCount || proto.Size(m.GetSnapshot()) > mostSnapshot || len(m.GetResponses()) > 0
		switch {
		case weight && err == nil:
			t.Errorf("%d entries and %d bytes pass", len(m.GetEntries()), proto.Size(m.GetSnapshot()))
		case !weight && errors.Is(err, errUnread):
			t.Errorf("the library reads it, and the outline does not: %v", err)
		case err == nil && (o.from != m.GetFrom() || o.to != m.GetTo()):
			t.Errorf("it is from %d to %d, and the outline says %d to %d", m.GetFrom(), m.GetTo(), o.from, o.to)
		}
		_, _ = o.open()
	})
}
