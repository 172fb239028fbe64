package member

import "github.com/conchhq/conch/txlog"

// Action is one of the types below.
type Action interface{ action() }

type (
	// Campaign has the authority ask for a term.
	Campaign struct{}
	// Append has the authority make a record the next one.
	Append struct{ Record txlog.Record }
	// Confirm has the authority say up to where reads must have come.
	Confirm struct{ Read uint64 }
	// Applied says what became committed, and is in the base copy now. An answer that depends on it comes after it.
	Applied struct{ Records []txlog.Record }
	// Reply ends a ticket. Of a goal it has what became of it, of a read the position of base, of a
	// change of members the index of its entry.
	Reply struct {
		Ticket uint64
		txlog.Answer

		Err error // the rest is zero then
	}
	// Perform has an effect performed, through the act door. Done ends it; until then it is said again each time that the
	// door opens, and after Ended. The next one waits for it.
	Perform struct {
		Key    txlog.Key
		Effect txlog.Effect
	}
	// Say has this member sign a head, store it, and publish it unless one that covers as much was heard and is true here. The newest one counts.
	Say struct{ Head txlog.Head }
	// Keep has a snapshot stored. The scrub of its state has passed.
	Keep struct{ Photo txlog.Photo }
	// Rebuild has the copies made anew from what the disk has. Rebuilt answers.
	Rebuild struct {
		Why   error
		Again bool // that was done, and what the disk has does not fit: it must come from another node
	}
	// Quarantine says that this leader's memory is wrong, or seems so to the others: the authority must give the term up, and
	// this member campaigns no more before Rebuilt. It executes nothing more in this term.
	Quarantine struct {
		Term uint64
		Why  error
	}
)

func (Campaign) action()   {}
func (Append) action()     {}
func (Confirm) action()    {}
func (Applied) action()    {}
func (Reply) action()      {}
func (Perform) action()    {}
func (Say) action()        {}
func (Keep) action()       {}
func (Rebuild) action()    {}
func (Quarantine) action() {}
