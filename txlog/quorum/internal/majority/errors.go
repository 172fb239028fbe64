package majority

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/txlog"
)

// Why a message is refused. What breaks a limit of the log's format has an error of package txlog.
var (
	// ErrStranger means that the sender is no member, as far as is known here. It may have become one: then the log says so.
	ErrStranger = errors.New("its sender is no member")
	// ErrOtherLog means that the message is of another log.
	ErrOtherLog = errors.New("it is of another log")
	// ErrOtherStore means that the message is from or for another store of the member: the one that it has had before.
	ErrOtherStore = errors.New("it is from or for another store")
	// ErrMessage means that the message is none that a member sends, or contradicts itself or what is stored here.
	ErrMessage = errors.New("no member sends such a message")
	// ErrForked means that what is committed here contradicts what the sender has: one of the two, or a member that elected the one that
	// leads, has lost what it had promised, or lies.
	ErrForked = errors.New("what is committed at one member contradicts what another one has")
	// ErrLost means that the leader counts on entries that this store does not have. Somebody has taken them away.
	ErrLost = errors.New("the leader counts on entries that are not here: this store has lost what it had promised")
)

var (
	// ErrStopped means that the library has met a state that it takes for impossible. The machine does nothing any more;
	// one that is made anew from the store may go on.
	ErrStopped = errors.New("the library has stopped")
	// ErrGivenUp means that the machine has given its term up and ended: it was told to, or what was appended here does not come next.
	ErrGivenUp = errors.New("the machine has given its term up")
)

// unread says why what is stored cannot be read. What a newer program has written is not damaged: a caller that sets a
// damaged store aside would forget its promises.
func unread(damaged, why error, format string, args ...any) error {
	if errors.Is(why, txlog.ErrVersion) {
		return fmt.Errorf(format+": %w", append(args, why)...)
	}
	return fmt.Errorf("%w: "+format+": %w", append(append([]any{damaged}, args...), why)...)
}

// fault says how something breaks a rule.
func fault(why error, format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{why}, args...)...)
}
