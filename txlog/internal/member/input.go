package member

import (
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// Input is what the machine is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that time has passed. It comes about once a round.
	Tick struct {
		At int64 // milliseconds since 1970: it is written into entries, for people, and decides nothing (S12)
	}
	// Heard is a fact that the authority tells. Facts come in order. Refused with this member's own name says that Look
	// has refused what a leader sent.
	Heard struct{ Fact authority.Fact }
	// Execute asks for a goal to be executed. It is answered once, by a Reply with its ticket; what is committed is
	// answered by any member, the rest by the leader. A goal waits while nobody is known to lead.
	Execute struct {
		Ticket uint64 // names the asker; of those that wait each has another one, reads and changes too
		txlog.Goal
	}
	// Read asks how far a copy has to come so that it has everything that was acknowledged before. Any member answers, once its own has.
	Read struct{ Ticket uint64 }
	// Change asks for another set of members, sorted by name. The leader takes one change at a time. It is refused with
	// txlog.ErrChanged if the members have changed since they were looked at, unless they are the ones that it asks for.
	Change struct {
		Ticket  uint64
		Members []txlog.Member
		Since   uint64 // an entry as of which the asker has seen who the members are
	}
	// Gone says that an asker waits no longer. What it asked for may happen all the same.
	Gone struct{ Ticket uint64 }
	// Done says that an effect was performed.
	Done struct{ Key txlog.Key }
	// Ended says that an effect is performed no more, and may not have been.
	Ended struct{ Key txlog.Key }
	// Door says whether this node may act outside now: its act door.
	Door struct{ Open bool }
	// Suggested says whom gossip suggests as the leader. It is a hint.
	Suggested struct{ Name string }
	// Rebuilt brings what the disk has, after Rebuild, or after records or a snapshot came from others: a copy of what is
	// committed and the records after it. All that Stored has told until now is in it. The machine owns the copy from now
	// on.
	Rebuilt struct {
		Base *txlog.Copy
		Tail []txlog.Record
	}
)

func (Tick) input()      {}
func (Heard) input()     {}
func (Execute) input()   {}
func (Read) input()      {}
func (Change) input()    {}
func (Gone) input()      {}
func (Done) input()      {}
func (Ended) input()     {}
func (Door) input()      {}
func (Suggested) input() {}
func (Rebuilt) input()   {}
