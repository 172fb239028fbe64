package sender

import (
	"sync"

	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// happening is an event with what it brings; each event has some of it.
type happening struct {
	event event
	to    *delegation // of offered
	step  *assembly   // of asked
	ask   *grantAsk   // of askedGrant and grantStored
	item  int         // of the ask
	hash  ledger.Hash // of handed, the skipped ones, landed and judgedDone: the attempt
	block uint64      // of landed and the judged ones
	until uint64      // of handed: the last block of its grant
	fault string      // of the faulty ones
	by    []int       // of handed: the members that have endorsed the attempt
}

// cell is what an event does to an intent in one state: do is called, or nothing happens. A request gets an answer.
type cell struct {
	do      func(*Machine, *intent, *happening) wire.Why
	next    []State  // in which do may leave it
	ignored string   // why nothing happens
	refused wire.Why // what is answered
	named   int      // how often the table names the cell: once
}

// stateTable has a cell for every event in every state.
type stateTable [events][states]cell

// row is all cells of one event.
type row struct{ cells *[states]cell }

func (t *stateTable) on(e event) row { return row{&t[e]} }

func (r row) put(c cell, in []State) row {
	for _, s := range in {
		c.named = r.cells[s].named + 1
		r.cells[s] = c
	}
	return r
}

func (r row) do(f func(*Machine, *intent, *happening) wire.Why, next, in []State) row {
	return r.put(cell{do: f, next: next}, in)
}

// stay is do for what leaves an intent in its state.
func (r row) stay(f func(*Machine, *intent, *happening) wire.Why, in ...State) row {
	for _, s := range in {
		r.do(f, []State{s}, []State{s})
	}
	return r
}

func (r row) ignore(why string, in ...State) row { return r.put(cell{ignored: why}, in) }

func (r row) refuse(why wire.Why, in ...State) row { return r.put(cell{refused: why}, in) }

// to and in read better than a slice of states.
func to(s ...State) []State { return s }
func in(s ...State) []State { return s }

// Groups of states.
var (
	ungranted     = in(Waiting, Delegated, Accepted) // or with grants of before
	withGrant     = in(Granting, Granted, Noting, Dispatched)
	atCoordinator = in(Delegated, Accepted, Granting, Granted)
	onItsWay      = in(Waiting, Delegated, Accepted, Granting, Granted, Noting, Dispatched)
	decided       = in(Confirming, Reverting, Confirmed, Reverted)
	ended         = in(Included, Ending, Confirming, Reverting, Confirmed, Reverted)
)

const (
	nobodyHas   = "nobody has it yet"
	ledgerSays  = "a dispatched attempt ends by the ledger alone"
	overAlready = "the ledger has decided"
	givenUp     = "it is given up"
	not         = "it is in another state"
)

// shared is the table of all machines; nothing writes to it. It takes 30 kB, and not in a process without a contract.
var shared = sync.OnceValue(newTable)

// newTable returns the state table.
func newTable() *stateTable {
	t := &stateTable{}
	t.ofItsRow()
	t.ofItsCoordinator()
	t.ofRequests()
	t.ofDispatch()
	t.ofBlocks()
	t.ofJudgement()
	return t
}

func (t *stateTable) ofItsRow() {
	t.on(rowStored).do((*Machine).begun, to(Waiting, Reverting), in(Storing)).
		ignore("its row is stored once", append(in(Ending, Included), append(onItsWay, decided...)...)...)
	t.on(foundTwice).do((*Machine).drop, to(Reverted), in(Storing)).
		ignore("its own row is stored", append(in(Ending, Included), append(onItsWay, decided...)...)...)
	t.on(cancelled).do((*Machine).cancel, to(Ending, Reverting), ungranted).do((*Machine).cancel, to(Ending), withGrant).
		stay((*Machine).giveUpLater, Included).
		ignore("its user does not know its number yet", Storing).ignore(givenUp, Ending).ignore(overAlready, decided...)
	t.on(overdue).do((*Machine).miss, to(Ending, Reverting), ungranted).do((*Machine).miss, to(Ending), withGrant).
		stay((*Machine).giveUpLater, Included).
		ignore("it is looked at when the row is stored", Storing).ignore(givenUp, Ending).ignore(overAlready, decided...)
	t.on(resultStored).do((*Machine).finish, to(Confirmed), in(Confirming)).do((*Machine).finish, to(Reverted), in(Reverting)).
		ignore("it has no result", append(in(Storing, Included, Ending), onItsWay...)...).ignore("it was told", Confirmed, Reverted)
}

func (t *stateTable) ofItsCoordinator() {
	t.on(offered).do((*Machine).offered, to(Delegated), in(Waiting)).
		ignore(not, append(in(Storing, Delegated, Accepted, Granting, Granted, Noting, Dispatched), ended...)...)
	t.on(acknowledged).do((*Machine).acknowledged, to(Accepted), in(Delegated)).
		ignore(not, append(in(Storing, Waiting, Accepted, Granting, Granted, Noting, Dispatched), ended...)...)
	t.on(declined).do((*Machine).moved, to(Waiting), in(Delegated)).
		ignore(not, append(in(Storing, Waiting, Accepted, Granting, Granted, Noting, Dispatched), ended...)...)
	for _, e := range []event{returned, forgotten, lost, turned, returnedFaulty} {
		r := t.on(e).ignore(nobodyHas, Storing, Waiting).ignore(ledgerSays, Noting, Dispatched, Included).
			ignore(givenUp, Ending).ignore(overAlready, decided...)
		switch e {
		case returnedFaulty:
			r.do((*Machine).failed, to(Waiting, Ending, Reverting), in(Delegated, Accepted)).
				do((*Machine).failed, to(Waiting, Ending), in(Granting, Granted))
		case forgotten:
			r.do((*Machine).moved, to(Waiting), in(Accepted, Granting, Granted)).ignore("it has not said that it has it", Delegated)
		default:
			r.do((*Machine).moved, to(Waiting), atCoordinator)
		}
	}
}

func (t *stateTable) ofRequests() {
	t.on(asked).do((*Machine).assembles, to(Accepted, Ending, Reverting), in(Delegated, Accepted)).
		do((*Machine).assembles, to(Granted, Accepted, Ending), in(Granted)).
		refuse(wire.Moved, Storing, Waiting).refuse(wire.NotBefore, Granting, Noting, Dispatched).refuse(wire.Ended, ended...)
	t.on(askedGrant).do((*Machine).grants, to(Accepted, Granting), in(Accepted)).do((*Machine).grants, to(Granting, Granted), in(Granted)).
		stay((*Machine).grantsAgain, Noting, Dispatched).
		refuse(wire.Moved, Storing, Waiting).refuse(wire.Unknown, Delegated).refuse(wire.NotBefore, Granting).refuse(wire.Ended, ended...)
	t.on(askedElsewhere).refuse(wire.Moved, append(in(Storing), onItsWay...)...).refuse(wire.Ended, ended...)
	t.on(grantStored).do((*Machine).granted, to(Granting, Granted), in(Granting)).
		refuse(wire.Moved, Storing, Waiting, Delegated, Accepted, Granted, Noting, Dispatched).refuse(wire.Ended, ended...)
}

func (t *stateTable) ofDispatch() {
	t.on(handed).do((*Machine).handed, to(Noting), onItsWay).stay((*Machine).handedLate, Included).
		ignore(nobodyHas, Storing).ignore(givenUp, Ending).ignore(overAlready, decided...)
	t.on(handedStored).do((*Machine).handedStored, to(Dispatched), in(Noting)).
		ignore(not, append(in(Storing, Waiting, Delegated, Accepted, Granting, Granted, Dispatched), ended...)...)
	const another = "another attempt is on its way"
	for _, e := range []event{skippedMissing, skippedUnsigned} {
		t.on(e).do((*Machine).moved, to(Waiting), in(Granted, Noting, Dispatched)).
			stay((*Machine).released, ungranted...).
			ignore(nobodyHas, Storing).ignore(another, Granting, Included).ignore(givenUp, Ending).ignore(overAlready, decided...)
	}
	t.on(skippedFaulty).do((*Machine).failed, to(Waiting, Ending), in(Granted, Noting, Dispatched)).
		stay((*Machine).released, ungranted...).
		ignore(nobodyHas, Storing).ignore(another, Granting, Included).ignore(givenUp, Ending).ignore(overAlready, decided...)
	t.on(skippedStray).ignore("a stranger can make it", append(in(Storing), append(onItsWay, ended...)...)...)
	t.on(notSent).do((*Machine).moved, to(Waiting), in(Noting, Dispatched)).
		ignore(not, append(in(Storing, Waiting, Delegated, Accepted, Granting, Granted), ended...)...)
	t.on(expired).do((*Machine).moved, to(Waiting), in(Noting, Dispatched)).
		ignore("its coordinator asks for another grant", Granted).
		ignore(not, append(in(Storing, Waiting, Delegated, Accepted, Granting), ended...)...)
}

func (t *stateTable) ofBlocks() {
	t.on(landed).do((*Machine).included, to(Included), append(in(Included, Ending), onItsWay...)).
		ignore(nobodyHas, Storing).ignore(overAlready, decided...)
	t.on(superseded).do((*Machine).superseded, to(Ending, Reverting), ungranted).
		do((*Machine).superseded, to(Ending), append(in(Included), withGrant...)).
		ignore(nobodyHas, Storing).ignore(givenUp, Ending).ignore(overAlready, decided...)
	t.on(rewound).do((*Machine).takenBack, to(Dispatched, Waiting, Ending), in(Included)).
		ignore("no block had it", append(in(Storing, Ending), append(onItsWay, decided...)...)...)
	t.on(final).do((*Machine).confirmed, to(Confirming), in(Included)).
		ignore("no block has it", append(in(Storing, Ending), append(onItsWay, decided...)...)...)
}

func (t *stateTable) ofJudgement() {
	t.on(judgedDone).do((*Machine).confirmed, to(Confirming), append(in(Included, Ending), onItsWay...)).
		ignore(nobodyHas, Storing).ignore(overAlready, decided...)
	t.on(judgedSuperseded).do((*Machine).reverted, to(Reverting), append(in(Included, Ending), onItsWay...)).
		ignore(nobodyHas, Storing).ignore(overAlready, decided...)
	t.on(judgedDead).do((*Machine).reverted, to(Reverting), in(Ending)).
		ignore("it is not given up", append(in(Storing, Included), onItsWay...)...).ignore(overAlready, decided...)
	t.on(judgedAlive).ignore("it is asked again with the next final block", append(in(Storing), append(onItsWay, ended...)...)...)
}
