package wire

import (
	"encoding/binary"
)

// Heartbeat is the body of a statement by which a subject says that it is there, and whether it leads.
type Heartbeat struct {
	Reign     uint64 // in which the subject leads, or led last; 0: none
	Top       uint64 // the highest reign that the subject has heard of, so that a newcomer does not take one again
	Seniority uint64 // the larger the more senior
	Leads     bool
	Stands    bool   // it may be the next
	Wide      bool   // it is for the crowd, not for electors alone
	Host      string // where the subject says that it runs; at most MostName bytes
}

const (
	heartbeatKind = 'h'
	voteKind      = 'v'

	flagLeads, flagStands, flagWide = 1, 2, 4

	heartbeatHead = 2 + 24
	voteHead      = 1 + 32 + 12
)

// Body returns the bytes of the heartbeat.
func (h Heartbeat) Body() []byte {
	b := make([]byte, 2, heartbeatHead+len(h.Host))
	b[0] = heartbeatKind
	for _, f := range []struct {
		is   bool
		flag byte
	}{{h.Leads, flagLeads}, {h.Stands, flagStands}, {h.Wide, flagWide}} {
		if f.is {
			b[1] |= f.flag
		}
	}
	b = binary.BigEndian.AppendUint64(b, h.Reign)
	b = binary.BigEndian.AppendUint64(b, h.Top)
	b = binary.BigEndian.AppendUint64(b, h.Seniority)
	return append(b, h.Host...)
}

// ReadHeartbeat returns the heartbeat that the bytes of a body are. The error is ErrMalformed, ErrSize or ErrReign.
func ReadHeartbeat(b []byte) (h Heartbeat, err error) {
	switch {
	case len(b) < heartbeatHead || b[0] != heartbeatKind || b[1] > flagLeads|flagStands|flagWide:
		return h, fault(ErrMalformed, "%d bytes are no heartbeat", len(b))
	case len(b) > heartbeatHead+MostName:
		return h, fault(ErrSize, "a host of %d bytes", len(b)-heartbeatHead)
	}
	h.Leads, h.Stands, h.Wide = b[1]&flagLeads > 0, b[1]&flagStands > 0, b[1]&flagWide > 0
	h.Reign, h.Top, h.Seniority = binary.BigEndian.Uint64(b[2:]), binary.BigEndian.Uint64(b[10:]), binary.BigEndian.Uint64(b[18:])
	h.Host = string(b[heartbeatHead:])
	if max(h.Reign, h.Top) > MostReign {
		return Heartbeat{}, fault(ErrReign, "%d", max(h.Reign, h.Top))
	}
	return h, nil
}

// Vote is the body of a statement of policy paper: the leader that a node has chosen, and how old the news of that one is.
type Vote struct {
	Leader   Subject // zero: nobody
	Sequence uint64  // the newest vote of the leader itself that the voter knows of
	Age      uint32  // of that vote, in rounds
}

// Body returns the bytes of the vote.
func (v Vote) Body() []byte {
	b := append(make([]byte, 0, voteHead), voteKind)
	b = append(b, v.Leader[:]...)
	b = binary.BigEndian.AppendUint64(b, v.Sequence)
	return binary.BigEndian.AppendUint32(b, v.Age)
}

// ReadVote returns the vote that the bytes of a body are. The error is ErrMalformed or ErrAge.
func ReadVote(b []byte) (v Vote, err error) {
	if len(b) != voteHead || b[0] != voteKind {
		return v, fault(ErrMalformed, "%d bytes are no vote", len(b))
	}
	copy(v.Leader[:], b[1:])
	v.Sequence, v.Age = binary.BigEndian.Uint64(b[33:]), binary.BigEndian.Uint32(b[41:])
	if v.Age > MostAge {
		return Vote{}, fault(ErrAge, "%d", v.Age)
	}
	return v, nil
}
