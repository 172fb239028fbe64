package sender

// State is where an intent is on its way.
type State uint8

// The states.
const (
	Storing    State = iota // its row is not committed yet
	Waiting                 // no coordinator has it
	Delegated               // it was sent to one, which has not answered yet
	Accepted                // its coordinator has it
	Granting                // its grant's row is not committed yet
	Granted                 // its coordinator has the grant, and it may land
	Noting                  // it was dispatched, and the row that says so is not committed yet
	Dispatched              // its coordinator has handed it to the chain
	Included                // a block of the canonical chain has it
	Ending                  // given up: it is Reverted when the ledger has killed its grants
	Confirming              // it is done and final; the row that says so is not committed yet
	Reverting               // it can no longer land; the row that says so is not committed yet
	Confirmed               // its user was told that it is done
	Reverted                // its user was told that it is not, and never will be; or its key had a row before
	states
)

var stateNames = [states]string{
	"storing", "waiting", "delegated", "accepted", "granting", "granted", "noting", "dispatched", "included", "ending",
	"confirming", "reverting", "confirmed", "reverted",
}

func (s State) String() string { return stateNames[s] }

// event is what can happen to an intent.
type event uint8

const (
	rowStored        event = iota // its row is committed
	foundTwice                    // its key had a row already
	offered                       // it was put into a Delegate
	acknowledged                  // the coordinator has accepted it
	declined                      // the coordinator has not accepted it, or not in time
	asked                         // its coordinator asks for an attempt
	askedGrant                    // its coordinator asks for the grant
	askedElsewhere                // another node, or one with an earlier delegation, asks for either
	grantStored                   // the grant's row is committed
	handed                        // a node says that it has dispatched an attempt that was granted
	handedStored                  // the row that says so is committed
	returned                      // its coordinator gives it back
	returnedFaulty                // its coordinator gives it back: others refuse it
	notSent                       // the node that has dispatched it says that this will never land: its submitter has given it up
	forgotten                     // its coordinator's list has it no more
	lost                          // its coordinator is silent, or has another incarnation
	turned                        // the range has turned to another node, and it has had its time
	landed                        // a block has it, with its payload
	superseded                    // a block has its number, with another payload or cancelled
	skippedMissing                // a block has skipped its attempt, since a state is not there
	skippedFaulty                 // a block has skipped its attempt for its form or its owner
	skippedUnsigned               // a block has skipped it for its endorsements, which its coordinator has put there
	skippedStray                  // a block has skipped something that a stranger can make
	rewound                       // its block is no longer in the canonical chain
	expired                       // the head is past its grant's last block
	final                         // its block is final
	judgedDone                    // a final block has it, with its payload
	judgedSuperseded              // a final block has its number, with another payload or cancelled
	judgedDead                    // in a final block every grant of it is dead
	judgedAlive                   // in a final block it may still land
	cancelled                     // its user gives it up
	overdue                       // its deadline is final
	resultStored                  // the row that says how it ended is committed
	events
)

var eventNames = [events]string{
	"row stored", "key found twice", "offered", "acknowledged", "declined", "asked for an attempt", "asked for the grant",
	"asked by another", "grant stored", "dispatched", "dispatch stored", "returned", "returned as faulty", "given up", "forgotten",
	"coordinator lost", "range turned", "landed", "superseded", "skipped: missing", "skipped: faulty",
	"skipped: not endorsed", "skipped: stray", "rewound", "grant expired", "final", "judged done", "judged superseded", "judged dead", "judged alive", "cancelled",
	"deadline passed", "result stored",
}

func (e event) String() string { return eventNames[e] }
