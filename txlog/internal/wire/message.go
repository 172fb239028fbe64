package wire

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
)

// Message is what one node sends to another.
type Message struct {
	Log  txlog.ID
	Body Body
}

// Body is one of the types below, or [follower.Pull], [follower.History], [follower.Want] or [follower.Piece].
type Body any

type (
	// Quorum is what one member's authority sends to another's.
	Quorum struct {
		Bytes []byte // at most MostQuorum
	}
	// GoalSent is a goal for the leader.
	GoalSent struct {
		Try uint64 // the answer repeats it: a node may send a goal several times
		txlog.Goal
	}
	// GoalDone is what became of a GoalSent, or why nobody can say.
	GoalDone struct {
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
)

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
func Fit(a follower.History) follower.History {
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
