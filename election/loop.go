package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// Run campaigns until ctx ends, then gives every scope up in order and returns. If ctx has a
// cause of its own, roles and the history get it as part of the reason. Errors of the mint never
// end Run: it retries, and leads nothing meanwhile. It returns nil, or ErrDrainTimeout if a role
// was still running when its time was up. It may be called once.
func (e *Elector) Run(ctx context.Context) error {
	if e.started.Swap(true) {
		return errors.New("election: Run was called before")
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e.ctx, e.campaign = inner, ctx
	defer func() {
		cancel()
		e.calls.Wait()
		e.inbox.Close()
		e.answerCallers()
	}()
	e.calls.Go(e.listen)
	hearNoStop := context.AfterFunc(ctx, func() { e.inbox.Put(Stop{Why: whyStopped(ctx), Timeout: e.cfg.DrainTimeout}) })
	defer hearNoStop()
	e.next = e.core.Next()
	_ = step.Loop[Input]{
		From: e.inbox,
		Wait: func() (time.Duration, bool) { return e.next.Sub(e.cfg.Clock()), e.next != 0 },
		Tick: func() []Input { return []Input{Tick{}} },
		Feed: e.feed,
	}.Run(inner) // until errOver
	return e.core.machine.exitError()
}

// errOver ends the loop: every scope is given up, and no request is under way.
var errOver = errors.New("election: over")

// whyStopped returns ErrStepDown, with the cause of ctx if it has one of its own.
func whyStopped(ctx context.Context) error {
	if why := context.Cause(ctx); why != ctx.Err() { //nolint:errorlint // the very one: it has no cause of its own
		return fmt.Errorf("%w: %w", ErrStepDown, why)
	}
	return ErrStepDown
}

// feed feeds the core and does what it says.
func (e *Elector) feed(all []Input) error {
	err := e.core.Step(e.cfg.Clock(), all...).Do(e.moveGates, e.publish, e.performAll)
	e.next = e.core.Next()
	return err
}

func (e *Elector) moveGates(all []Move) {
	for _, m := range all {
		m.To(e.runner(m.Scope).latch)
	}
}

// publish stores the state of all scopes for Snapshot.
func (e *Elector) publish(all [][]Status) error {
	for _, s := range all {
		e.snapshot.Store(&s)
	}
	return nil
}

func (e *Elector) performAll(all []Action) error {
	if slices.ContainsFunc(all, e.perform) {
		return errOver
	}
	return nil
}

func (e *Elector) perform(a Action) (over bool) {
	switch a := a.(type) {
	case Begin:
		e.runner(a.Token.Scope).beginTerm(a.Token)
	case Enter:
		e.runner(a.Token.Scope).enter()
	case Cancel:
		e.runner(a.Token.Scope).cancelRole(a)
	case Drain:
		e.runner(a.Scope).drainActs()
	case Prolong:
		e.runner(a.Scope).running.notice.change(func(is *Notice) { is.Deadline = a.Deadline })
	case Hurry:
		e.runner(a.Scope).running.notice.change(func(is *Notice) { is.By = a.By })
	case Await:
		e.awaitProcess(a)
	case Unwait:
		e.cancelWait(a)
	case Report:
		e.tell(a.Fact)
	case Answered:
		e.answerCaller(a)
	case Disconnect:
		e.closeSession()
	case Forget:
		e.forgetScope(a.Scope)
	case Done:
		return true
	default:
		e.call(a)
	}
	return false
}

// call sends a request to the mint in another goroutine; the answer comes back as an input. The
// machine has at most one under way.
func (e *Elector) call(a Action) {
	session, within := e.session, e.core.Patience(a)
	e.calls.Go(func() {
		switch a := a.(type) {
		case Connect:
			e.connect(a, within)
		case Try:
			results, sent, took, err := timed(e, within, session.Try, a.Bids)
			if err == nil {
				a.Bids = a.Bids[:len(results)] // the rest was not tried
			}
			if f := e.cfg.Events.Attempt; f != nil {
				f(Bidding{Scopes: scopesOf(a.Bids, func(b mint.Bid) string { return b.Scope }), Sent: sent, Took: took, Results: results, Err: err})
			}
			e.answer(err, Tried{Sent: sent, Results: results})
		case Beat:
			answers, sent, took, err := timed(e, within, session.Beat, a.Pulses)
			renewed := make([]bool, len(answers))
			for i, answer := range answers {
				renewed[i] = answer == mint.Renewed
			}
			if f := e.cfg.Events.Beat; f != nil && len(a.Pulses) > 0 {
				f(Heartbeat{Scopes: scopesOf(a.Pulses, func(p mint.Pulse) string { return p.Token.Scope }), Sent: sent, Took: took, Renewed: renewed, Err: err})
			}
			e.answer(err, Beaten{Sent: sent, Answers: answers})
		case Release:
			answers, _, _, err := timed(e, within, session.Release, a.Farewells)
			e.answer(err, Parted{Answers: answers})
		case Enlist:
			_, _, _, err := timed(e, within, func(ctx context.Context, r mint.Roll) (any, error) { return nil, session.Enlist(ctx, r) }, a.Roll)
			e.answer(err, Enlisted{})
		}
	})
}

func scopesOf[T any](asked []T, scope func(T) string) []string {
	all := make([]string, len(asked))
	for i, a := range asked {
		all[i] = scope(a)
	}
	return all
}

// timed runs one call with a time limit. It reads the clock before anything is sent, since every
// deadline counts from then.
func timed[A, R any](e *Elector, within time.Duration, call func(context.Context, A) (R, error), a A) (answer R, sent fence.Instant, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, within)
	defer cancel()
	sent = e.cfg.Clock()
	answer, err = call(ctx, a)
	return answer, sent, e.cfg.Clock().Sub(sent), err
}

func (e *Elector) answer(err error, in Input) {
	if err != nil {
		in = Failed{Err: err, Lost: errors.Is(err, mint.ErrSessionLost)}
	}
	e.inbox.Put(in)
}

func (e *Elector) connect(a Connect, within time.Duration) {
	ctx, cancel := context.WithTimeout(e.campaign, within)
	defer cancel()
	s, err := e.cfg.Mint.Open(ctx, mint.Candidate{
		ID: e.cfg.ID, Lease: e.core.machine.set.Lease, Takeover: e.cfg.Takeover, LockTimeout: e.cfg.LockTimeout,
		Scopes: a.Scopes, Longest: a.Longest,
	})
	if err != nil {
		e.inbox.Put(Failed{Lost: true, Err: err})
		return
	}
	e.session = s
	var in Opened
	if cautious, ok := s.(interface{ Caution() error }); ok {
		in.Caution = cautious.Caution()
	}
	e.inbox.Put(in)
}

// closeSession closes the session in another goroutine; Run waits for that before it returns.
func (e *Elector) closeSession() {
	if s := e.session; s != nil {
		e.session = nil
		e.calls.Go(func() { _ = s.Close() })
	}
}
