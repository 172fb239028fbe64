package pending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/internal/step"
)

// Manager sends one account's transactions while this process leads the account's scope.
type Manager struct {
	cfg      Config
	wake     step.Wake
	raise    step.Wake                 // told that mostFee has changed
	mostFee  atomic.Pointer[chain.Fee] // see Config.MostFee
	attended attended
}

// New returns a Manager that does nothing until [Manager.Lead] is called.
func New(cfg Config) (*Manager, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cfg.Sequence = cmp.Or(cfg.Sequence, new(Sequence))
	m := &Manager{cfg: cfg, wake: step.NewWake(), raise: step.NewWake()}
	m.mostFee.Store(&cfg.MostFee)
	return m, nil
}

// Allow replaces [Config.MostFee], at once: what the limit has stopped is tried again. It never blocks.
func (m *Manager) Allow(most chain.Fee) {
	m.mostFee.Store(&most)
	m.raise.Ring()
}

// Wake tells the Manager that an intent was accepted or cancelled. It never blocks.
func (m *Manager) Wake() { m.wake.Ring() }

// Lead sends the account's transactions until ctx ends, while the gate's fenced door is open, and
// returns the cause of ctx. It ends earlier with an error that wraps [fence.ErrStale] if the token
// is over, or [chain.ErrForeign] if the endpoint serves another chain. Never call it twice at once.
func (m *Manager) Lead(ctx context.Context, gate *fence.Gate, token fence.Token) error {
	ctx, stop := context.WithCancelCause(chain.Purpose{Account: m.cfg.Account}.In(ctx))
	defer stop(nil)
	d, err := m.describe(ctx)
	if err != nil {
		return err
	}
	switch {
	case d.Lives && m.cfg.SharedKey:
		return fmt.Errorf("pending: %v on %s: %w", m.cfg.Account, d.ID, ErrShared)
	case d.Lives && d.Era == 0:
		return fmt.Errorf("pending: on %s accounts begin anew, and no transaction ever wears out: each could be carried out in any life", d.ID)
	}
	l := &loop{
		Config: m.cfg.withDefaults(d), gate: gate, token: token,
		inbox: step.NewInbox[input](tick{}), wake: m.wake, raise: m.raise, mostFee: &m.mostFee, end: stop,
	}
	l.machine = newMachine(l.settings())
	l.unsettled.Store(l.Sequence.begin(token))
	l.run(ctx)
	l.work.Wait()
	return context.Cause(ctx)
}

// loop feeds the machine of one term and carries out its actions.
type loop struct {
	Config
	machine   *machine
	gate      *fence.Gate
	token     fence.Token
	inbox     *step.Inbox[input]
	wake      <-chan struct{}
	raise     <-chan struct{}
	mostFee   *atomic.Pointer[chain.Fee]
	end       context.CancelCauseFunc
	work      sync.WaitGroup
	headed    atomic.Uint64 // the height of the head plus one; 0 until one has come since the chain is followed
	unsettled atomic.Bool   // a write may still be carried out: settle it before the rows are read

	first atomic.Uint64 // of the account's life: the chain's nonces are less by it. It changes while nothing is under way

	loaded    bool // the rows were loaded before; used by load alone, of which one runs at a time
	slowLoads int  // how often the rows took too long to read; used by load alone

	stream uint64             // the number of the stream of heads that is followed
	rest   context.CancelFunc // ends it; nil while the loop rests
	restAt fence.Instant      // when to rest, unless something comes; 0: something is open
}

// restAfter is for how long nothing has to be open before the chain is no longer followed.
const restAfter = 10 * time.Second

// lull delays the count after a wake-up, so that a burst is counted once.
const lull = 20 * time.Millisecond

func (l *loop) run(ctx context.Context) {
	l.work.Go(func() { l.listen(ctx) })
	l.work.Go(func() { l.archive(ctx) })
	_ = step.Hear(ctx, step.Loop[input]{
		From: l.inbox, Wait: l.wait,
		Tick: func() []input { return []input{tick{}} },
		Feed: step.Each(ctx, func(in input) error { l.step(ctx, in); return nil }),
	}, l.raise, func(struct{}) input { return raised{} })
}

// wait returns for how long the loop needs no tick.
func (l *loop) wait() (time.Duration, bool) {
	at := sooner(l.machine.Next(), l.restAt)
	return at.Sub(l.Clock()), at != 0
}

func (l *loop) step(ctx context.Context, in input) {
	if head, is := in.(streamed); is {
		if in = head.what; head.stream != l.stream {
			return // the loop has rested since
		}
	}
	if block, is := in.(turned); is { // read without its life, which may have ended meanwhile
		in = block.within(l.machine.life)
	}
	actions := l.machine.Step(l.Clock(), in)
	l.followOrRest(ctx)
	for _, a := range actions {
		l.begin(ctx, a)
	}
}

// streamed is an input from a stream of heads.
type streamed struct {
	what   input
	stream uint64
}

func (streamed) answers() errand { return 0 }

// followOrRest follows the chain while something is open, and for a while after. An account at rest costs the chain
// nothing.
func (l *loop) followOrRest(ctx context.Context) {
	now := l.Clock()
	switch {
	case !l.machine.isIdle():
		l.restAt = 0
		if l.rest == nil {
			following, rest := context.WithCancel(ctx)
			l.rest = rest
			stream := l.stream
			l.work.Go(func() { l.follow(following, stream) })
		}
	case l.rest == nil:
	case l.restAt == 0:
		l.restAt = now.Add(restAfter)
	case now >= l.restAt:
		l.rest()
		l.rest, l.restAt = nil, 0
		l.stream++
		l.headed.Store(0)
		l.machine.Step(now, rested{}) // idle: it has no actions
	}
}

// begin starts an action. Its answer becomes an input.
func (l *loop) begin(ctx context.Context, a action) {
	if alarm, ok := a.(Alarm); ok {
		if l.Events.Alarm != nil {
			alarm.Index -= min(alarm.Index, l.machine.life.First)
			l.Events.Alarm(alarm)
		}
		return
	}
	l.work.Go(func() {
		in, err := l.perform(ctx, a)
		if err != nil {
			if errors.Is(err, fence.ErrStale) {
				l.end(err)
			}
			in = broke{Action: a, Unsure: !errors.Is(err, ErrOvertaken)}
			if !errors.Is(err, ErrOvertaken) {
				l.trouble(err)
			}
		}
		l.inbox.Put(in)
		if rows, is := in.(loaded); is {
			l.recheck(ctx, rows.Snapshot)
		}
	})
}

func (l *loop) trouble(err error) {
	if l.Events.Trouble != nil {
		l.Events.Trouble(err)
	}
}

// listen counts the intents that wait, every Repair. After a wake-up it tells the machine at once
// that one waits, and counts a little later: it may be a cancellation instead.
func (l *loop) listen(ctx context.Context) {
	look := time.NewTimer(l.Repair) // the first count comes with load
	defer look.Stop()
	soon := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
			l.inbox.Put(woken{Waits: Waits{Queued: 1}})
			if !soon { // more wake-ups do not delay the count further
				look.Reset(lull)
			}
			soon = true
			continue
		case <-look.C:
			look.Reset(l.Repair)
			soon = false
		}
		waits, err := l.waiting(ctx)
		if err != nil {
			l.trouble(err)
			continue
		}
		l.inbox.Put(woken{Waits: waits, Counted: true}) // also that nothing waits: an alarm may end with that
	}
}

func (l *loop) waiting(ctx context.Context) (Waits, error) {
	ctx, cancel := context.WithTimeout(ctx, l.Longest)
	defer cancel()
	return l.Store.Waiting(ctx, l.Account)
}

// follow passes the turns of the chain to the machine. After an error it goes on where it was; only if
// the driver no longer knows the blocks between is the thread lost.
func (l *loop) follow(ctx context.Context, stream uint64) {
	tell := func(in input) { l.inbox.Put(streamed{in, stream}) }
	var last chain.Block // the head as of the last turn that the machine was told
	for ctx.Err() == nil {
		gone := false // what was followed
		for turn, err := range l.Chain.Heads(ctx, last) {
			var in input
			if err == nil {
				in, err = l.insist(ctx, turn)
			}
			if err != nil {
				if errors.Is(err, chain.ErrThread) || errors.Is(err, chain.ErrForeign) {
					gone = last.Hash != "" // else nothing was followed yet
					last = chain.Block{}
				}
				if ctx.Err() == nil {
					l.trouble(err)
				}
				break
			}
			tell(in)
			switch turn.Kind {
			case chain.Applied:
				last = turn.Block
			case chain.Reverted:
				last = chain.Block{Number: turn.Block.Number - 1, Hash: turn.Block.Parent}
			case chain.Finalized:
			}
		}
		if gone {
			tell(lost{})
		}
		_ = pause.For(ctx, l.Retry)
	}
}

// turnTries is how often a block is read before the stream of heads begins anew: a backend that does not
// know the block yet may have answered.
const turnTries = 5

func (l *loop) insist(ctx context.Context, turn chain.Turn) (in turned, err error) {
	for try := range turnTries {
		if try > 0 && pause.For(ctx, l.Retry/turnTries) != nil {
			break
		}
		if in, err = l.turned(ctx, turn); err == nil || errors.Is(err, chain.ErrForeign) {
			break
		}
	}
	return in, err
}

func (l *loop) turned(ctx context.Context, turn chain.Turn) (in turned, err error) {
	in.Turn = turn
	if turn.Kind != chain.Applied {
		return in, nil
	}
	if in.Inclusions, err = l.Chain.Inclusions(ctx, turn.Block, []chain.Account{l.Account}); err != nil {
		return in, err
	}
	// Only now, when the block could be read: the height is stored with slots, as that from which a search begins.
	l.headed.Store(turn.Block.Number + 1)
	if l.era > 0 {
		if in.Version, err = l.Chain.Version(ctx, turn.Block); err != nil {
			return in, err
		}
	}
	in.Count, err = l.Chain.Next(ctx, l.Account)
	return in, err
}
