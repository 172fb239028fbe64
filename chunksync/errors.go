package chunksync

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/fence"
)

// A write on a node that does not lead is refused with a *[fence.ShutError]; errors.Is
// finds [fence.ErrShut] in it. One of a deposed leader is a *[StaleError].
var (
	// ErrNotFound: the catalog has no file of that name.
	ErrNotFound = errors.New("no such file")
	// ErrTooLarge: a file has more bytes than Config.MaxFile.
	ErrTooLarge = errors.New("the file is too large")
	// ErrFull: the catalog would be larger than MaxCatalog.
	ErrFull = fmt.Errorf("the catalog would have more than %d bytes: there is no room for another file", MaxCatalog)
	// ErrCopies: a write asks for more copies than there are followers, or fewer than none.
	ErrCopies = errors.New("so many copies cannot be had")
	// ErrUnconfirmed: the write is stored here, and not yet on as many followers as it
	// has to be. Nobody knows whether it survives this leader; to ask again is harmless.
	ErrUnconfirmed = errors.New("stored by the leader, and not confirmed by enough followers: it may or may not survive")
	// ErrTakingOver: this node leads and has not yet heard from enough followers what
	// its predecessor had them confirm.
	ErrTakingOver = errors.New("taking over: not enough followers have been heard")
	// ErrDamaged: what is on the disk is not what was written.
	ErrDamaged = errors.New("the disk does not hold what was written")
	// ErrInUse: another process has the folder.
	ErrInUse = errors.New("the folder is used by another process")
	// ErrClosed: the store is closed, or failed in a way after which nobody knows what
	// is on the disk until it is opened again.
	ErrClosed = errors.New("the store is closed")

	errNotOffered = errors.New("no catalog that was offered names this chunk")
	errNotThis    = errors.New("the bytes do not have this name")
)

// NameError says why a name is none.
type NameError struct{ Name, Why string }

func (e *NameError) Error() string { return fmt.Sprintf("the name %.80q %s", e.Name, e.Why) }

// FolderError says that a folder has something that no store has made. It is left as
// it is.
type FolderError struct{ Dir, Entry string }

func (e *FolderError) Error() string {
	return fmt.Sprintf("%s has %q in it, which is no part of a store of files: name a folder that is empty or not there, for one scope alone, or move that away", e.Dir, e.Entry)
}

// StaleError is how a follower refuses a leader: it has promised to hear a later one.
// errors.Is(err, fence.ErrStale) holds for it.
type StaleError struct {
	Got      Tenure // who asked
	Promised Tenure // whom the node hears; zero if it did not say
	Holder   string // under which name, for messages
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("stale leadership: %s asked, and a later one, of %q, has been promised to be heard", e.Got, e.Holder)
}

// Is makes every StaleError a [fence.ErrStale].
func (e *StaleError) Is(target error) bool { return target == fence.ErrStale }
