package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/fence"
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
		close(e.over)
		e.answerRetires(true)
		cancel()
		e.calls.Wait()
	}()
	e.calls.Go(e.listen)
	stop := ctx.Done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var inputs []Input
		select {
		case in := <-e.inputs:
			inputs = e.gather(in)
		case <-e.ordered: // taken below
		case <-timer.C:
			inputs = []Input{Tick{}}
		case <-stop:
			stop = nil
			inputs = []Input{Stop{Why: whyStopped(ctx), Timeout: e.cfg.DrainTimeout}}
		}
		// Orders first: a role that calls Rest and then fails must rest when it is given up.
		orders := e.takeOrders()
		if orders != nil {
			inputs = slices.Insert(inputs, 0, Input(Several{Inputs: orders}))
		}
		if slices.ContainsFunc(inputs, e.step) {
			return e.machine.exitError()
		}
		if orders != nil { // the set of roles may have changed
			e.publish()
		}
		timer.Stop()
		if next := e.machine.Next(); next != 0 {
			timer.Reset(max(0, next.Sub(e.cfg.Clock())))
		}
	}
}

// mostAtOnce limits what gather joins, so that an answer does not wait long behind it.
const mostAtOnce = 1000

// gather joins the inputs that have arrived. The first that cannot be joined comes after them.
func (e *Elector) gather(first Input) []Input {
	joined := Several{Inputs: []Input{first}}
	for joins(first) && len(joined.Inputs) < mostAtOnce {
		select {
		case in := <-e.inputs:
			if !joins(in) {
				return []Input{joined, in}
			}
			joined.Inputs = append(joined.Inputs, in)
			continue
		default:
		}
		break
	}
	if len(joined.Inputs) == 1 {
		return joined.Inputs
	}
	return []Input{joined}
}

// joins reports whether gather may join an input, for which the loop itself has nothing to do.
func joins(in Input) bool {
	switch in.(type) {
	case Woken, Ended:
		return true
	}
	return false
}

// whyStopped returns ErrStepDown, with the cause of ctx if it has one of its own.
func whyStopped(ctx context.Context) error {
	if why := context.Cause(ctx); why != ctx.Err() { //nolint:errorlint // the very one: it has no cause of its own
		return fmt.Errorf("%w: %w", ErrStepDown, why)
	}
	return ErrStepDown
}

// step feeds the machine and performs its actions; it returns true when the loop is done. The process of
// lab/sim in cmd/conch is the twin of this loop in the simulated world, which has no goroutines and no contexts: a change
// of step, perform or call is made there too.
func (e *Elector) step(in Input) (done bool) {
	switch v := in.(type) {
	case stepDownCall:
		if !e.machine.leads(v.Scope, v.Epoch) {
			v.answer <- ErrNotLeading
			return false
		}
		e.waiting[v.Scope] = append(e.waiting[v.Scope], v.answer)
		in = v.StepDown
	case connected:
		e.session = v.session
		e.caution(v.session)
		in = v.Opened
	case Failed:
		if v.Lost {
			e.closeSession()
		}
	}
	actions := e.machine.Step(e.cfg.Clock(), in)
	if slices.ContainsFunc(actions, changesSnapshot) {
		e.publish()
	}
	done = slices.ContainsFunc(actions, e.perform)
	e.answerRetires(false)
	return done
}

// changesSnapshot reports whether an action may change the snapshot. A heartbeat of ten thousand
// terms moves as many deadlines and changes nothing in it.
func changesSnapshot(a Action) bool {
	switch a.(type) {
	case Extend, Suspend, Beat, Try, Watch, Enlist:
		return false
	}
	return true
}

func (e *Elector) perform(a Action) (done bool) {
	switch a := a.(type) {
	case Open:
		e.runner(a.Token.Scope).open(a)
	case Enter:
		e.runner(a.Token.Scope).enter()
	case Extend:
		e.runner(a.Scope).latch.Extend(a.Deadline)
	case Suspend:
		e.runner(a.Scope).latch.Suspend()
	case Shut:
		e.runner(a.Token.Scope).shut(a.Why, a.By)
	case Prolong:
		e.runner(a.Scope).running.notice.change(func(is *Notice) { is.Deadline = a.Deadline })
	case Hurry:
		e.runner(a.Scope).running.notice.change(func(is *Notice) { is.By = a.By })
	case Watch:
		e.watch(a.Processes)
	case Report:
		e.tell(a.Fact)
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
	session := e.session
	e.calls.Go(func() {
		switch a := a.(type) {
		case Connect:
			e.connect(a)
		case Try:
			var results []Result
			sent, took, err := e.timed(func(ctx context.Context) (err error) {
				results, err = session.Try(ctx, a.Bids)
				return err
			})
			if err == nil {
				a.Bids = a.Bids[:len(results)] // the rest was not tried
			}
			if f := e.cfg.Events.Attempt; f != nil {
				f(Bidding{Scopes: scopesOf(a.Bids, func(b Bid) string { return b.Scope }), Sent: sent, Took: took, Results: results, Err: err})
			}
			e.answer(err, Tried{Sent: sent, Results: results})
		case Beat:
			var answers []Outcome
			sent, took, err := e.timed(func(ctx context.Context) (err error) {
				answers, err = session.Beat(ctx, a.Pulses)
				return err
			})
			renewed := make([]bool, len(answers))
			for i, answer := range answers {
				renewed[i] = answer == Renewed
			}
			if f := e.cfg.Events.Beat; f != nil && len(a.Pulses) > 0 {
				f(Heartbeat{Scopes: scopesOf(a.Pulses, func(p Pulse) string { return p.Token.Scope }), Sent: sent, Took: took, Renewed: renewed, Err: err})
			}
			e.answer(err, Beaten{Sent: sent, Answers: answers})
		case Release:
			var answers []Parting
			_, _, err := e.timed(func(ctx context.Context) (err error) {
				answers, err = session.Release(ctx, a.Farewells)
				return err
			})
			e.answer(err, Parted{Answers: answers})
		case Enlist:
			_, _, err := e.timed(func(ctx context.Context) error { return session.Enlist(ctx, a.Roll) })
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
func (e *Elector) timed(f func(context.Context) error) (sent fence.Instant, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(e.ctx, e.patience())
	defer cancel()
	sent = e.cfg.Clock()
	err = f(ctx)
	return sent, e.cfg.Clock().Sub(sent), err
}

// patience returns how long to wait for an answer before the session counts as lost. After a
// lease the mint has ended its side anyway; under Keep it never does.
func (e *Elector) patience() time.Duration {
	if e.cfg.Takeover == Keep {
		return max(time.Minute, 10*e.machine.set.Lease)
	}
	return e.machine.set.Lease
}

func (e *Elector) answer(err error, in Input) {
	if err != nil {
		in = Failed{Err: err, Lost: errors.Is(err, ErrSessionLost)}
	}
	e.post(in)
}

// connected carries a new session to the loop's goroutine.
type connected struct {
	Opened
	session Session
}

func (e *Elector) connect(a Connect) {
	ctx, cancel := context.WithTimeout(e.campaign, max(5*time.Second, e.machine.set.Lease))
	defer cancel()
	s, err := e.cfg.Mint.Open(ctx, Candidate{
		ID: e.cfg.ID, Lease: e.machine.set.Lease, Takeover: e.cfg.Takeover, LockTimeout: e.cfg.LockTimeout,
		Scopes: a.Scopes, Longest: a.Longest,
	})
	if err != nil {
		e.post(Failed{Lost: true, Err: err})
		return
	}
	if !e.post(connected{session: s}) {
		_ = s.Close()
	}
}

// caution reports a session's caution, unless the last session had the same.
func (e *Elector) caution(s Session) {
	text := ""
	if cautious, ok := s.(interface{ Caution() error }); ok {
		if err := cautious.Caution(); err != nil {
			if text = err.Error(); text != e.cautioned {
				e.tell(Fact{Kind: Cautioned, Err: err})
			}
		}
	}
	e.cautioned = text
}

// closeSession closes the session in another goroutine; Run waits for that before it returns.
func (e *Elector) closeSession() {
	if s := e.session; s != nil {
		e.session = nil
		e.calls.Go(func() { _ = s.Close() })
	}
}
