package sender

import (
	"time"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// intent is an open intent in memory.
type intent struct {
	IntentRow

	hash   ledger.Hash // of the payload
	order  uint64      // of submission, over all starts
	loaded bool        // accepted before this start: grants of it may be unknown
	state  State

	with       *peer         // its coordinator; nil if it has none
	under      ledger.Hash   // the delegation by which that has it
	delegation *delegation   // the same, until it is dispatched
	prev, next *intent       // in the delegation
	since      time.Duration // when it was accepted
	waits      moment        // from when on a coordinator has left it alone that could go on
	waitsFor   *peer         // that coordinator

	attempt *GrantRow     // the last that this start assembled for its delegation: it has no grant yet
	asking  *grantAsk     // of the grant that is being stored
	grant   *given        // the last one given
	given   []*given      // every grant whose row was written
	young   time.Duration // until when the last grant keeps others waiting

	expected   *peer       // whose digest has it
	active     bool        // that one has to be heard, since it has not dispatched it
	dispatched ledger.Hash // the attempt whose dispatch is noted
	until      uint64      // the last block of that attempt's grant
	due        uint64      // the block after which that is looked at
	block      uint64      // that has it
	landed     ledger.Hash // the attempt that the block has

	sharing ledger.Hash // the attempt for which Share was asked
	shared  ledger.Hash // the attempt whose contents are with another member, or were offered for long enough
	held    *happening  // what it is told then: it is done

	failures int
	refusers []*peer // that have said that the members refuse it, and were believed
	giveUp   string  // why it is to be Reverted
	annulled bool    // a cancellation was asked for
	asked    bool    // it waits to be judged
	poor     bool    // by the ledger's own states it cannot be carried out for now
	queued   bool    // it is among those that wait for a coordinator
	result   ledger.Result
	why      string // for the user: what it waits for
}

// given is a grant whose row was written. The store has its contents.
type given struct {
	GrantRow

	over bool // the ledger skipped it, or is past it: a word that it was dispatched comes too late
}

// giveRow notes a grant whose row is written, or was.
func (it *intent) giveRow(row GrantRow) *given {
	row.Whole = wire.Whole{}
	g := &given{GrantRow: row}
	it.given = append(it.given, g)
	return g
}

// name returns the intent as the ledger names it.
func (it *intent) name(owner ledger.Account) ledger.Intent {
	return ledger.Intent{Owner: owner, Sequence: it.Sequence}
}

// untilOf returns the last block of the grants of an attempt that a node has, and false if it has none that matters. An
// empty node is any.
func (it *intent) untilOf(assembled ledger.Hash, to ledger.Account) (until uint64, is bool) {
	for _, g := range it.given {
		if g.Assembled == assembled && !g.over && (to == "" || g.To == to) {
			until, is = max(until, g.ValidUntil), true
		}
	}
	return until, is
}

// delegation is what one coordinator was given for one range.
type delegation struct {
	id     ledger.Hash
	to     *peer
	ranged ranking.Range
	avoid  []ledger.Account
	// first and last are its intents that are not dispatched. Each was added once, in the order of submission (I4).
	first, last *intent
	count       int
	reached     uint64 // the order of the last intent that was offered, plus one
	closed      bool   // nothing is added any more

	open    *offer        // the Delegate that is not answered
	behind  time.Duration // when the coordinator first said that it does not take the range, or is busy
	rest    time.Duration // the last pause for that
	againAt time.Duration // when to offer again; 0: at once
	moveAt  time.Duration // when its intents move, since the range turned; 0: it did not
}

// offer is a Delegate on its way.
type offer struct {
	number  uint64
	intents []*intent
	sent    time.Duration
	before  uint64 // what reached was
}

// add puts an intent at the end.
func (d *delegation) add(it *intent) {
	it.delegation, it.prev, it.next = d, d.last, nil
	if d.last != nil {
		d.last.next = it
	} else {
		d.first = it
	}
	d.last = it
	d.count++
}

// remove takes an intent out.
func (d *delegation) remove(it *intent) {
	if it.prev != nil {
		it.prev.next = it.next
	} else {
		d.first = it.next
	}
	if it.next != nil {
		it.next.prev = it.prev
	} else {
		d.last = it.prev
	}
	it.delegation, it.prev, it.next = nil, nil, nil
	d.count--
}

// all returns its intents. They may be moved while the list is gone through.
func (d *delegation) all() []*intent {
	list := make([]*intent, 0, d.count)
	for it := d.first; it != nil; it = it.next {
		list = append(list, it)
	}
	return list
}

// peer is a member of the committee, as the owner of intents sees it.
type peer struct {
	account     ledger.Account
	incarnation wire.Incarnation // the last one heard; zero if none was
	former      wire.Incarnation // the one before
	heard       time.Duration    // when the last message came
	failures    int              // in a row
	until       time.Duration    // until when it is left out

	digest wire.Digest // of the intents that it should have
	active int         // of them, those that are not dispatched: it has to be heard while there are any

	spared moment        // from when on what it does not do is held against it
	landed moment        // when something last landed by it
	idle   time.Duration // until when it is left out, as nothing lands by it
	idles  int           // how often it was, in a row
	late   bool          // it was behind, and has its time anew when it has caught up
	caught time.Duration // before then it does not count that it is behind: it has caught up lately

	list     uint64        // the number of the AskList that is not answered, or 0
	listSent time.Duration // when the last AskList was sent
	listWait time.Duration // from then to the next

	context *context
	asked   wire.RequestID // the last Assemble
	answer  wire.Body      // to it
}

// context is what a coordinator has in flight.
type context struct {
	incarnation wire.Incarnation
	version     uint64
	size        int // bytes in which it came
	view        *book.Overlay
}

// overs notes that an attempt's grants do not matter for what comes next, and reports whether that is new. Only the
// ledger kills them.
func (it *intent) overs(assembled ledger.Hash) (is bool) {
	for _, g := range it.given {
		if g.Assembled == assembled && !g.over {
			g.over, is = true, true
		}
	}
	return is
}
