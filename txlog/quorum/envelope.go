package quorum

import (
	"google.golang.org/protobuf/proto"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
)

// What two members say to each other: the log, what kind of message it is, and the message.
const (
	ofLibrary byte = 1 // a message of the library
	ofRefusal byte = 2 // a member does not store what the leader sends
)

// envelope is a message between two members. One of its two contents is there.
type envelope struct {
	library *pb.Message
	refusal *refusal
}

type refusal struct {
	from, to    uint64 // stores
	term, index uint64 // of the leader's, and of the first record that is not stored
}

func seal(log txlog.ID, kind byte, body []byte) []byte {
	return append(sealing(log, kind, len(body)), body...)
}

// sealing returns what comes before a body, with room for it.
func sealing(log txlog.ID, kind byte, room int) []byte {
	return append(append(make([]byte, 0, 2+len(log)+room), version, kind), log[:]...)
}

func (r *refusal) encode() []byte { return numbers(nil, r.from, r.to, r.term, r.index) }

// open reads a message. The error is ErrMessage, ErrOtherLog, or txlog.ErrVersion.
func open(log txlog.ID, b []byte) (envelope, error) {
	head := 2 + len(log)
	switch {
	case len(b) > mostMessage:
		return envelope{}, fault(txlog.ErrSize, "a message of %d bytes, of %d at most", len(b), mostMessage)
	case len(b) < head || b[0] == 0:
		return envelope{}, fault(ErrMessage, "it cannot be read")
	case b[0] > version:
		return envelope{}, fault(txlog.ErrVersion, "a message of format %d", b[0])
	case txlog.ID(b[2:head]) != log:
		return envelope{}, ErrOtherLog
	}
	switch b[1] {
	case ofLibrary:
		m := &pb.Message{}
		if err := proto.Unmarshal(b[head:], m); err != nil {
			return envelope{}, fault(ErrMessage, "it cannot be read")
		}
		return envelope{library: m}, nil
	case ofRefusal:
		r := reader{b: b[head:]}
		of := &refusal{from: r.number(), to: r.number(), term: r.number(), index: r.number()}
		if r.end() != nil {
			return envelope{}, fault(ErrMessage, "it cannot be read")
		}
		return envelope{refusal: of}, nil
	}
	return envelope{}, fault(ErrMessage, "kind %d", b[1])
}

// Ends returns between which stores a message of a log is. It is false if the message cannot be read.
func Ends(log txlog.ID, message []byte) (from, to uint64, is bool) {
	e, err := open(log, message)
	switch {
	case err != nil:
		return 0, 0, false
	case e.refusal != nil:
		return e.refusal.from, e.refusal.to, true
	}
	return e.library.GetFrom(), e.library.GetTo(), true
}
