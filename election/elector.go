package election

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
)

// Elector campaigns for a set of scopes over one mint and runs a role for each
// while it leads. Make one with [New], run it with [Elector.Run]; every other
// method may be called at any time from any goroutine.
type Elector struct {
	cfg      Config
	machine  *Machine
	inputs   chan Input
	ordered  chan struct{} // there are orders
	over     chan struct{} // closed when Run returns
	started  atomic.Bool
	snapshot atomic.Pointer[[]Status]

	mu       sync.RWMutex
	desks    map[string]*desk
	retiring int     // calls of Retire that wait to be told
	orders   []Input // roles that come, go or rest, for the loop to take

	// Owned by the loop's goroutine.
	session   Session
	cautioned string // the caution of the last session
	watches   map[int64]*watch
	waiting   map[string][]chan error // drains to be answered
	calls     sync.WaitGroup          // goroutines that end with the loop
	ctx       context.Context         // ends with the loop
	campaign  context.Context         // ends when asked to stop: no new session after that
}

// Status is one scope as this process sees it.
type Status struct {
	Scope   string
	Leading bool // a token is held and its gate was not shut; ask the gate before acting
	Token   fence.Token
	Entered bool   // the act door had opened in this term
	Holder  string // who leads, as last heard, when not leading

	Unled  fence.Instant // since when nobody leads, once that was told; 0: somebody does, or nobody can know
	Why    string        // what stands in the way then
	Unsaid bool          // this process gave the scope up, and the mint cannot be told yet
}

// New checks the configuration and returns an elector at rest.
func New(cfg Config) (*Elector, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	e := &Elector{
		cfg:     cfg,
		machine: NewMachine(cfg.settings()),
		desks:   map[string]*desk{},
		inputs:  make(chan Input, 256),
		ordered: make(chan struct{}, 1),
		over:    make(chan struct{}),
		watches: map[int64]*watch{},
		waiting: map[string][]chan error{},
	}
	for _, r := range cfg.Roles {
		e.desks[r.Scope] = newDesk(e, r)
	}
	e.publish()
	return e, nil
}

// linger is how long a process that gave something up keeps its connections: to end
// them costs the server several times what the successor's mint does, at the very
// moment at which everybody waits for that.
const linger = 50 * time.Millisecond

// settings is the machine's part of the configuration.
func (c Config) settings() Settings {
	s := Settings{
		Takeover: c.Takeover, Lease: MaxLease, Heartbeat: c.Heartbeat, CheckInterval: c.CheckInterval,
		BackoffMin: c.BackoffMin, BackoffMax: c.BackoffMax, RetryMax: c.RetryMax, StaleAfter: c.StaleAfter,
		LockTimeout: c.LockTimeout, DrainTimeout: c.DrainTimeout, RankDelay: 5 * time.Millisecond, Linger: linger, Seed: c.Seed,
	}
	if s.Seed == 0 {
		h := fnv.New64a()
		_, _ = h.Write([]byte(c.ID))
		s.Seed = h.Sum64()
	}
	for _, r := range c.Roles {
		s.Lease = min(s.Lease, r.Lease)
		s.Seats = append(s.Seats, c.seat(r))
	}
	if len(c.Roles) == 0 {
		s.Lease = c.Lease
	}
	s.YieldAfterStep = s.Lease
	return s
}

// seat is the machine's part of a role.
func (c Config) seat(r Role) SeatSettings {
	margin := c.margin(r.Lease)
	seat := SeatSettings{
		Scope: r.Scope, Lease: r.Lease, Margin: margin, Rank: len(r.Preferred),
		Late:  or(or(r.LateThreshold, c.LateThreshold), r.Lease-margin),
		Never: c.Follower || slices.Contains(r.Never, c.ID),
	}
	if i := slices.Index(r.Preferred, c.ID); i >= 0 {
		seat.Rank = i
	}
	return seat
}

// ID is the name under which this process campaigns.
func (e *Elector) ID() string { return e.cfg.ID }

// Gate returns the gate of a scope as code outside of the role sees it, nil if no role
// has it. An answer of its act door may be acted on for [fence.AnswerLife], and a handover
// waits until it has ended: see [fence.Gate.Outside]. A role asks its [Leadership]'s.
func (e *Elector) Gate(scope string) *fence.Gate {
	if d := e.desk(scope); d != nil {
		return d.outside
	}
	return nil
}

// Snapshot returns the state of every scope, in scope order.
func (e *Elector) Snapshot() []Status { return *e.snapshot.Load() }

// Status is the line of one scope in a [Elector.Snapshot], found without a walk
// through the others; false if no role has the scope.
func (e *Elector) Status(scope string) (Status, bool) {
	all := e.Snapshot()
	at, found := slices.BinarySearchFunc(all, scope, func(s Status, scope string) int { return strings.Compare(s.Scope, scope) })
	if !found {
		return Status{}, false
	}
	return all[at], true
}

// Drain gives a scope up: shut the gate, cancel the role, wait for its acts,
// release. It returns once another process may take over: nil if all acts had
// ended, ErrDrainTimeout if the time allowed was up first, ErrDeposed if a newer
// term was minted meanwhile, ErrUntold if the elector ended before the mint had
// heard of it. This process lets others bid first for one lease.
func (e *Elector) Drain(ctx context.Context, scope string) error {
	return e.giveUp(ctx, StepDown{Scope: scope, Why: ErrStepDown})
}

// Transfer is Drain in favour of one candidate: others hold back for a moment.
func (e *Elector) Transfer(ctx context.Context, scope, to string) error {
	if err := ValidID(to); err != nil {
		return err
	}
	return e.giveUp(ctx, StepDown{Scope: scope, Why: fmt.Errorf("%w in favour of %s", ErrStepDown, to), To: to})
}

// Warm runs the role's Warm, if it has one, on behalf of whoever is about to
// transfer the scope to this process.
func (e *Elector) Warm(ctx context.Context, scope string) error {
	d := e.desk(scope)
	if d == nil {
		return fmt.Errorf("election: %w: %q", ErrUnknownScope, scope)
	}
	if warm := d.latest().Warm; warm != nil {
		return warm(ctx)
	}
	return nil
}

// StepDown is Drain with everything said: the epoch that is meant (0: whichever is
// led), the cause that the role's context gets, the actor that the history shows,
// the successor, the time for acts to end (0: the configured one).
func (e *Elector) StepDown(ctx context.Context, s StepDown) error { return e.giveUp(ctx, s) }

func (e *Elector) giveUp(ctx context.Context, s StepDown) error {
	if e.desk(s.Scope) == nil {
		return fmt.Errorf("election: %w: %q", ErrUnknownScope, s.Scope)
	}
	s.Timeout = or(s.Timeout, e.cfg.DrainTimeout)
	answer := make(chan error, 1)
	if !e.post(stepDownCall{StepDown: s, answer: answer}) {
		return fmt.Errorf("election: %w: %q", ErrNotLeading, s.Scope)
	}
	select {
	case err := <-answer:
		return err
	case <-e.over:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-answer: // the last thing that was done
		return err
	default:
		return fmt.Errorf("election: %w: %q", ErrUntold, s.Scope)
	}
}

// stepDownCall carries the caller's channel past the machine, which needs none.
type stepDownCall struct {
	StepDown
	answer chan error
}

// post hands an input to the loop; false if it has ended.
func (e *Elector) post(in Input) bool {
	select {
	case <-e.over: // or there would still be room in the queue that nobody reads
		return false
	default:
	}
	select {
	case e.inputs <- in:
		return true
	case <-e.over:
		return false
	}
}

// publish makes the machine's state visible to Snapshot.
func (e *Elector) publish() {
	all := make([]Status, len(e.machine.seats))
	for i, s := range e.machine.seats {
		all[i] = Status{Scope: s.Scope, Leading: s.state == leading, Holder: s.holder, Unsaid: s.unsaid}
		if s.unledAt != 0 {
			all[i].Unled, all[i].Why = s.ledAt, s.unledWhy
		}
		if s.state == leading {
			all[i].Token, all[i].Entered, all[i].Holder = s.token, s.entered, s.token.Holder
		}
	}
	e.snapshot.Store(&all)
}
