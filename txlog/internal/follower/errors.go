package follower

import (
	"errors"
	"fmt"
)

// Why something is refused. What breaks a word of the log has an error of package txlog: a head that no member has signed
// txlog.ErrSignature or txlog.ErrStranger, a record or a head of another log txlog.ErrChain, a snapshot that
// restores to something else txlog.ErrState.
var (
	// ErrUnasked means that nobody has asked for it.
	ErrUnasked = errors.New("nobody has asked for it")
	// ErrAnswer means that an answer is not to what was asked: other indexes, gaps, too much.
	ErrAnswer = errors.New("the answer is not to what was asked")
	// ErrUncovered means that a record is not the one that a head covers.
	ErrUncovered = errors.New("no head covers the record")
	// ErrFlood means that the peer sends or asks too much.
	ErrFlood = errors.New("the peer asks or sends too much")
	// ErrRange means that what is asked for has its end before its begin.
	ErrRange = errors.New("it asks for a range that is none")
	// ErrPiece means that a piece of a snapshot is not the one that was offered, or that none was.
	ErrPiece = errors.New("the piece is not the one that was offered")
	// ErrOffer means that an offered snapshot is of no use: it is not newer than what is here, or has an impossible size.
	ErrOffer = errors.New("the snapshot is of no use")
	// ErrBridge means that a bridge does not prove a change of members.
	ErrBridge = errors.New("the bridge proves no change of members")
)

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
