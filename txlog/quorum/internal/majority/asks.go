package majority

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// Asks is the [authority.Authority] of a machine's loop: it collects what is asked of the authority, and the loop steps it. The
// zero value is ready. It is used by the loop's goroutine alone.
type Asks struct{ batch Batch }

var _ authority.Authority = (*Asks)(nil)

// Campaign asks for a term.
func (a *Asks) Campaign() { a.batch = append(a.batch, Campaign{}) }

// Append asks that a record be the next one.
func (a *Asks) Append(r txlog.Record) { a.batch = append(a.batch, Append{Record: r}) }

// Confirm asks up to where a read must have come.
func (a *Asks) Confirm(read uint64) { a.batch = append(a.batch, Confirm{Read: read}) }

// Take returns what was asked since it was called last; empty: nothing.
func (a *Asks) Take() Batch {
	b := a.batch
	a.batch = nil
	return b
}
