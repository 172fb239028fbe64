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
	// ErrSize means that a message, or a part of it, is larger than a limit of this package allows.
	ErrSize = errors.New("the message is too large")
)

// Fault says how something breaks a rule.
func Fault(err error, text string, args ...any) error {
	return fmt.Errorf("txlog/wire: %w: %s", err, fmt.Sprintf(text, args...))
}
