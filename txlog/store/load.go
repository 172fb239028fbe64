package store

import (
	"errors"
	"slices"

	"github.com/conchhq/conch/txlog"
)

// reading is how many bytes of records are read at once.
const reading = 1 << 20

// Load makes the copy that a store has: the newest snapshot that restores, and the records after it. The error is one of the
// store, or ErrUnfit if no snapshot with its records comes out as the log says, or txlog.ErrVersion if one is of a newer program.
func Load(s Store, makeState func() txlog.State) (*txlog.Copy, error) {
	view := s.View()
	var faults []error
	for _, kept := range slices.Backward(view.Kept) {
		c, err := restore(s, kept, makeState)
		if err == nil {
			err = catchUp(s, c)
		}
		if err == nil {
			return c, nil
		}
		if broken(err) {
			return nil, err
		}
		faults = append(faults, err)
	}
	if view.Floor.Index == 0 && s.Genesis().Parent == (txlog.Position{}) {
		c := txlog.NewCopy(s.Genesis(), makeState)
		err := catchUp(s, c)
		if err == nil {
			return c, nil
		}
		if broken(err) {
			return nil, err
		}
		faults = append(faults, err)
	}
	why := errors.Join(faults...)
	if errors.Is(why, txlog.ErrVersion) {
		return nil, why
	}
	return nil, fault(ErrUnfit, "%w", why)
}

// broken tells the errors of the store itself from those of what is in it.
func broken(err error) bool {
	return errors.Is(err, ErrSync) || errors.Is(err, ErrDamaged) || errors.Is(err, ErrClosed)
}

// Read returns the bytes of a snapshot that a view of a store has. The error is ErrGone if it was dropped since.
func (k Kept) Read(s Store) ([]byte, error) {
	whole := make([]byte, 0, k.Size)
	for len(whole) < k.Size {
		piece, err := s.Piece(k.At.Index, len(whole), k.Size-len(whole))
		if err != nil {
			return nil, err
		}
		whole = append(whole, piece...)
	}
	return whole, nil
}

func restore(s Store, k Kept, makeState func() txlog.State) (*txlog.Copy, error) {
	whole, err := k.Read(s)
	if err != nil {
		return nil, err
	}
	c, err := txlog.Restore(whole, makeState)
	if err != nil {
		return nil, err
	}
	if c.Position() != k.At {
		return nil, fault(txlog.ErrChain, "the snapshot at %d is of entry %d", k.At.Index, c.Position().Index)
	}
	return c, nil
}

// catchUp applies the records after a copy. It ends at the last one of the view that the copy began with, or later.
func catchUp(s Store, c *txlog.Copy) error {
	for {
		records, err := s.Records(c.Position().Index+1, reading)
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			if err := c.Apply(r); err != nil {
				return err
			}
		}
	}
}
