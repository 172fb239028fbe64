package wire

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed means that bytes are no message, or that a message breaks the format.
	ErrMalformed = errors.New("the message is malformed")
	// ErrVersion means that a message has a version newer than [Version].
	ErrVersion = errors.New("the message has a newer version")
	// ErrKind means that a message of this version has a body that is not known here: its sender is newer.
	ErrKind = errors.New("the message has a body of an unknown kind")
	// ErrSize means that a message, or a part of it, is larger than a limit of this package allows.
	ErrSize = errors.New("the message is too large")
)

// fault returns one of the errors above with what is wrong. The text never has contents: they may be secret.
func fault(err error, text string, args ...any) error {
	return fmt.Errorf("wire: %w: %s", err, fmt.Sprintf(text, args...))
}
