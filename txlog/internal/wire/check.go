package wire

import (
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/limits"
)

// check returns the first fault of a message, before it is encoded as after it was decoded.
func (m Message) check() error {
	var err error
	switch b := m.Body.(type) {
	case Quorum:
		err = Within(len(b.Bytes), MostQuorum, "bytes of a quorum's message")
	case GoalSent:
		err = b.Goal.Check()
	case GoalDone:
		err = b.check()
	case Confirmed:
		err = CheckFailure(b.Err)
	case follower.History:
		err = checkAnswer(b)
	case follower.Piece:
		err = Within(len(b.Bytes), follower.PieceSize, "bytes of a piece")
	}
	switch {
	case err != nil:
		return Named(err)
	case m.Log.IsZero():
		return Fault(ErrMalformed, "it names no log")
	}
	return nil
}

func (a GoalDone) check() error {
	if err := (txlog.Outcome{Result: a.Answer.Result, Fault: a.Answer.Fault}).Check(); err != nil {
		return err
	}
	return CheckFailure(a.Err)
}

// CheckFailure returns the fault of an error that is to be said, or was.
func CheckFailure(err error) error {
	if f := Failure(err); f != nil && (len(f.Leader) > limits.MostName || !utf8.ValidString(f.Leader)) {
		return Fault(ErrMalformed, "a leader's name of %d bytes", len(f.Leader))
	}
	return nil
}

func checkAnswer(a follower.History) error {
	if len(a.Records) > follower.MostRecords || len(a.Heads) > follower.MostHeads || len(a.Bridges) > follower.MostBridges {
		return Fault(ErrSize, "%d records, %d heads, %d bridges", len(a.Records), len(a.Heads), len(a.Bridges))
	}
	for _, b := range a.Bridges {
		if err := Within(len(b.Records), follower.MostBridge, "records of a bridge"); err != nil {
			return err
		}
	}
	if a.Offer != nil {
		return Within(len(a.Offer.Sums), follower.MostPieces, "pieces of a snapshot")
	}
	return nil
}

// Within returns an error if there are more than may be.
func Within(n, most int, what string) error {
	if n > most {
		return Fault(ErrSize, "%d %s, of %d at most", n, what, most)
	}
	return nil
}
