package follower

import (
	"time"

	"github.com/conchhq/conch/txlog"
)

// Input is what the machine is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that time has passed.
	Tick struct{}
	// Peers says which nodes can be asked now. The machine asks nobody else, but for one that told it of a head.
	Peers struct{ Names []string }
	// Heard is a head, and the peer that has brought it.
	Heard struct {
		Head txlog.Head
		Via  string
	}
	// Signed is a head of what is applied, which this node has just signed itself.
	Signed struct{ Head txlog.Head }
	// Asked is a peer's Pull.
	Asked struct {
		From string
		Pull Pull
	}
	// HistoryCame is a peer's History.
	HistoryCame struct {
		From    string
		History History
	}
	// Wanted is a peer's Want.
	Wanted struct {
		From string
		Want Want
	}
	// Received is a piece of a snapshot.
	Received struct {
		From  string
		Piece Piece
	}
	// Faulty says that a peer has sent what a decoder refuses.
	Faulty struct {
		From string
		Why  error
	}
	// Applied says which records a member has applied as they were committed. Only a machine that does not follow is told.
	Applied struct{ Records []txlog.Record }
	// Follow has the machine apply records itself from now on, to this copy: a follower's at its start, one that was made anew after
	// Spoiled, or that of a member which is too far behind.
	Follow struct{ Base *txlog.Copy }
	// Yield has the machine apply nothing any more: a member does. The copy is the member's from now on.
	Yield struct{}
	// Behind says that a member's authority has heard of records up to an index, from a peer. It proves nothing: they are
	// pulled, and a head has to cover them.
	Behind struct {
		Index uint64
		From  string
	}
	// News says that a user waits for a goal whose result should have come: three peers are asked at once (B9).
	News struct{}
	// Confirmed is what Confirm asked for: an index that is committed, at or above all that was when it was said.
	Confirmed struct {
		Since time.Duration // when it was said
		Index uint64
	}
	// Kept says that a snapshot is in the store.
	Kept struct{ Offer Offer }
	// Dropped says that the store has dropped the records below an index, and with it the snapshots before.
	Dropped struct{ First uint64 }
)

func (Tick) input()        {}
func (Peers) input()       {}
func (Heard) input()       {}
func (Signed) input()      {}
func (Asked) input()       {}
func (HistoryCame) input() {}
func (Wanted) input()      {}
func (Received) input()    {}
func (Faulty) input()      {}
func (Applied) input()     {}
func (Follow) input()      {}
func (Yield) input()       {}
func (Behind) input()      {}
func (News) input()        {}
func (Confirmed) input()   {}
func (Kept) input()        {}
func (Dropped) input()     {}
