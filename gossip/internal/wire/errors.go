package wire

import (
	"errors"
	"fmt"
)

var (
	// ErrMalformed means that bytes are no parcel, or that a parcel breaks the format.
	ErrMalformed = errors.New("the parcel is malformed")
	// ErrVersion means that a parcel has a version newer than [Version].
	ErrVersion = errors.New("the parcel has a newer version")
	// ErrSize means that a parcel, or a part of it, is larger than a limit of this package allows.
	ErrSize = errors.New("the parcel is too large")
	// ErrAge means that a statement has an age below zero, or above MostAge.
	ErrAge = errors.New("a statement has an impossible age")
	// ErrReign means that a heartbeat has a reign above MostReign.
	ErrReign = errors.New("the reign is too high")
)

func fault(err error, text string, args ...any) error {
	return fmt.Errorf("gossip/wire: %w: %s", err, fmt.Sprintf(text, args...))
}
