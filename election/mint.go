package election

import (
	"context"
	"errors"
	"time"

	"github.com/conchhq/conch/fence"
)

// Mint issues tokens whose epoch only grows: two of one scope never share an
// epoch. It is the one party of an election that must never be wrong. The
// package election/pgmint has the one over Postgres, electiontest one in memory
// and the suite that both must pass.
type Mint interface {
	// Open opens the session through which this process campaigns. Everything
	// the session holds is lost when it ends, however it ends.
	Open(ctx context.Context, c Candidate) (Session, error)
	// Wait blocks until the process with that key is gone, for a few seconds at
	// most, and says whether it is. It holds nothing when it returns.
	Wait(ctx context.Context, process int64) (gone bool, err error)
	// Listen calls heard for each change of leadership until ctx ends, and with
	// the zero Change whenever some may have been missed.
	Listen(ctx context.Context, heard func(Change)) error
}

// Session is one process's standing with the mint. Only one call runs at a time.
//
// An error that wraps [ErrSessionLost] means that the session and all it held
// are gone. After any other error the session lives on and what the call would
// have done is unknown.
//
// A session may also have a method Caution() error: what whoever runs this should
// know although it works. It is logged, and told as a [Cautioned] fact.
type Session interface { //nolint:interfacebloat // one call a step of a tenure: take, keep, give back; every mint has all of them
	// Try bids for scopes; the results are in the order of the bids. There may be
	// fewer than bids, but one at least: the rest was not tried, bid for it again.
	Try(ctx context.Context, bids []Bid) ([]Result, error)
	// Beat renews terms and says of each, in order, what became of it: Renewed, Over or
	// Locked. It waits for nobody.
	Beat(ctx context.Context, pulses []Pulse) ([]Outcome, error)
	// Release gives scopes up: mark, unlock, notify. It waits for nobody, and says of each
	// farewell, in order, what became of it: Said, Over or Locked. Only the first two
	// unlock. Said again a farewell changes nothing.
	Release(ctx context.Context, farewells []Farewell) ([]Parting, error)
	// Enlist changes the scopes that the candidate is registered for. It waits for nobody;
	// with an error nothing has changed, or it is unknown whether it has. Said again it
	// changes nothing.
	Enlist(ctx context.Context, r Roll) error
	// Process is the key under which others can wait for this session's end.
	Process() int64
	// Close ends the session; what it held is free when Close returns, if the
	// mint could be reached.
	Close() error
}

// ErrSessionLost says that the session with the mint is over.
var ErrSessionLost = errors.New("the session with the mint is lost")

// Candidate is who campaigns and on which terms.
type Candidate struct {
	ID string // must not contain ':'
	// Lease is how long the mint keeps what the session holds without hearing of
	// it; it is the shortest lease of the candidate's scopes.
	Lease    time.Duration
	Takeover Takeover
	// LockTimeout is the longest that a call waits for what somebody else has locked;
	// 0 means DefaultLockTimeout of the Lease.
	LockTimeout time.Duration
	// Scopes are what it campaigns for and Longest the longest of their leases, for
	// the mint to know before it can forget them in a failover.
	Scopes  []string
	Longest time.Duration
}

// Roll is a change of the scopes that a candidate is registered for.
type Roll struct {
	Add []string // scopes that it bids for from now on
	// Withdraw are scopes that it bids for no longer. Nobody transfers them to it. Their terms
	// and locks are not touched, and the lease of such a term still counts after a failover.
	Withdraw []string
	Longest  time.Duration // of the leases of all its scopes; the mint keeps the longest it was told
}

// DefaultLockTimeout is a tenth of the session's lease, at least 50 ms: so short
// that the heartbeats of other scopes, on the same session, are not missed.
func DefaultLockTimeout(lease time.Duration) time.Duration { return max(lease/10, 50*time.Millisecond) }

// Bid asks for one scope.
type Bid struct {
	Scope string
	Lease time.Duration // of the term, should the bid win
	// Block is how long to wait for acts that still hold the fence of the
	// previous term. 0 only looks.
	Block time.Duration
	// Evict ends the transactions that have held that fence for longer than a lease.
	Evict bool
	// Explain asks what stands in the way, should the scope be free and not to be had. It
	// costs the mint more than a bid.
	Explain bool
}

// Outcome is what became of a bid, of a heartbeat or of a farewell.
type Outcome uint8

const (
	// Held: another process holds the scope.
	Held Outcome = iota
	// Won: the token is minted.
	Won
	// Busy: nobody else can win the scope now, but acts of the previous term
	// still hold its fence. Bid again.
	Busy
	// Yield: the scope is being handed to another candidate. Bid again later.
	Yield
	// Refused: this candidate must not lead this scope, Why says why.
	Refused
	// Full: the mint has no room for any bid at present, Why says why. Bid again later.
	Full
	// Locked: nobody leads the scope, and something that is no candidate has locked it.
	// Of a bid, if it asked: Why says what. Of a farewell: it is still to be said. Of a
	// heartbeat: the term was not renewed, and may be over.
	Locked
	// Said: the farewell is written down, now or before.
	Said
	// Over: the term of a farewell or of a heartbeat is not the current one any more.
	Over
	// Renewed: the term of a heartbeat is the current one.
	Renewed
)

// Result answers one bid.
type Result struct {
	Scope    string
	Outcome  Outcome
	Token    fence.Token   // Won
	Hold     time.Duration // Won: how long after the reply an earlier gate may still be open
	Handoff  bool          // Won: the predecessor had led until it released the scope
	Holder   string        // Held: who holds it
	Process  int64         // Held: its process key, 0 if unknown
	Term     fence.Term    // Held: the term in the row
	Age      time.Duration // Held: since its last heartbeat, by the mint's clock; never decides anything
	Blockers []Blocker     // what has held the fence for longer than a lease, if the bid was to evict
	Why      error         // Refused, Full, Locked; Busy, if the bid asked
}

// Blocker is something that held a fence for longer than a lease.
type Blocker struct {
	PID   int32 // of its backend; 0: a prepared transaction
	Query string
	Ended bool   // it was ended for that
	What  string // what it is and, where it could not be ended, why and what would end it
}

// Pulse renews one term.
type Pulse struct {
	Token fence.Token
	// Settle says that the term's act door is open and no earlier gate is, so that
	// a successor need wait for this term's own lease only.
	Settle bool
}

// Farewell gives one term up.
type Farewell struct {
	Token fence.Token
	// Released promises that this term's act door had opened, that no earlier gate is
	// open and that all its acts have ended, so that a successor need not wait. Never set it
	// otherwise.
	Released bool
	How      Ending // how the term ended, for the history
	Reason   string
	Actor    string // who asked for it, if somebody did
	To       string // who should be next, if anybody in particular
	Bare     bool   // leave Reason, Actor and To out, and the history alone: one of them may be what failed
}

// Ending says how a term ended where a farewell does not show it.
type Ending string

const (
	// EndedByRequest, or by the role's own wish: the history says released, drained or transferred.
	EndedByRequest Ending = ""
	// EndedByLoss: the leadership was over before the farewell, since the session was lost
	// or the term replaced.
	EndedByLoss Ending = "lost"
	// EndedByFailure: the role failed.
	EndedByFailure Ending = "failed"
)

// Parting says what became of a farewell.
type Parting struct {
	Outcome Outcome // Said, Over or Locked
	By      string  // Locked: what has locked it
}

// Change is a change of leadership as heard from the mint: a hint to look. The
// holder is empty when the scope was given up.
type Change struct {
	Scope  string
	Holder string
	Epoch  int64
}

// Takeover says what a successor waits for. All candidates of a scope must agree
// on it.
type Takeover string

const (
	// Strict opens the act door only when every predecessor's gate is known to
	// be shut. The default.
	Strict Takeover = "strict"
	// Fast opens both doors at once: after a crash of the network, not of the
	// process, two act doors may be open for up to one lease. What it tells the mint
	// waits for the hold all the same, so that a scope may change to Strict.
	Fast Takeover = "fast"
	// Keep is strict without a lease on the mint's side: a holder that is stuck
	// keeps its scope for as long as its connection stands.
	Keep Takeover = "keep"
)
