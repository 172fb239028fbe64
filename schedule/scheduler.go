package schedule

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/schedule/internal/core"
)

// Store keeps crons and their rows. Each call is one transaction, but of many moves each may be one of its own.
type Store interface {
	// Read reads crons that are not retired, with the database's clock.
	Read(context.Context, Read) (Loaded, error)
	// Write carries out each move whose cron stands where it says, and of which no time lies ahead of the database's clock, with the
	// jobs of its runs; and deletes rows, of times up to a cron's cursor alone. The error wraps [fence.ErrStale] if the token is over:
	// then nothing is written from then on.
	Write(context.Context, fence.Token, Write) (Written, error)
	// Declare replaces the crons of the file that counts with those of another one, unless that has a lower version. Of two files of one
	// version that of the node that has started later counts. The store says when that is.
	Declare(context.Context, File) error
}

// answers is how long the loop waits for a statement.
const answers = 10 * time.Second

// Scheduler runs crons while this process leads.
type Scheduler struct {
	cfg   Config
	store Store

	mu   sync.Mutex
	term *term // that leads now, or nil
}

// New returns a Scheduler that does nothing until [Scheduler.Lead] is called.
func New(cfg Config, store Store) (*Scheduler, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Scheduler{cfg: cfg, store: store}, nil
}

// Declare says which crons the file of this node has. Each node calls it when it starts, whether it leads or not.
func (s *Scheduler) Declare(ctx context.Context) error {
	return s.store.Declare(ctx, s.cfg.File())
}

// Changed says that somebody has written a revision of crons; without any, that somebody may have. It never blocks, and does nothing where this process does not lead.
func (s *Scheduler) Changed(crons ...int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.term != nil {
		s.term.inbox.Put(core.Changed{Crons: crons})
	}
}

// Lead runs the crons until ctx ends, and returns its cause. The gate is that of the leadership, whose fenced door is open. It ends earlier
// with an error that wraps [fence.ErrStale] if the token is over. Never call it twice at once.
func (s *Scheduler) Lead(ctx context.Context, gate *fence.Gate) error {
	token, err := gate.Require(fence.Fenced)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	t := &term{
		Scheduler: s, core: core.New(s.cfg.Keep), gate: gate, token: token, inbox: step.NewInbox[core.Input](core.Tick{}), end: end,
		troubles: newTroubles(token.Scope, s.cfg.Tell),
	}
	s.lead(t)
	defer s.lead(nil)
	t.work.Go(func() { t.trim(ctx) })
	err = step.Loop[core.Input]{
		From: t.inbox, Wait: t.wait,
		Tick: func() []core.Input { return []core.Input{core.Tick{}} },
		Feed: step.Each(ctx, func(in core.Input) error { t.step(ctx, in); return nil }),
	}.Run(ctx)
	end(err)
	t.work.Wait()
	return context.Cause(ctx)
}

func (s *Scheduler) lead(t *term) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.term = t
}

// term is one leadership.
type term struct {
	*Scheduler
	core  *core.Core
	gate  *fence.Gate
	token fence.Token
	inbox *step.Inbox[core.Input]
	end   context.CancelCauseFunc
	work  sync.WaitGroup
	*troubles
}

// wait is the time until the core has something to do.
func (t *term) wait() (time.Duration, bool) {
	due, is := t.core.Due()
	return due - time.Duration(t.cfg.Clock()), is
}

func (t *term) step(ctx context.Context, in core.Input) {
	for _, act := range t.core.Step(core.Now{Boot: time.Duration(t.cfg.Clock()), Wall: time.Now().UTC()}, in) {
		switch act := act.(type) {
		case core.Read:
			t.ask(ctx, readCrons, func(ctx context.Context) (core.Input, error) { return input(t.store.Read(ctx, act)) })
		case core.Write:
			t.ask(ctx, writeRuns, func(ctx context.Context) (core.Input, error) { return t.write(ctx, act) })
		case core.Tell:
			t.cfg.Tell(act.Fact)
		}
	}
}

// ask has the store do something, outside of the loop.
func (t *term) ask(ctx context.Context, what string, do func(context.Context) (core.Input, error)) {
	t.work.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, answers)
		defer cancel()
		answer, err := do(ctx)
		if t.note(what, err); err != nil {
			answer = core.Failed{Why: err}
		}
		if errors.Is(err, fence.ErrStale) {
			t.end(err)
		}
		t.inbox.Put(answer)
	})
}

// write writes with the token of this term. The gate is asked right before; what passes it late the fence refuses.
func (t *term) write(ctx context.Context, w core.Write) (out core.Input, err error) {
	err = t.gate.Do(ctx, fence.Fenced, 0, func(ctx context.Context, now fence.Token) error {
		if now.Term != t.token.Term {
			return fence.ErrStale
		}
		var failed error
		out, failed = input(t.store.Write(ctx, now, w))
		return failed
	})
	return out, err
}

func input[I core.Input](answer I, err error) (core.Input, error) { return answer, err }
