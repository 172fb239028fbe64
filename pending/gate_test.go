package pending

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// noting is a store and a chain that note what they are asked for.
type noting struct {
	chain.Chain
	*Memory
	did   []string
	fault error // of the next Write, Settle or Describe
}

func (n *noting) Submit(context.Context, []chain.Signed) []chain.Outcome {
	n.did = append(n.did, "submit")
	return []chain.Outcome{{Verdict: chain.Accepted}}
}

func (n *noting) Prepare(context.Context, []chain.Draft) ([]chain.Prepared, error) {
	n.did = append(n.did, "prepare")
	return nil, nil
}

func (n *noting) Describe(context.Context) (chain.Description, error) {
	n.did = append(n.did, "describe")
	return chain.Description{}, n.fault
}

func (n *noting) Next(context.Context, chain.Account) (uint64, error) { return 0, nil }

func (n *noting) Counts(context.Context, []chain.Account) ([]uint64, error) { return nil, nil }

func (n *noting) Write(context.Context, fence.Token, Batch) error {
	n.did = append(n.did, "write")
	return n.fault
}

func (n *noting) Settle(context.Context, fence.Token, chain.Account, uint64) error {
	n.did = append(n.did, "settle")
	return n.fault
}

// gated is a loop of a token behind a gate that is open for another one, or for none.
func gated(open fence.Token) (*loop, *noting) {
	gate, latch := fence.New("s", fence.Boottime)
	if open.Epoch > 0 {
		latch.Open(open, 0, fence.Boottime().Add(time.Hour))
	}
	n := &noting{Memory: &Memory{}}
	return &loop{
		Config: Config{Account: "a", Chain: n, Store: n, Longest: time.Minute, Sequence: new(Sequence), Retry: time.Second},
		gate:   gate, token: fence.Token{Scope: "s", Epoch: 1, Term: fence.Term{1}}, mostFee: limitOf(chain.Fee{}),
	}, n
}

// S15: nothing is sent, stored or settled but through the gate, which is that of this very term: one that leads again under a newer token is
// somebody else.
func TestNothingPassesAShutGate(t *testing.T) {
	t.Parallel()
	own := fence.Token{Scope: "s", Epoch: 1, Term: fence.Term{1}}
	for name, c := range map[string]struct {
		open fence.Token
		want []string
	}{
		"open":            {own, []string{"submit", "write", "settle"}},
		"shut":            {fence.Token{}, nil},
		"of another term": {fence.Token{Scope: "s", Epoch: 2, Term: fence.Term{2}}, nil},
	} {
		l, n := gated(c.open)
		l.unsettled.Store(true)
		in, _ := l.submit(t.Context(), submit{Attempts: []chain.Signed{{Index: 7, Hash: "x"}}}).(sent)
		if taken := in.Outcomes[0].Verdict == chain.Accepted; taken != (c.want != nil) || in.Attempts[0].Index != 7 {
			t.Errorf("%s: the answer is %+v", name, in.Outcomes[0])
		}
		for what, err := range map[string]error{"write": l.write(t.Context(), Batch{}), "settle": l.settle(t.Context())} {
			if (err == nil) != (c.want != nil) {
				t.Errorf("%s: %s returns %v", name, what, err)
			}
		}
		slices.Sort(n.did)
		if want := slices.Sorted(slices.Values(c.want)); !slices.Equal(n.did, want) {
			t.Errorf("%s: it did %q, want %q", name, n.did, want)
		}
	}
}

// A write without an answer may still be carried out. Until one that fences it has succeeded, no rows are read.
func TestWhatMayStillBeWrittenIsSettledFirst(t *testing.T) {
	t.Parallel()
	l, n := gated(fence.Token{Scope: "s", Epoch: 1, Term: fence.Term{1}})
	n.fault = errors.New("no answer")
	if err := l.write(t.Context(), Batch{}); err == nil || !l.unsettled.Load() {
		t.Errorf("after a write with the error %v it is unsettled %v", err, l.unsettled.Load())
	}
	if err := l.settle(t.Context()); err == nil || !l.unsettled.Load() {
		t.Errorf("after a settling with the error %v it is unsettled %v", err, l.unsettled.Load())
	}
	if _, err := l.perform(t.Context(), load{}); err == nil {
		t.Error("the rows were read")
	}
	n.fault = nil
	if err := l.settle(t.Context()); err != nil || l.unsettled.Load() {
		t.Errorf("settled with the error %v, it is unsettled %v", err, l.unsettled.Load())
	}
}

// What was seen of the chain is gone when the rows are read once more, so the endpoint says first which chain it serves.
func TestAnEndpointIsAskedWhichChainItServes(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} {
		l, n := gated(fence.Token{Scope: "s", Epoch: 1, Term: fence.Term{1}})
		l.held, l.loaded, n.fault = usual, again, chain.ErrForeign
		if _, err := l.perform(t.Context(), load{}); errors.Is(err, chain.ErrForeign) != again {
			t.Errorf("loaded before %v: the error is %v", again, err)
		}
	}
}

// An intent may have left its slot for the queue when its call is to be signed once more. An empty call creates a contract: nothing is signed.
func TestACallThatHasLeftIsNotSigned(t *testing.T) {
	t.Parallel()
	l, n := gated(fence.Token{Scope: "s", Epoch: 1, Term: fence.Term{1}})
	l.headed.Store(1)
	if _, err := l.perform(t.Context(), replace{Replacements: []replacement{{Index: 3, Before: 1}}}); err == nil || len(n.did) > 0 {
		t.Errorf("it did %q, and the error is %v", n.did, err)
	}
}

// A token that the store calls stale ends the leadership: to go on would be refused each time.
func TestAStaleTokenEndsTheTerm(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{fence.ErrStale, errors.New("no answer")} {
		l, n := gated(fence.Token{Scope: "s", Epoch: 1, Term: fence.Term{1}})
		n.fault = fault
		l.inbox = step.NewInbox[input]()
		ctx, end := context.WithCancelCause(t.Context())
		l.end = end
		l.begin(ctx, save{})
		l.work.Wait()
		if stale := errors.Is(context.Cause(ctx), fence.ErrStale); stale != errors.Is(fault, fence.ErrStale) {
			t.Errorf("after %v: the term has ended %v", fault, stale)
		}
		if all := l.inbox.Take(); len(all) != 1 {
			t.Errorf("after %v: the machine is told %v", fault, all)
		}
	}
}

// turning is a chain whose heads are told once, and then the thread is lost, or the endpoint.
type turning struct {
	emptyChain
	turns []chain.Turn
	fault error
	from  []chain.Block
	ended context.CancelFunc
}

func (c *turning) Heads(_ context.Context, from chain.Block) iter.Seq2[chain.Turn, error] {
	if c.from = append(c.from, from); len(c.from) == 2 {
		c.ended()
	}
	return func(yield func(chain.Turn, error) bool) {
		for _, one := range c.turns {
			if !yield(one, nil) {
				return
			}
		}
		c.turns = nil
		yield(chain.Turn{}, c.fault)
	}
}

// After an error the heads are followed from the last one that the machine was told: that below, if the last word was that it had left. If
// the driver does not know the blocks between, the machine is told that it has lost the thread.
func TestWhereAStreamGoesOn(t *testing.T) {
	t.Parallel()
	applied := chain.Turn{Kind: chain.Applied, Block: chain.Block{Number: 5, Hash: "5", Parent: "4"}}
	left := chain.Turn{Kind: chain.Reverted, Block: applied.Block}
	for name, c := range map[string]struct {
		turns []chain.Turn
		fault error
		from  chain.Block
		lost  bool
	}{
		"after a head":         {[]chain.Turn{applied}, chain.ErrUnreachable, applied.Block, false},
		"after one that left":  {[]chain.Turn{applied, left}, chain.ErrUnreachable, chain.Block{Number: 4, Hash: "4"}, false},
		"without a thread":     {[]chain.Turn{applied}, chain.ErrThread, chain.Block{}, true},
		"before the first one": {nil, chain.ErrThread, chain.Block{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				driver := &turning{turns: c.turns, fault: c.fault, ended: cancel}
				l := &loop{Config: Config{Account: "a", Chain: driver, Retry: time.Second}, inbox: step.NewInbox[input]()}
				l.follow(ctx, 0)
				if got := driver.from[len(driver.from)-1]; got != c.from {
					t.Errorf("it goes on from %+v, want %+v", got, c.from)
				}
				said := slices.ContainsFunc(l.inbox.Take(), func(in input) bool {
					one, _ := in.(streamed)
					_, is := one.what.(lost)
					return is
				})
				if said != c.lost {
					t.Errorf("the thread is lost %v, want %v", said, c.lost)
				}
			})
		})
	}
}
