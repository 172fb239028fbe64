package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// Handler does a job, and returns what came of it: JSON, or nothing. Its context ends when it has to stop: because of its timeout, because the job was
// cancelled, or because the worker may not go on. It returns then: a worker ends when its handlers have.
type Handler func(context.Context, *Task) (result []byte, err error)

var (
	// ErrDead means that no other attempt at a job is of use.
	ErrDead = errors.New("no other attempt is of use")
	// ErrLater means that a job is to be tried again later, and that this attempt does not count.
	ErrLater = errors.New("it is to be tried later")
)

// Exit codes of a command: 0 is done, and another one than these a failure.
const (
	ExitDead  = 65 // [ErrDead]
	ExitLater = 75 // [ErrLater]
)

// MostResult is how many bytes a result has at most.
const MostResult = 64 << 10

// Task is one attempt at a job, as its handler sees it.
type Task struct {
	Job
	Gate *fence.Gate // of the worker's post

	names names
	said  atomic.Pointer[string]
	end   context.CancelCauseFunc
	ctx   context.Context // ends when the handler has to stop
	post  *post           // under which the job was taken
}

// names is what a handler is: one of the three.
type names struct {
	Job string
	Call

	fault error // it is no JSON
}

// Call is what a worker does for a job that is not a function: it runs a command, or posts to an address.
type Call struct {
	Command []string
	HTTP    string
}

// MayAct returns nil if the attempt may have an effect now: it was not stopped, and its worker still leads its post, by the clock as it is read just now. Ask
// right before each effect that nothing else can refuse. The error wraps [fence.ErrShut] or [fence.ErrStale] if the post may be another's (requirement S15); a handler that
// returns it has its job given back, and the attempt does not count.
func (t *Task) MayAct() error {
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	return t.post.mayAct(t.Fenced)
}

// refusal is what the gate of the worker's post says. That of another gate is a failure as any other.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// Progress notes how far the attempt is, for those who look.
func (t *Task) Progress(text string) { t.said.Store(&text) }

// Environ returns what a command is told of its job.
func (t *Task) Environ() []string {
	env := []string{
		"CONCH_JOB_ID=" + strconv.FormatInt(t.ID, 10), "CONCH_JOB_ATTEMPT=" + strconv.Itoa(t.Attempt),
		"CONCH_JOB_QUEUE=" + t.Queue, "CONCH_JOB_CRON=" + t.Cron,
	}
	if !t.At.IsZero() {
		env = append(env, "CONCH_JOB_SCHEDULED_AT="+t.At.Format(time.RFC3339Nano)) // as it stands in conch.cron_runs
	}
	if t.MaybeRepeated {
		env = append(env, "CONCH_JOB_MAYBE_REPEATED=1")
	}
	return env
}

// Runner runs commands.
type Runner interface {
	// Run runs a command with a text on its standard input, and returns when it and all its descendants are gone. That is before
	// the deadline of the task's gate, even if this process is killed or stopped; and soon after ctx has ended.
	Run(ctx context.Context, command []string, stdin []byte, t *Task) (Exit, error)
}

// Exit is how a command has ended.
type Exit struct {
	Code   int
	Says   string // why, if it has failed
	Result []byte // JSON, or nothing
}

// stopped is why a handler had to stop.
type stopped struct {
	why   string        // empty: its timeout
	after time.Duration // that
}

func (s *stopped) Error() string {
	if s.why == "" {
		return fmt.Sprintf("timeout: it has taken %s", s.after)
	}
	return s.why
}

// start begins the handler of a job.
func (p *post) start(j Job) {
	ctx, end := context.WithCancelCause(p.ctx)
	ctx, cancel := context.WithTimeoutCause(ctx, j.Timeout, &stopped{after: j.Timeout})
	t := &Task{Job: j, Gate: p.gate, end: end, ctx: ctx, post: p}
	t.names.fault = json.Unmarshal(j.Handler, &t.names) // here: the stack of a new goroutine would grow for it, which takes longer
	p.handlers[j.Key] = t
	p.work.Go(func() {
		defer cancel()
		p.inbox.Put(worker.Ended{End: p.outcome(ctx, t)})
	})
}

// outcome has a handler do its job, and says how that has ended.
func (p *post) outcome(ctx context.Context, t *Task) End {
	out := End{Key: t.Key, Outcome: worker.Done}
	result, err := p.handle(ctx, t)
	if err == nil {
		switch { // what is done is done
		case len(result) > MostResult:
			out.Error = fmt.Sprintf("its result has %d bytes, and may have %d: it is not kept", len(result), MostResult)
		case len(result) > 0 && (!json.Valid(result) || HasNUL(string(result))):
			out.Error = "its result is no JSON that can be stored: it is not kept"
		default:
			out.Result = result
		}
		return out
	}
	out.Outcome, out.Error = worker.Failed, err.Error()
	var why *stopped
	var refused *refusal
	switch {
	case errors.Is(err, ErrDead):
		out.Outcome = worker.Dead
	case errors.As(context.Cause(ctx), &why):
		out.Error = why.Error()
	case errors.Is(err, ErrLater):
		out.Outcome = worker.Later
	case errors.As(err, &refused):
		out.Outcome = worker.Released
	}
	return out
}

// handle calls what a job names. A handler that panics has failed.
func (p *post) handle(ctx context.Context, t *Task) (result []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the handler has panicked: %v", v)
		}
	}()
	is := t.names
	if is.fault != nil {
		return nil, fmt.Errorf("%w: the handler is no JSON: %w", ErrDead, is.fault)
	}
	if err := t.MayAct(); err != nil { // the process may have stood still since it has taken the job
		return nil, err
	}
	if call, known := p.cfg.Calls[is.Job]; known {
		is = names{Call: call}
	}
	switch {
	case is.Job != "":
		if do := p.cfg.Handlers[is.Job]; do != nil {
			return do(ctx, t)
		}
		return nil, fmt.Errorf("%w: this worker has no handler %q", ErrLater, is.Job)
	case len(is.Command) > 0 && p.cfg.Commands != nil:
		return p.command(ctx, is.Command, t)
	case is.HTTP != "" && p.cfg.Hooks != nil:
		return nil, p.cfg.Hooks.post(ctx, p.clients[t.Fenced], is.HTTP, t)
	}
	return nil, fmt.Errorf("%w: this worker does not do %s", ErrLater, t.Handler)
}

func (p *post) command(ctx context.Context, command []string, t *Task) ([]byte, error) {
	exit, err := p.cfg.Commands.Run(ctx, command, t.Args, t)
	if err != nil {
		return nil, err
	}
	err = fmt.Errorf("exit code %d: %s", exit.Code, exit.Says)
	switch exit.Code {
	case 0:
		return exit.Result, nil
	case ExitDead:
		return nil, fmt.Errorf("%w: %w", ErrDead, err)
	case ExitLater:
		return nil, fmt.Errorf("%w: %w", ErrLater, err)
	}
	return nil, err
}
