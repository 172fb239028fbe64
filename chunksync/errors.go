package chunksync

import (
	"errors"
	"fmt"

	"github.com/conchhq/conch/fence"
)

// Besides these errors, a write fails with a *[fence.ShutError] on a node that does not
// lead and with a *[StaleError] on a deposed leader.
var (
	// ErrNotFound says that the catalog has no file of that name.
	ErrNotFound = errors.New("no such file")
	// ErrTooLarge says that a file has more bytes than Config.MaxFile.
	ErrTooLarge = errors.New("the file is too large")
	// ErrFull says that the catalog would exceed 32 MiB: about 400 GB of files.
	ErrFull = fmt.Errorf("the catalog would exceed %d bytes: there is no room for another file", maxCatalog)
	// ErrCopies says that a write asks for a number of copies below 0 or above that of the peers.
	ErrCopies = errors.New("the number of copies is out of range")
	// ErrUnconfirmed says that the leader has stored the write, but too few followers have
	// confirmed it. It may or may not survive this leader. To write it again is harmless.
	ErrUnconfirmed = errors.New("stored by the leader, but not confirmed by enough followers: it may or may not survive")
	// ErrTakingOver says that this node leads, but too few peers have answered yet.
	ErrTakingOver = errors.New("taking over: too few followers have answered")
	// ErrDamaged says that files on the disk are missing or are not as they were written.
	ErrDamaged = errors.New("the disk does not hold what was written")
	// ErrInUse says that another process has the folder open.
	ErrInUse = errors.New("the folder is used by another process")
	// ErrClosed says that the store is closed.
	ErrClosed = errors.New("the store is closed")

	errNotOffered = errors.New("no offered catalog names this chunk")
	errGap        = errors.New("the change leads from a catalog that this node does not hold")
	errNotNeeded  = errors.New("the peer asked for a chunk of a file that was removed meanwhile")
	errRefused    = errors.New("the peer refuses the request")
	errMismatch   = errors.New("the content does not match the chunk's hash")
)

// NameError says why a text is not a valid name of a file.
type NameError struct{ Name, Why string }

func (e *NameError) Error() string { return fmt.Sprintf("the name %.80q %s", e.Name, e.Why) }

// FolderError says that a folder has an entry that no store makes. The folder is unchanged.
type FolderError struct{ Dir, Entry string }

func (e *FolderError) Error() string {
	return fmt.Sprintf("%s contains %q, which is not part of a store of files: name a folder that is empty or new, for this scope alone, or move that entry away", e.Dir, e.Entry)
}

// StaleError says that a node refused a leader because it has promised another one.
// errors.Is(err, fence.ErrStale) holds for it.
type StaleError struct {
	Got      Tenure // the refused leader
	Promised Tenure // the leader that the node follows; zero if unknown
	Holder   string // the ID of that leader; empty if unknown
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("stale leadership: %s is refused, since another leader, %q, has been promised", e.Got, e.Holder)
}

// Is reports whether target is [fence.ErrStale].
func (e *StaleError) Is(target error) bool { return target == fence.ErrStale }
