package election

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/election/internal/core"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// Elector campaigns for scopes over one mint, and runs each scope's role while this process
// leads. [New] makes one, [Elector.Run] runs it. All other methods may be called at any time
// from any goroutine.
type Elector struct {
	cfg      Config
	set      core.Settings
	core     *core.Core
	inbox    *step.Inbox[core.Input]
	started  atomic.Bool
	snapshot atomic.Pointer[[]Status]

	mu      sync.RWMutex
	runners map[string]*runner
	waiting map[uint64]func(error) // the callers who wait for an answer, by ticket
	serial  uint64                 // of the last ticket

	// Owned by the loop's goroutine.
	session  mint.Session    // while it opens, that request's
	waits    map[uint64]wait // by serial
	calls    sync.WaitGroup  // goroutines that end with the loop
	ctx      context.Context // ends with the loop
	campaign context.Context // the context of Run: no session opens after it ends
	next     fence.Instant   // when the core wants a Tick; 0: never
}

// Status is the state of one scope as this process sees it.
type Status struct {
	Scope   string
	Leading bool // this process leads; its gate may be late, so ask the gate before acting
	Token   fence.Token
	Entered bool   // the act door has opened in this term
	Holder  string // the leader, as last heard if it is another process

	Unled  fence.Instant // since when nobody leads; 0 until that is reported
	Why    string        // why nobody leads
	Unsaid bool          // this process gave the scope up and cannot tell the mint yet
}

// New validates the configuration and returns an elector that does nothing before Run.
func New(cfg Config) (*Elector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	set := cfg.settings()
	e := &Elector{
		cfg:     cfg,
		set:     set,
		core:    core.New(set),
		runners: map[string]*runner{},
		inbox:   step.NewInbox[core.Input](),
		waits:   map[uint64]wait{},
		waiting: map[uint64]func(error){},
	}
	for _, r := range cfg.Roles {
		e.runners[r.Scope] = newRunner(e, r)
	}
	_ = e.publish([][]core.Status{e.core.Snapshot()})
	return e, nil
}

// ID returns the name under which this process campaigns.
func (e *Elector) ID() string { return e.cfg.ID }

// Gate returns the gate of a scope for code outside the role; nil if no role has the scope. An
// answer of its act door is valid for [fence.AnswerLife], and a handover waits until it has
// expired: see [fence.Gate.Outside]. Inside a role, use the gate of its [Leadership].
func (e *Elector) Gate(scope string) *fence.Gate {
	if r := e.runner(scope); r != nil {
		return r.outside
	}
	return nil
}

// Snapshot returns the state of every scope, sorted by scope. The caller must not modify it.
func (e *Elector) Snapshot() []Status { return *e.snapshot.Load() }

// Status returns the state of one scope; false if no role has the scope.
func (e *Elector) Status(scope string) (Status, bool) {
	all := e.Snapshot()
	at, found := slices.BinarySearchFunc(all, scope, func(s Status, scope string) int { return strings.Compare(s.Scope, scope) })
	if !found {
		return Status{}, false
	}
	return all[at], true
}

// Drain gives a scope up: it shuts the gate, cancels the role, waits for its acts and tells
// the mint. It returns when another process may take over: nil if all acts have ended,
// ErrDrainTimeout if they took too long, ErrDeposed if a newer term was minted meanwhile,
// ErrUntold if the mint could not be told. This process lets others bid first for one lease.
// If ctx ends first, Drain returns its cause, and the drain goes on.
func (e *Elector) Drain(ctx context.Context, scope string) error {
	return e.giveUp(ctx, StepDown{Scope: scope, Why: ErrStepDown})
}

// Transfer is [Elector.Drain] in favour of one candidate: the others hold back for a moment.
func (e *Elector) Transfer(ctx context.Context, scope, to string) error {
	if err := ValidID(to); err != nil {
		return err
	}
	return e.giveUp(ctx, StepDown{Scope: scope, Why: fmt.Errorf("%w in favour of %s", ErrStepDown, to), To: to})
}

// Warm calls the role's Warm function, if it has one. Call it before a transfer to this process.
func (e *Elector) Warm(ctx context.Context, scope string) error {
	r := e.runner(scope)
	if r == nil {
		return fmt.Errorf("election: %w: %q", ErrUnknownScope, scope)
	}
	if warm := r.latest().Warm; warm != nil {
		return warm(ctx)
	}
	return nil
}

// StepDown asks to give a scope up.
type StepDown struct {
	Scope   string
	Epoch   int64         // the only term to give up; 0: the present one
	Why     error         // the cause that the role's context gets
	How     mint.Ending   // mint.EndedByFailure if the role failed
	Actor   string        // the operator, for the history
	To      string        // the candidate that should lead next
	Timeout time.Duration // how long acts may take to end; default Config.DrainTimeout
}

// StepDown is [Elector.Drain] with all its options.
func (e *Elector) StepDown(ctx context.Context, s StepDown) error { return e.giveUp(ctx, s) }

func (e *Elector) giveUp(ctx context.Context, s StepDown) error {
	if e.runner(s.Scope) == nil {
		return fmt.Errorf("election: %w: %q", ErrUnknownScope, s.Scope)
	}
	s.Timeout = cmp.Or(s.Timeout, e.set.DrainTimeout)
	answer := make(chan error, 1)
	e.mu.Lock()
	ticket := e.newTicket(func(err error) { answer <- err })
	e.mu.Unlock()
	if !e.inbox.Put(core.Asked{StepDown: core.StepDown(s), Ticket: ticket}) {
		e.answerCaller(core.Answered{Ticket: ticket}) // nobody waits for it
		return fmt.Errorf("election: %w: %q", ErrNotLeading, s.Scope)
	}
	select {
	case err := <-answer:
		if errors.Is(err, errEnded) {
			return fmt.Errorf("election: %w: %q", ErrUntold, s.Scope)
		}
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
