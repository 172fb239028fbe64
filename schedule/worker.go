package schedule

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// Jobs is where workers take jobs, and end them.
type Jobs interface {
	// Take takes jobs of some queues, as [Take] asks for, in one transaction, which is fenced by the token of the post. What it returns is committed. The error
	// wraps [fence.ErrStale] if the token is over: then nothing is taken.
	Take(ctx context.Context, post fence.Token, queues []string, t Take) (Taken, error)
	// Look notes how far attempts are, and lists all that is taken under a post.
	Look(ctx context.Context, post string, progress map[Key]string) ([]Held, error)
	// Tell ends attempts. One that is over stays as it is.
	Tell(ctx context.Context, ends []End) (Told, error)
}

// Worker takes jobs, and has their handlers run, while this process leads a post: a scope of which each worker has its own.
type Worker struct {
	cfg  WorkerConfig
	jobs Jobs

	mu    sync.Mutex
	posts map[*post]bool // that this process leads now
}

// NewWorker returns a Worker that does nothing until [Worker.Run] is called.
func NewWorker(cfg WorkerConfig, jobs Jobs) (*Worker, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Worker{cfg: cfg, jobs: jobs, posts: map[*post]bool{}}, nil
}

// Woken says that a queue may have jobs that are due from an instant on, or from any if that is zero; without a queue, that words of it may have been lost. It never
// blocks, and nothing depends on it.
func (w *Worker) Woken(queue string, since time.Time) {
	if queue != "" && !slices.Contains(w.cfg.Queues, queue) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.posts {
		p.inbox.Put(worker.Woken{Since: since})
	}
}

// Run works under one post until ctx ends, and returns its cause when all handlers have ended. The gate is that of the post's leadership, whose fenced door is
// open: at once the jobs of a worker that led it before are given back whose handlers are fenced, and such jobs are taken; when the act door opens, the
// others. When ctx ends handlers may go on for a while, but never beyond the last deadline of the gate. Run ends by itself when that has
// passed: with [fence.ErrLate]; resign then. A process that leads several posts calls it for each; each has its own slots.
func (w *Worker) Run(ctx context.Context, gate *fence.Gate) error {
	token, err := gate.Require(fence.Fenced)
	if err != nil {
		return err
	}
	under, end := context.WithCancelCause(context.WithoutCancel(ctx))
	defer end(nil)
	p := &post{
		Worker: w, gate: gate, token: token, ctx: under, handlers: map[worker.Key]*Task{},
		machine: worker.New(worker.Settings{Epoch: token.Epoch, Slots: w.cfg.Slots, Kinds: w.cfg.kinds(), Drain: w.cfg.Drain}),
		inbox:   step.NewInbox[worker.Input](), troubles: newTroubles(token.Scope, w.cfg.Tell),
	}
	if w.cfg.Hooks != nil {
		p.clients = w.cfg.Hooks.clients(p)
	}
	p.extend()
	w.mu.Lock()
	w.posts[p] = true
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		delete(w.posts, p)
		w.mu.Unlock()
	}()
	unhook := context.AfterFunc(ctx, func() { p.inbox.Put(worker.Drain{}) })
	defer unhook()
	watched, unwatch := context.WithCancel(ctx)
	p.work.Go(func() { p.watch(watched) })
	err = step.Loop[worker.Input]{
		From: p.inbox, Wait: p.wait,
		Tick: func() []worker.Input { return []worker.Input{worker.Tick{}} },
		Feed: step.Each(under, p.step),
	}.Run(under)
	unwatch()
	end(err)
	p.work.Wait()
	for _, c := range p.clients {
		c.CloseIdleConnections()
	}
	switch {
	case p.stale:
		return fence.ErrStale
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fence.ErrLate
}

// errOver ends the loop.
var errOver = errors.New("the worker has ended")

// post is a post of a worker in one epoch.
type post struct {
	*Worker
	gate     *fence.Gate
	token    fence.Token
	ctx      context.Context // ends after the last handler
	machine  *worker.Machine
	inbox    *step.Inbox[worker.Input]
	handlers map[worker.Key]*Task     // that run; those of the loop alone
	clients  map[bool]*http.Transport // that post, by whether a job is fenced
	stale    bool                     // the post is another's
	work     sync.WaitGroup
	*troubles
}

// wait is the time until the machine has something to do.
func (p *post) wait() (time.Duration, bool) {
	due, is := p.machine.Due()
	return due - time.Duration(p.cfg.Clock()), is
}

// watch tells the machine what the gate says, until the worker is to end.
func (p *post) watch(ctx context.Context) {
	p.work.Go(func() {
		if token, err := p.gate.Wait(ctx, fence.Act); err == nil && token.Term == p.token.Term {
			p.inbox.Put(worker.Acts{})
		}
	})
	for {
		moved := p.gate.Moved()
		p.extend()
		select {
		case <-moved:
		case <-ctx.Done():
			return
		}
	}
}

func (p *post) extend() {
	at, open := p.gate.Deadline(fence.Fenced)
	if token, err := p.gate.Require(fence.Fenced); open && err == nil && token.Term == p.token.Term {
		p.inbox.Put(worker.Extended{Until: time.Duration(at)})
	}
}

func (p *post) step(in worker.Input) error {
	if e, is := in.(worker.Ended); is {
		p.handlers[e.Key].end(nil)
		delete(p.handlers, e.Key)
	}
	for _, act := range p.machine.Step(time.Duration(p.cfg.Clock()), in) {
		switch act := act.(type) {
		case worker.Take:
			p.ask(act, takeJobs, func(ctx context.Context) (worker.Input, error) { return answer(p.take(ctx, act)) })
		case worker.Look:
			progress := p.progress()
			p.ask(act, lookAt, func(ctx context.Context) (worker.Input, error) {
				held, err := p.jobs.Look(ctx, p.token.Scope, progress)
				return worker.Seen{Held: held}, err
			})
		case worker.Tell:
			p.ask(act, endJobs, func(ctx context.Context) (worker.Input, error) { return answer(p.tellEnds(ctx, act.Ends)) })
		case worker.Start:
			p.start(act.Job)
		case worker.Stop:
			p.handlers[act.Key].end(&stopped{why: string(act.Why)})
		}
	}
	if m, is := in.(worker.Missed); is && m.Over {
		p.stale = true
	}
	if p.machine.Over() {
		return errOver
	}
	return nil
}

// ask has the store do something, outside of the loop.
func (p *post) ask(act worker.Act, what string, do func(context.Context) (worker.Input, error)) {
	p.work.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, answers)
		defer cancel()
		in, err := do(ctx)
		if p.note(what, err); err != nil {
			in = worker.Missed{Act: act, Over: errors.Is(err, fence.ErrStale)}
		}
		p.inbox.Put(in)
	})
}

// take takes jobs with the token of this term. The gate is asked right before; what passes it late the fence refuses.
func (p *post) take(ctx context.Context, t worker.Take) (out worker.Taken, err error) {
	err = p.gate.Do(ctx, doorOf(t.Fenced), 0, func(ctx context.Context, now fence.Token) error {
		if now.Term != p.token.Term {
			return fence.ErrStale
		}
		var failed error
		out, failed = p.jobs.Take(ctx, now, p.cfg.Queues, t)
		return failed
	})
	return out, err
}

// doorOf is the door behind which jobs are done: what proves its attempt is refused when that is over, and of the rest nothing is but by the clock.
func doorOf(fenced bool) fence.Door {
	if fenced {
		return fence.Fenced
	}
	return fence.Act
}

// mayAct returns nil if jobs of a kind may have effects now, by the clock as it is read just now.
func (p *post) mayAct(fenced bool) error {
	if err := p.gate.EnsureEpoch(doorOf(fenced), p.token.Epoch); err != nil {
		return &refusal{err}
	}
	return nil
}

// act has something written while jobs of a kind may have effects, and until the gate's answer ends.
func (p *post) act(fenced bool, write func(context.Context) error) error {
	err := p.gate.Do(context.Background(), doorOf(fenced), 0, func(answer context.Context, now fence.Token) error {
		if now.Epoch != p.token.Epoch {
			return fence.ErrStale
		}
		return write(answer)
	})
	if errors.Is(err, fence.ErrShut) || errors.Is(err, fence.ErrStale) {
		return &refusal{err}
	}
	return err
}

// tellEnds ends attempts, and tells of it.
func (p *post) tellEnds(ctx context.Context, ends []worker.End) (worker.Told, error) {
	out, err := p.jobs.Tell(ctx, ends)
	if err != nil {
		return out, err
	}
	for _, e := range ends {
		if !slices.Contains(out.Held, e.Key) {
			p.cfg.Tell(AttemptEnded{End: e, Post: p.token.Scope, Refused: slices.Contains(out.Over, e.Key)})
		}
	}
	return out, nil
}

// progress lists how far handlers are that have said so since the last time.
func (p *post) progress() map[Key]string {
	all := map[Key]string{}
	for k, t := range p.handlers {
		if text := t.said.Swap(nil); text != nil {
			all[k] = *text
		}
	}
	return all
}

func answer[I worker.Input](in I, err error) (worker.Input, error) { return in, err }
