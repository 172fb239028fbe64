package mint

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
)

// Mint issues tokens. The epochs of a scope only grow, and no two tokens of a scope share one;
// every guarantee of an election rests on that.
type Mint interface {
	// Open opens the session through which this process campaigns. However the session ends,
	// everything it holds is lost.
	Open(ctx context.Context, c Candidate) (Session, error)
	// Wait blocks until the process with that key has ended, for a few seconds at most, and
	// reports whether it has. It holds no lock when it returns.
	Wait(ctx context.Context, process int64) (gone bool, err error)
	// Listen calls heard for each change of leadership until ctx ends, and with the zero Change
	// when some changes may have been missed.
	Listen(ctx context.Context, heard func(Change)) error
}

// Session is a candidate's connection to the mint. Only one call runs at a time.
//
// After an error that wraps [ErrSessionLost], the session and everything it held are gone. After
// any other error the session lives on, and it is unknown whether the call took effect.
//
// A session may also have a method Caution() error, which returns a warning for the operator of
// a session that works. The elector logs it and reports it as a fact.
type Session interface { //nolint:interfacebloat // one call a step of a tenure: take, keep, give back; every mint has all of them
	// Try bids for scopes and returns the results in the order of the bids. It may return fewer,
	// but at least one: the other bids were not tried, so bid again.
	Try(ctx context.Context, bids []Bid) ([]Result, error)
	// Beat renews terms. It answers Renewed, Over or Locked, in their order, and waits for no lock.
	Beat(ctx context.Context, pulses []Pulse) ([]Outcome, error)
	// Release marks scopes as given up, unlocks them and notifies. It answers for each farewell,
	// in order, Said, Over or Locked; a Locked scope stays locked. It waits for no lock, and a
	// repeated farewell changes nothing.
	Release(ctx context.Context, farewells []Farewell) ([]Parting, error)
	// Enlist changes the scopes for which the candidate is registered. It waits for no lock, and
	// a repeated call changes nothing.
	Enlist(ctx context.Context, r Roll) error
	// Process returns the process key, by which others can wait for the end of this session.
	Process() int64
	// Close ends the session. If the mint can be reached, everything the session held is free
	// when Close returns.
	Close() error
}

// What a mint's errors wrap if the elector must know.
var (
	// ErrSessionLost means that the session with the mint has ended.
	ErrSessionLost = errors.New("the session with the mint is lost")
	// ErrBarred means that the mint refuses this candidate until its configuration changes.
	ErrBarred = errors.New("the mint refuses this candidate")
)

// Candidate describes a process that campaigns.
type Candidate struct {
	ID string // must not contain ':'
	// Lease is how long the mint keeps a silent session and what it holds. It is the shortest
	// lease of the candidate's scopes.
	Lease    time.Duration
	Takeover Takeover
	// LockTimeout is the longest that a call waits for a lock; 0 means DefaultLockTimeout of Lease.
	LockTimeout time.Duration
	// Scopes are the scopes of the campaign, and Longest is the longest of their leases. After a
	// failover that forgets a term, Longest limits how long the term's gate may still be open.
	Scopes  []string
	Longest time.Duration
}

// Roll changes the scopes for which a candidate is registered.
type Roll struct {
	Add []string // scopes for which it bids from now on
	// Withdraw lists scopes for which it no longer bids, and which are no longer transferred to
	// it. Their terms and locks stay, and their leases still count after a failover.
	Withdraw []string
	Longest  time.Duration // the longest lease of all its scopes; the mint keeps the longest it was told
}

// DefaultLockTimeout returns a tenth of the session's lease, but at least 50 ms. It is so short
// that a bid which waits for a lock does not make the heartbeats of the session late.
func DefaultLockTimeout(lease time.Duration) time.Duration { return max(lease/10, 50*time.Millisecond) }

// Bid asks for one scope.
type Bid struct {
	Scope string
	Lease time.Duration // of the term, if the bid wins
	// Block is how long to wait for acts that hold the fence of the previous term; 0: not at all.
	Block time.Duration
	// Evict ends transactions that have held that fence for longer than a lease.
	Evict bool
	// Explain asks for the obstacle if nobody leads the scope and the bid does not win. It costs
	// the mint more than the bid.
	Explain bool
}

// Outcome is the mint's answer to a bid, a heartbeat or a farewell.
type Outcome uint8

const (
	// Held means that another process leads the scope, or is about to.
	Held Outcome = iota
	// Won means that the token is minted.
	Won
	// Busy means that nobody leads, but acts of the previous term hold the fence. Bid again.
	Busy
	// Yield means that the scope is being transferred to another candidate. Bid again later.
	Yield
	// Refused means that this candidate must not lead the scope; Why says why.
	Refused
	// Full means that the mint has no room for any bid now; Why says why. It answers the first bid of
	// a batch, and the others are not tried. Bid again later.
	Full
	// Locked means that something other than a candidate has locked the scope. A bid with Explain
	// gets it if nobody leads; Why says what has the lock. A farewell must be said again. The term
	// of a heartbeat was not renewed, and may be over.
	Locked
	// Said means that the farewell is recorded, now or before.
	Said
	// Over means that the term of a farewell or heartbeat is no longer the current one.
	Over
	// Renewed means that the heartbeat has renewed its term.
	Renewed
)

// Result is the answer to one bid.
type Result struct {
	Scope    string
	Outcome  Outcome
	Token    fence.Token   // Won
	Hold     time.Duration // Won: how long after the reply a predecessor's gate may still be open
	Handoff  bool          // Won: the predecessor led until it released the scope
	Holder   string        // Held: the holder's ID
	Process  int64         // Held: the holder's process key; 0 if nobody leads yet
	Term     fence.Term    // Held: the latest term of the scope
	Age      time.Duration // Held: since the holder's last heartbeat, by the mint's clock; decides nothing
	Blockers []Blocker     // what has held the fence for longer than a lease, if the bid set Evict
	Why      error         // Refused, Full, Locked; Busy if the bid set Explain
}

// Blocker is a transaction or session that has held a fence for longer than a lease.
type Blocker struct {
	PID   int32 // the backend's process number; 0: a prepared transaction
	Query string
	Ended bool   // the mint ended it
	What  string // a description; if it could not be ended, also why, and what would end it
}

// Pulse renews one term.
type Pulse struct {
	Token fence.Token
	// Settle says that the act door has opened and the hold is over, so that a successor need
	// only wait for this term's own lease.
	Settle bool
}

// Farewell gives one term up.
type Farewell struct {
	Token fence.Token
	// Released promises that the term's act door has opened, that every predecessor's gate is
	// shut and that all acts have ended, so that a successor need not wait.
	Released bool
	How      Ending // how the term ended, for the history
	Reason   string
	Actor    string // the operator who asked for it, if any
	To       string // the candidate that should lead next, if any
	Bare     bool   // write no Reason, Actor, To or history, since one of these may be what failed
}

// Ending says how a term ended, where the rest of the farewell does not show it.
type Ending string

const (
	// EndedByRequest is an orderly end: the history says released, drained or transferred.
	EndedByRequest Ending = ""
	// EndedByLoss means that the session was lost or the term replaced before the farewell.
	EndedByLoss Ending = "lost"
	// EndedByFailure means that the role failed.
	EndedByFailure Ending = "failed"
)

// Parting is the answer to a farewell.
type Parting struct {
	Outcome Outcome // Said, Over or Locked
	By      string  // Locked: what has the lock
}

// Change is a change of leadership that the mint announces. It is only a hint to look. Holder
// is empty if the scope was given up.
type Change struct {
	Scope  string
	Holder string
	Epoch  int64
}

// Takeover says what a successor waits for. All candidates of a scope must have the same.
type Takeover string

const (
	// Strict, the default, opens the act door when every predecessor's gate is known to be shut.
	Strict Takeover = "strict"
	// Fast opens both doors at once: if the network failed and not the process, two act doors may
	// be open for up to one lease. A term is settled or released only after its hold all the
	// same, so that a scope may change to Strict.
	Fast Takeover = "fast"
	// Keep is Strict without a lease on the mint's side: a stuck holder keeps its scope as long
	// as its connection lasts.
	Keep Takeover = "keep"
)
