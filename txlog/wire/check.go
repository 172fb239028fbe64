package wire

import (
	"unicode/utf8"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/follower"
)

// check returns the first fault of a message, before it is encoded as after it was decoded.
func (m Message) check() error {
	none, free := false, false // whether there is no log, or there may be none
	var err error
	switch b := m.Body.(type) {
	case Quorum:
		err = within(len(b.Bytes), MostQuorum, "bytes of a quorum's message")
	case Submit:
		err = txlog.CheckGoal(b.GoalID, b.Goal)
	case Answered:
		err = b.check()
	case Confirmed:
		err = checkErr(b.Err)
	case follower.Answer:
		err = checkAnswer(b)
	case follower.Piece:
		err = within(len(b.Bytes), follower.PieceSize, "bytes of a piece")
	case Prepare:
		free = true
		err = checkNames(b.Namespace, b.Machine)
	case Prepared:
		free = true
	case Begin:
		err = checkGenesis(b.Genesis, m.Log)
	case Seek:
		none = true
		err = checkNames(b.Namespace)
	case Known:
		err = checkGenesis(b.Genesis, m.Log)
	case Appoint:
		if err = within(len(b.Names), txlog.MostMembers, "members"); err == nil {
			err = checkNames(b.Names...)
		}
	case Appointed:
		err = checkErr(b.Err)
	}
	switch {
	case err != nil:
		return named(err)
	case !free && none != m.Log.IsZero():
		return fault(ErrMalformed, "it names no log, or one that is not made yet")
	}
	return nil
}

func (a Answered) check() error {
	if err := (txlog.Outcome{Result: a.Answer.Result, Fault: a.Answer.Fault}).Check(); err != nil {
		return err
	}
	return checkErr(a.Err)
}

func checkGenesis(g txlog.Genesis, log txlog.ID) error {
	err := g.Check()
	if err == nil && g.ID() != log {
		err = fault(ErrMalformed, "its genesis is of another log")
	}
	return err
}

func checkErr(err error) error {
	if f := failure(err); f != nil && (len(f.Leader) > txlog.MostName || !utf8.ValidString(f.Leader)) {
		return fault(ErrMalformed, "a leader's name of %d bytes", len(f.Leader))
	}
	return nil
}

func checkAnswer(a follower.Answer) error {
	if len(a.Records) > follower.MostRecords || len(a.Heads) > follower.MostHeads || len(a.Bridges) > follower.MostBridges {
		return fault(ErrSize, "%d records, %d heads, %d bridges", len(a.Records), len(a.Heads), len(a.Bridges))
	}
	for _, b := range a.Bridges {
		if err := within(len(b.Records), follower.MostBridge, "records of a bridge"); err != nil {
			return err
		}
	}
	if a.Offer != nil {
		return within(len(a.Offer.Sums), follower.MostPieces, "pieces of a snapshot")
	}
	return nil
}

func checkNames(names ...string) error {
	for _, name := range names {
		if name == "" || len(name) > txlog.MostName || !utf8.ValidString(name) {
			return fault(ErrMalformed, "a name is a text of 1 to %d bytes", txlog.MostName)
		}
	}
	return nil
}

func within(n, most int, what string) error {
	if n > most {
		return fault(ErrSize, "%d %s, of %d at most", n, what, most)
	}
	return nil
}
