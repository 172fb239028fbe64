package election

import (
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// Kind says what a [Fact] reports.
type Kind string

// The facts, in the order in which a scope goes through them.
const (
	Following Kind = "following" // another process leads; Holder says who
	Stale     Kind = "stale"     // the holder's last heartbeat is older than Config.StaleAfter; Took is its age
	Blocked   Kind = "blocked"   // nobody leads, but acts of the previous term hold the fence; Blockers lists those that cannot be ended
	Evicted   Kind = "evicted"   // the mint ended acts that held the fence for too long; Blockers lists them
	Unled     Kind = "unled"     // nobody has led for Took, at least three leases; Err says why
	Acquired  Kind = "acquired"  // the token is minted and the fenced door is open
	Entered   Kind = "entered"   // the act door is open
	Late      Kind = "late"      // no heartbeat succeeded in time, so the gate is shut for now
	Resumed   Kind = "resumed"   // a heartbeat succeeded, so the gate is open again
	Failing   Kind = "failed"    // the role failed and its scope is given up; other candidates go first for After
	Draining  Kind = "draining"  // the scope is being given up: the gate is shut and acts are ending
	Lost      Kind = "lost"      // the leadership was lost; Err says why
	Released  Kind = "released"  // the scope was given up after all acts had ended
	Abandoned Kind = "abandoned" // the scope was given up before all acts had ended
	Unsaid    Kind = "unsaid"    // the scope was given up and the mint cannot be told yet; Err says why
	Barred    Kind = "barred"    // the mint refuses this candidate; Err says why
	Retrying  Kind = "retrying"  // a call to the mint failed with Err; it is tried again in After
	Cautioned Kind = "cautioned" // the connection to the mint works but has a drawback; Err says which
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

// IsTransition reports whether the fact begins or ends a leadership.
func (f Fact) IsTransition() bool {
	switch f.Kind {
	case Acquired, Entered, Lost, Released, Abandoned:
		return true
	default:
		return false
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
