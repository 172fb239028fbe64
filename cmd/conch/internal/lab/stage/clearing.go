package stage

import (
	"errors"
	"fmt"
	"slices"
)

// Clearing has what remains to be done after an experiment. The zero value has nothing.
type Clearing struct{ undo []func() error }

// Afterwards has something done in the end, before all that was said until now.
func (c *Clearing) Afterwards(do func() error) { c.undo = append(c.undo, do) }

// Clear does it. A second call does nothing.
func (c *Clearing) Clear() error {
	var faults []error
	for _, do := range slices.Backward(c.undo) {
		faults = append(faults, do())
	}
	c.undo = nil
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("clearing up: %w", err)
	}
	return nil
}
