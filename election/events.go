package election

import (
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Kind says what a [Fact] reports.
type Kind string

// The facts, in the order in which a scope goes through them.
const (
	Following Kind = core.Following // another process leads; Holder says who
	Stale     Kind = core.Stale     // the holder's last heartbeat is older than Config.StaleAfter; Took is its age
	Blocked   Kind = core.Blocked   // nobody leads, but acts of the previous term hold the fence; Blockers lists those that cannot be ended
	Evicted   Kind = core.Evicted   // the mint ended acts that held the fence for too long; Blockers lists them
	Unled     Kind = core.Unled     // nobody has led for Took, at least three leases; Err says why
	Acquired  Kind = core.Acquired  // the token is minted and the fenced door is open
	Entered   Kind = core.Entered   // the act door is open
	Late      Kind = core.Late      // no heartbeat succeeded in time, so the gate is shut for now
	Resumed   Kind = core.Resumed   // a heartbeat succeeded, so the gate is open again
	Failing   Kind = core.Failing   // the role failed and its scope is given up; other candidates go first for After
	Draining  Kind = core.Draining  // the scope is being given up: the gate is shut and acts are ending
	Lost      Kind = core.Lost      // the leadership was lost; Err says why
	Released  Kind = core.Released  // the scope was given up after all acts had ended
	Abandoned Kind = core.Abandoned // the scope was given up before all acts had ended
	Unsaid    Kind = core.Unsaid    // the scope was given up and the mint cannot be told yet; Err says why
	Barred    Kind = core.Barred    // the mint refuses this candidate; Err says why
	Retrying  Kind = core.Retrying  // a call to the mint failed with Err; it is tried again in After
	Cautioned Kind = core.Cautioned // the connection to the mint works but has a drawback; Err says which
)

// Fact is one event of an election.
type Fact struct {
	Kind     Kind
	Scope    string // empty if the fact concerns every scope
	Token    fence.Token
	Holder   string        // Following, Stale: the leader
	Hold     time.Duration // Acquired: how long a predecessor's gate may still be open
	Handoff  bool          // Acquired: the predecessor released the scope; Released: a successor need not wait
	Took     time.Duration // Acquired: since the first bid for this term; Stale: since the last heartbeat; Unled: since somebody led
	After    time.Duration // Retrying, Failing: the pause; Draining: how long acts may take to end
	Err      error
	Blockers []mint.Blocker
}

func newFact(f core.Fact) Fact {
	return Fact{
		Kind: Kind(f.Kind), Scope: f.Scope, Token: f.Token, Holder: f.Holder, Hold: f.Hold, Handoff: f.Handoff,
		Took: f.Took, After: f.After, Err: f.Err, Blockers: f.Blockers,
	}
}

// StateChanged says whether this process leads a scope, at each change (requirement S16). It
// may be outdated when it is read: ask the gate before acting.
type StateChanged struct {
	Scope    string
	IsLeader bool
	Epoch    int64
}

// Bidding reports one batch of bids.
type Bidding struct {
	Scopes  []string // the scopes that the mint tried
	Sent    fence.Instant
	Took    time.Duration
	Results []mint.Result // in the order of Scopes; empty after an error
	Err     error
}

// Heartbeat reports one renewal of every term of this process.
type Heartbeat struct {
	Scopes  []string
	Sent    fence.Instant // the gates' deadlines count from this instant
	Took    time.Duration
	Renewed []bool // whether each term was renewed, in the order of Scopes; empty after an error
	Err     error
}

// Events are functions that the elector calls; nil functions are skipped. Its loop calls Fact and
// StateChanged, in order. Other goroutines call Beat and Attempt, one at a time, each before the
// facts that follow from it. The functions must return quickly and must not call the elector.
type Events struct {
	Fact         func(Fact)         // gets every fact
	StateChanged func(StateChanged) // gets each start and end of a leadership (S16)
	Beat         func(Heartbeat)    // gets each heartbeat
	Attempt      func(Bidding)      // gets each batch of bids
}
