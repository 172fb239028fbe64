package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/election/internal/core"
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
	hearNoStop := context.AfterFunc(ctx, func() { e.inbox.Put(core.Stop{Why: whyStopped(ctx), Timeout: e.set.DrainTimeout}) })
	defer hearNoStop()
	e.next = e.core.Next()
	_ = step.Loop[core.Input]{
		From: e.inbox,
		Wait: func() (time.Duration, bool) { return e.next.Sub(e.cfg.Clock()), e.next != 0 },
		Tick: func() []core.Input { return []core.Input{core.Tick{}} },
		Feed: e.feed,
	}.Run(inner) // until errOver
	return e.core.ExitError()
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
func (e *Elector) feed(all []core.Input) error {
	err := e.core.Step(e.cfg.Clock(), all...).Do(e.moveGates, e.publish, e.performAll)
	e.next = e.core.Next()
	return err
}

func (e *Elector) moveGates(all []core.Move) {
	for _, m := range all {
		if shut, is := m.How.(core.Shut); is {
			m.How = core.Shut{Token: shut.Token, Why: lostTerm(shut.Token, shut.Why)}
		}
		m.To(e.runner(m.Scope).latch)
	}
}

// publish stores the state of all scopes for Snapshot.
func (e *Elector) publish(all [][]core.Status) error {
	for _, said := range all {
		scopes := make([]Status, len(said))
		for i, s := range said {
			scopes[i] = Status(s)
		}
		e.snapshot.Store(&scopes)
	}
	return nil
}

func (e *Elector) performAll(all []core.Action) error {
	if slices.ContainsFunc(all, e.perform) {
		return errOver
	}
	return nil
}

func (e *Elector) perform(a core.Action) (over bool) {
	switch a := a.(type) {
	case core.Begin:
		e.runner(a.Token.Scope).beginTerm(a.Token)
	case core.Enter:
		e.runner(a.Token.Scope).enter()
	case core.Cancel:
		e.runner(a.Token.Scope).cancelRole(a)
	case core.Drain:
		e.runner(a.Scope).drainActs()
	case core.Prolong:
		e.runner(a.Scope).running.notice.change(func(is *Notice) { is.Deadline = a.Deadline })
	case core.Hurry:
		e.runner(a.Scope).running.notice.change(func(is *Notice) { is.By = a.By })
	case core.Await:
		e.awaitProcess(a)
	case core.Unwait:
		e.cancelWait(a)
	case core.Report:
		e.tell(newFact(a.Fact))
	case core.Answered:
		e.answerCaller(a)
	case core.Disconnect:
		e.closeSession()
	case core.Forget:
		e.forgetScope(a.Scope)
	case core.Done:
		return true
	default:
		e.call(a)
	}
	return false
}

// call sends a request to the mint in another goroutine; the answer comes back as an input. The
// machine has at most one under way.
func (e *Elector) call(a core.Action) {
	session, within := e.session, e.core.Patience(a)
	e.calls.Go(func() {
		switch a := a.(type) {
		case core.Connect:
			e.connect(a, within)
		case core.Try:
			results, sent, took, err := timed(e, within, session.Try, a.Bids)
			if err == nil {
				a.Bids = a.Bids[:len(results)] // the rest was not tried
			}
			if f := e.cfg.Events.Attempt; f != nil {
				f(Bidding{Scopes: scopesOf(a.Bids, func(b mint.Bid) string { return b.Scope }), Sent: sent, Took: took, Results: results, Err: err})
			}
			e.answer(err, core.Tried{Sent: sent, Results: results})
		case core.Beat:
			answers, sent, took, err := timed(e, within, session.Beat, a.Pulses)
			renewed := make([]bool, len(answers))
			for i, answer := range answers {
				renewed[i] = answer == mint.Renewed
			}
			if f := e.cfg.Events.Beat; f != nil && len(a.Pulses) > 0 {
				f(Heartbeat{Scopes: scopesOf(a.Pulses, func(p mint.Pulse) string { return p.Token.Scope }), Sent: sent, Took: took, Renewed: renewed, Err: err})
			}
			e.answer(err, core.Beaten{Sent: sent, Answers: answers})
		case core.Release:
			answers, _, _, err := timed(e, within, session.Release, a.Farewells)
			e.answer(err, core.Parted{Answers: answers})
		case core.Enlist:
			_, _, _, err := timed(e, within, func(ctx context.Context, r mint.Roll) (any, error) { return nil, session.Enlist(ctx, r) }, a.Roll)
			e.answer(err, core.Enlisted{})
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

func (e *Elector) answer(err error, in core.Input) {
	if err != nil {
		in = core.Failed{Err: err, Lost: errors.Is(err, mint.ErrSessionLost)}
	}
	e.inbox.Put(in)
}

func (e *Elector) connect(a core.Connect, within time.Duration) {
	ctx, cancel := context.WithTimeout(e.campaign, within)
	defer cancel()
	s, err := e.cfg.Mint.Open(ctx, mint.Candidate{
		ID: e.cfg.ID, Lease: e.set.Lease, Takeover: e.set.Takeover, LockTimeout: e.set.LockTimeout,
		Scopes: a.Scopes, Longest: a.Longest,
	})
	if err != nil {
		e.inbox.Put(core.Failed{Lost: true, Err: err})
		return
	}
	e.session = s
	var in core.Opened
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
