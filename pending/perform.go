package pending

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// perform carries out one action and returns its answer.
func (l *loop) perform(ctx context.Context, a action) (input, error) {
	brief, cancel := context.WithTimeout(ctx, l.Longest)
	defer cancel()
	switch a := a.(type) {
	case load:
		return l.load(ctx, brief, a)
	case assign:
		return l.assign(ctx, a)
	case replace:
		return l.replace(ctx, a)
	case submit:
		return l.submit(brief, a), nil
	case probe:
		return l.probe(brief, a)
	case search: // not brief: it reads many blocks
		return l.search(ctx, a)
	case survey:
		return l.survey(ctx, a)
	case link:
		return l.link(ctx, a)
	case confirm:
		return l.confirm(ctx, a)
	case page:
		slots, err := l.Store.Slots(brief, l.Account, a.From, a.To)
		return paged{From: a.From, To: a.To, Slots: slots}, err
	case save:
		return saved{}, l.write(ctx, Batch{Changes: a.Changes, Hold: a.Hold, Opens: a.Opens})
	default:
		return nil, fmt.Errorf("pending: no such action: %T", a)
	}
}

// load asks the chain and the store at once, since a dead predecessor's transactions wait for it;
// nobody else writes slots under this token, so the order does not matter. It reads the slots that
// are not final, and reads again if the chain counts fewer nonces than the store has as final.
//
// Once the rows have taken longer than one exchange may, they have twice the time: else an account with very many would
// never have a leader again.
func (l *loop) load(ctx, brief context.Context, a load) (input, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Longest<<l.slowLoads)
	defer cancel()
	out, err := l.loadRows(ctx, brief, a)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		l.slowLoads = min(l.slowLoads+1, mostSlowLoads)
	}
	return out, err
}

// mostSlowLoads is how often the time for a load doubles.
const mostSlowLoads = 4

func (l *loop) loadRows(ctx, brief context.Context, a load) (out loaded, err error) {
	var fault error
	var asking sync.WaitGroup
	asking.Go(func() {
		if l.loaded { // what was seen is gone: before anything is sent again, the endpoint proves which chain it serves
			if _, fault = l.Chain.Describe(brief); fault != nil {
				return
			}
		}
		out.Best, fault = l.Chain.Next(brief, l.Account)
	})
	if err = l.settle(brief); err == nil {
		out.Snapshot, err = l.Store.Load(ctx, l.Account, a.Final, l.held.Most)
	}
	asking.Wait()
	if err = errors.Join(fault, err); err != nil {
		return out, err
	}
	first := out.Snapshot.Life.First
	l.first.Store(first)
	out.Best += first
	if !out.Snapshot.has(out.Best) { // the chain went back, or an endpoint is behind: the higher count is the newer one
		again, err := l.Chain.Next(ctx, l.Account)
		if err != nil {
			return out, err
		}
		out.Best = max(out.Best, first+again)
	}
	if !out.Snapshot.has(out.Best) && !l.lives { // a lower count may be that of another life
		if out.Snapshot, err = l.Store.Load(ctx, l.Account, min(a.Final, out.Best), l.held.Most); err != nil {
			return out, err
		}
	}
	if out.Snapshot.Strange {
		out.Pooled, err = l.pooled(ctx)
	}
	l.loaded = err == nil
	return out, err
}

// pooled returns the account's next nonce with the transactions in the node's pool, 0 if it cannot say.
func (l *loop) pooled(ctx context.Context) (uint64, error) {
	n, err := l.Chain.Pooled(ctx, l.Account)
	if errors.Is(err, chain.ErrAnswer) {
		return 0, nil
	}
	return l.first.Load() + n, err
}

// has reports whether the snapshot has every slot from a nonce on.
func (s *Snapshot) has(from uint64) bool {
	n := uint64(0)
	for _, one := range s.Slots {
		if one.Index >= from {
			n++
		}
	}
	for _, run := range s.Runs {
		if run.Last >= from {
			n += run.Last - max(run.First, from) + 1
		}
	}
	return from+n >= s.Next
}

// writeGrace is how long a write in flight may outlive the gate, too short to delay a successor.
const writeGrace = 50 * time.Millisecond

// write stores a batch if the gate's fenced door is open. The store's fence refuses it if it is late.
func (l *loop) write(ctx context.Context, b Batch) error {
	b.Account, b.Number = l.Account, l.Sequence.next()
	ctx, cancel := context.WithTimeout(ctx, l.Longest) // not the signer's context, which may be over: what was signed is stored
	defer cancel()
	return l.act(ctx, func(ctx context.Context) error {
		ctx, end := fence.Outlive(ctx, writeGrace)
		defer end()
		err := l.Store.Write(ctx, l.token, b)
		if err != nil {
			l.unsettled.Store(true) // after any error: settling a refused write costs little
		}
		return err
	})
}

// settle waits until an unanswered write has been carried out or never will be. Without it the
// server might still do so after the rows have been read.
func (l *loop) settle(ctx context.Context) error {
	if !l.unsettled.Load() {
		return nil
	}
	err := l.act(ctx, func(ctx context.Context) error { return l.Store.Settle(ctx, l.token, l.Account, l.Sequence.next()) })
	if err == nil {
		l.unsettled.Store(false) // nothing is written while load runs
	}
	return err
}

func (l *loop) act(ctx context.Context, do func(context.Context) error) error {
	return l.gate.Do(ctx, fence.Fenced, 0, func(ctx context.Context, t fence.Token) error {
		if t.Term != l.token.Term {
			return fence.ErrStale
		}
		return do(ctx)
	})
}

// submit is the only place that sends attempts. They are stored; the gate is asked right before
// (S15); an attempt without an answer is unknown.
func (l *loop) submit(ctx context.Context, a submit) input {
	out := sent{Attempts: a.Attempts, Outcomes: make([]chain.Outcome, len(a.Attempts))}
	ctx = chain.Purpose{Account: l.Account, Front: a.Front}.In(ctx)
	err := l.act(ctx, func(ctx context.Context) error {
		copy(out.Outcomes, l.Chain.Submit(ctx, l.outward(a.Attempts)))
		return nil
	})
	if err != nil && l.Events.Refused != nil {
		l.Events.Refused(err)
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // else this process hung up
		l.complain(out)
	}
	return out
}

// complain reports one attempt that the node did not accept, for the whole batch. Otherwise an
// endpoint that fails only here would be asked in silence for ever.
func (l *loop) complain(in sent) {
	for i, answer := range in.Outcomes {
		switch index := in.Attempts[i].Index - l.first.Load(); {
		case answer.Verdict == chain.Refused, answer.Verdict == chain.Full, answer.Verdict == chain.Unfit, answer.Verdict == chain.Outworn:
			l.trouble(fmt.Errorf("%w: it does not accept the transaction with nonce %d now: %s", chain.ErrAnswer, index, answer.Said()))
		case answer.Verdict == chain.Unknown && answer.Text != "":
			l.trouble(fmt.Errorf("%w: it is unknown whether it has the transaction with nonce %d: %s", chain.ErrAnswer, index, answer.Said()))
		default:
			continue
		}
		return
	}
}

func (l *loop) probe(ctx context.Context, a probe) (input, error) {
	if l.noIndex {
		return l.probePool(ctx, a)
	}
	hashes := make([]chain.Hash, len(a.Hashes))
	for i, w := range a.Hashes {
		hashes[i] = w.Hash
	}
	sightings, err := l.Chain.Probe(ctx, hashes)
	if err != nil {
		return nil, err
	}
	return seen{Hashes: a.Hashes, Sightings: sightings}, nil
}

// probePool looks attempts up where none is found by its hash: a pool has somebody's transaction with a nonce, or has none. It is
// taken for the last attempt of the slot; if it is another, a block will say so.
func (l *loop) probePool(ctx context.Context, a probe) (input, error) {
	next, err := l.pooled(ctx)
	if err != nil {
		return nil, err
	}
	sightings := make([]chain.Sighting, len(a.Hashes))
	for i, one := range a.Hashes {
		last := i+1 == len(a.Hashes) || a.Hashes[i+1].Index != one.Index
		sightings[i].Pooled = last && one.Index < next
	}
	return seen{Hashes: a.Hashes, Sightings: sightings}, nil
}
