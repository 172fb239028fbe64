package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/follower"
)

// Message is what one node sends to another.
type Message struct {
	Log  txlog.ID // zero with Seek, and with Prepare and Prepared while there is no log yet
	Body Body
}

// Body is one of the types below, or [follower.Pull], [follower.Answer], [follower.Want] or [follower.Piece].
type Body any

type (
	// Quorum is what one member's authority sends to another's.
	Quorum struct {
		Bytes []byte // at most MostQuorum
	}
	// Submit is a goal for the leader.
	Submit struct {
		Try    uint64 // the answer repeats it: a node may send a goal several times
		GoalID string
		Goal   []byte
		Since  uint64 // an index that was committed before the id was made
	}
	// Answered is what became of a Submit, or why nobody can say.
	Answered struct {
		Try    uint64
		Answer txlog.Answer
		Err    error // then the answer is zero; see FailureError
	}
	// Confirm asks the leader up to where a read must have come.
	Confirm struct {
		Serial uint64 // the answer repeats it
	}
	// Confirmed answers Confirm: a copy at the index or above has all that was acknowledged when it was asked.
	Confirmed struct {
		Serial uint64
		Index  uint64
		Err    error // then the index is zero; see FailureError
	}
	// Admit asks the leader to make this node's store the one of the member that the node is.
	Admit struct {
		Store uint64
		Key   txlog.Hash // with which it signs
	}
	// Twin tells two processes of each other that have one node's name and key: one is heard as a member, and the other one has
	// asked to be admitted in its place, and is not.
	Twin struct {
		Store uint64 // of the member
		Asks  uint64 // the store of the other one
	}
	// Prepare asks a node to draw a store for a log that is to be made. If the message names a log, the node is asked for
	// the store that it has of that one: it is to become a member.
	Prepare struct {
		Serial    uint64
		Namespace string
		Machine   string
	}
	// Prepared answers Prepare with what the genesis has to say of the node.
	Prepared struct {
		Serial uint64
		Store  uint64
		Key    txlog.Hash
		Why    string // it is not possible; empty: it is
	}
	// Begin asks a node to keep a genesis and to begin.
	Begin struct {
		Serial  uint64
		Genesis txlog.Genesis
	}
	// Begun answers Begin. The message names the log that the node has, if that is another one: it stays with it.
	Begun struct {
		Serial uint64
		Why    string // it has not begun; empty: it has
	}
	// Seek asks a node how a log began, by its namespace.
	Seek struct {
		Serial    uint64
		Namespace string
	}
	// Known answers Seek. A node that does not know gives no answer.
	Known struct {
		Serial  uint64
		Genesis txlog.Genesis
	}
	// Appoint asks the leader to make these nodes the members, instead of those whom its asker has seen. Asked again, it changes nothing
	// more, and undoes nothing.
	Appoint struct {
		Serial uint64
		Names  []string
		Since  uint64 // an entry as of which the asker knows who the members are
	}
	// Appointed answers Appoint with the index of the entry that says so.
	Appointed struct {
		Serial uint64
		Index  uint64
		Err    error // then the index is zero; see FailureError
	}
)

// Founding reports whether a message is about how a log begins, or who its members are to be: Prepare, Prepared, Begin, Begun, Seek,
// Known, Appoint or Appointed. It reads no more of it than that, and reports false for what is no message.
func Founding(in []byte) (is bool) {
	err := fields(in, func(number protowire.Number, _ []byte) error {
		is = is || number >= firstFounding && number <= lastFounding
		return nil
	})
	return is && err == nil
}

// The fields of these messages.
const firstFounding, lastFounding = 13, 20

// FailureError is an error that another node has said. What it is by errors.Is is one of those that have a code: ErrNotLeader,
// ErrGoalID, ErrOld, ErrTooMany, ErrUnknown, ErrMalformed, ErrSize, ErrMembers, ErrAway, ErrChanging,
// ErrChanged and ErrBarred of package txlog. Any other one is said as ErrUnknown. One that names the leader is a txlog.NotLeaderError instead.
type FailureError struct {
	Kind error
	Text string
}

// Error returns what the other node has said.
func (f FailureError) Error() string { return f.Text }

// Unwrap returns the kind.
func (f FailureError) Unwrap() error { return f.Kind }

// codes are never used again for another error. A code that is not known is read as ErrUnknown, which is always true.
var codes = []error{
	1: txlog.ErrNotLeader, 2: txlog.ErrGoalID, 3: txlog.ErrOld, 4: txlog.ErrTooMany, 5: txlog.ErrUnknown, 6: txlog.ErrMalformed,
	7: txlog.ErrSize, 8: txlog.ErrMembers, 9: txlog.ErrAway, 10: txlog.ErrChanging, 11: txlog.ErrChanged, 12: txlog.ErrBarred,
}

const codeUnknown = 5

// Fit returns an answer that has as many of its bridges and records as one message takes: the asker asks for the rest.
func Fit(a follower.Answer) follower.Answer {
	room := MostMessage - 64<<10 // for heads and an offer
	for i := range a.Records {
		if room -= len(a.Records[i].Raw()) + overhead; room < 0 {
			a.Records = a.Records[:i]
			break
		}
	}
	for i := range a.Bridges {
		for _, r := range a.Bridges[i].Records {
			room -= len(r.Raw()) + overhead
		}
		if room -= headRoom; room < 0 {
			a.Bridges = a.Bridges[:i]
			break
		}
	}
	return a
}

const (
	overhead = 8   // of a field with bytes
	headRoom = 512 // of a head
)
