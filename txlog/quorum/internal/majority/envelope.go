package majority

import (
	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// What two members say to each other: the log, what kind of message it is, and the message.
const (
	ofLibrary byte = 1 // a message of the library
	ofRefusal byte = 2 // a member does not store what the leader sends
	ofFork    byte = 3 // nor can it ever: the leader has other entries than those that are committed here
)

// envelope is a message between two members. One of its two contents is there.
type envelope struct {
	library *pb.Message
	refusal *refusal
}

type refusal struct {
	from, to    uint64 // stores
	term, index uint64 // of the leader's, and of the first record that is not stored; of a fork the newest one that is committed here
	fork        bool
}

func seal(log txlog.ID, kind byte, body []byte) []byte {
	return append(sealing(log, kind, len(body)), body...)
}

// sealing returns what comes before a body, with room for it.
func sealing(log txlog.ID, kind byte, room int) []byte {
	return append(append(make([]byte, 0, 2+len(log)+room), version, kind), log[:]...)
}

func (r *refusal) encode() []byte { return numbers(nil, r.from, r.to, r.term, r.index) }

// open decodes a message of which the outline is read. The error is ErrMessage.
func (o *outline) open() (envelope, error) {
	if o.kind == ofLibrary {
		m := &pb.Message{}
		if err := proto.Unmarshal(o.body, m); err != nil {
			return envelope{}, errUnread
		}
		return envelope{library: m}, nil
	}
	r := reader{b: o.body}
	of := &refusal{from: r.number(), to: r.number(), term: r.number(), index: r.number(), fork: o.kind == ofFork}
	if r.end() != nil {
		return envelope{}, errUnread
	}
	return envelope{refusal: of}, nil
}
