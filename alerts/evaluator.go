package alerts

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// Store keeps what fires and who was told. Each call is one transaction.
type Store interface {
	// Load reads all that a new leader needs, with the database's clock.
	Load(context.Context) (Loaded, error)
	// Look reads what is looked at with each evaluation.
	Look(context.Context) (Looked, error)
	// Record writes rows. The error wraps [fence.ErrStale] if the token is over: then nothing is written.
	Record(context.Context, fence.Token, Rows) error
}

// Conditions evaluates the conditions of all rules.
type Conditions interface {
	// Evaluate returns what each rule gives at an instant of the clock by which the leader counts. A rule that is left out changes nothing.
	Evaluate(ctx context.Context, now time.Time) ([]Result, error)
}

// Teller sends messages to receivers.
type Teller interface {
	// Tell sends one message, and returns when the receiver has answered or ctx ends. The error says why it was not taken, in words that hold no secret. An
	// answer that is not known is [Doubted].
	Tell(ctx context.Context, receiver string, m Message) (Answer, error)
}

// answers is how long the loop waits for a statement.
const answers = 10 * time.Second

// Evaluator decides what fires, and tells it, while this process leads.
type Evaluator struct {
	cfg        Config
	store      Store
	conditions Conditions
	teller     Teller

	mu   sync.Mutex
	term *term // that leads now, or nil
}

// New returns an Evaluator that does nothing until [Evaluator.Lead] is called.
func New(cfg Config, store Store, conditions Conditions, teller Teller) (*Evaluator, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Evaluator{cfg: cfg, store: store, conditions: conditions, teller: teller}, nil
}

// Look says that somebody has set or ended a silence: the rules are evaluated at once. It never blocks, and does nothing where this process does not lead.
func (e *Evaluator) Look() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.term != nil {
		e.term.inbox.Put(core.Looks{})
	}
}

// Lead evaluates and tells until ctx ends, and returns its cause. The gate is that of the leadership, whose act door is open: telling is an effect that
// nothing refuses. It ends earlier with an error that wraps [fence.ErrStale] if the token is over. Never call it twice at once.
func (e *Evaluator) Lead(ctx context.Context, gate *fence.Gate) error {
	token, err := gate.Require(fence.Fenced)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t := &term{
		Evaluator: e, core: core.New(e.cfg.core()), gate: gate, token: token, inbox: step.NewInbox[core.Input](core.Tick{}), troubles: newTroubles(e.cfg.Notice),
	}
	e.lead(t)
	defer e.lead(nil)
	err = step.Loop[core.Input]{
		From: t.inbox, Wait: t.wait,
		Tick: func() []core.Input { return []core.Input{core.Tick{}} },
		Feed: step.Each(ctx, func(in core.Input) error { return t.step(ctx, in) }),
	}.Run(ctx)
	end(err)
	t.work.Wait()
	return context.Cause(ctx)
}

func (e *Evaluator) lead(t *term) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
}

// term is one leadership.
type term struct {
	*Evaluator
	core  *core.Core
	gate  *fence.Gate
	token fence.Token
	inbox *step.Inbox[core.Input]
	work  sync.WaitGroup
	*troubles
}

func (t *term) boot() time.Duration { return time.Duration(t.cfg.Clock()) }

// wait is the time until the core has something to do.
func (t *term) wait() (time.Duration, bool) {
	due, is := t.core.Due()
	return due - t.boot(), is
}

// step feeds the core, and does what it asks for. What it sends is recorded before; if that fails, it hears so before anything else.
func (t *term) step(ctx context.Context, in core.Input) error {
	decided := t.boot()
	out := t.core.Step(decided, in)
	for err := t.record(ctx, out); err != nil; err = t.record(ctx, out) {
		if errors.Is(err, fence.ErrStale) || ctx.Err() != nil {
			return err
		}
		out = t.core.Step(t.boot(), core.Lost{})
	}
	for _, fact := range out.Facts {
		t.cfg.Notice(fact)
	}
	for i, m := range out.Sends {
		t.work.Go(func() { t.send(ctx, out.To[i], m, decided) })
	}
	if out.Load {
		t.ask(ctx, readRows, core.Lost{}, func(ctx context.Context) (core.Input, error) {
			loaded, err := t.store.Load(ctx)
			return loaded, err
		})
	}
	if at := out.Evaluate; !at.IsZero() {
		t.ask(ctx, evaluate, core.Unevaluated{}, func(ctx context.Context) (core.Input, error) { return t.evaluate(ctx, at) })
	}
	return nil
}

// record writes with the token of this term. The gate is asked right before; what passes it late the fence refuses.
func (t *term) record(ctx context.Context, out core.Out) error {
	if out.Record == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	err := t.gate.Do(ctx, fence.Fenced, 0, func(ctx context.Context, now fence.Token) error {
		if now.Term != t.token.Term {
			return fence.ErrStale
		}
		return t.store.Record(ctx, now, *out.Record)
	})
	t.note(writeRows, err)
	return err
}

// ask has something done outside of the loop.
func (t *term) ask(ctx context.Context, what string, failed core.Input, do func(context.Context) (core.Input, error)) {
	t.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, answers)
		defer cancel()
		answer, err := do(ctx)
		if t.note(what, err); err != nil {
			answer = failed
		}
		t.inbox.Put(answer)
	})
}

func (t *term) evaluate(ctx context.Context, at time.Time) (core.Input, error) {
	looked, err := t.store.Look(ctx)
	if err != nil {
		return nil, err
	}
	results, err := t.conditions.Evaluate(ctx, at)
	return core.Evaluated{At: at, Results: results, Looked: looked}, err
}

// send sends a message. It is an act: the gate lets it begin only if all of it fits before the deadline. What was decided before this process has stood
// still may be over: it is decided anew.
func (t *term) send(ctx context.Context, to string, m Message, decided time.Duration) {
	answer := Failed // what does not leave here has not arrived
	err := t.gate.Do(ctx, fence.Act, core.Timeout, func(ctx context.Context, now fence.Token) (err error) {
		if now.Term != t.token.Term {
			return fence.ErrStale
		}
		if t.boot()-decided > core.Timeout {
			return nil
		}
		answer, err = tell(ctx, t.teller, to, m)
		return err
	})
	t.note(tells+to, err)
	t.inbox.Put(core.Answered{Receiver: to, Answer: answer})
}

// tell sends a message within the time for it.
func tell(ctx context.Context, teller Teller, to string, m Message) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, core.Timeout)
	defer cancel()
	answer, err := teller.Tell(ctx, to, m)
	if answer < Taken || answer > Doubted {
		answer = Doubted
	}
	return answer, err
}
