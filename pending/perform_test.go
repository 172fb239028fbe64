package pending

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/fence"
)

// slowSigner signs one draft, and then waits in vain until ctx ends.
type slowSigner struct{ chain.Chain }

func (slowSigner) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	<-ctx.Done()
	signed := make([]chain.Prepared, len(drafts))
	for i, d := range drafts {
		signed[i].Signed = chain.Signed{Account: d.Account, Index: d.Index, Hash: chain.Hash(fmt.Sprint(d.Index)), Bytes: []byte("x")}
		if i > 0 {
			signed[i].Err = fmt.Errorf("%w: %w", chain.ErrKey, context.Cause(ctx))
		}
	}
	return signed, nil
}

// mortal is a store that refuses a write whose context has ended.
type mortal struct{ *Memory }

func (s mortal) Write(ctx context.Context, t fence.Token, b Batch) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return s.Memory.Write(ctx, t, b)
}

// What a slow signer has signed is stored even though its time is up. Otherwise the same intents
// would be signed again and again.
func TestWhatWasSignedInTimeIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := mortal{&Memory{}}
		for range 3 {
			if _, err := store.Accept(t.Context(), Intent{Account: "a"}); err != nil {
				t.Fatal(err)
			}
		}
		l := &loop{
			Config: Config{Account: "a", Chain: slowSigner{}, Store: store, Longest: time.Second, Sequence: new(Sequence)},
			gate:   fence.Standalone("s", "h"), mostFee: limitOf(chain.Fee{}),
		}
		l.headed.Store(1)
		in, err := l.perform(t.Context(), assign{First: 0, Most: 3})
		got, is := in.(stored)
		if err != nil || !is || len(got.Slots) != 1 || !errors.Is(got.Hold, chain.ErrKey) || got.Left != 2 {
			t.Fatalf("assign: got %+v, error %v; want one slot, held by a key, 2 left", in, err)
		}
		if n := len(store.AllAttempts("a")); n != 1 {
			t.Errorf("%d attempts are stored, want 1", n)
		}
		in, err = l.perform(t.Context(), replace{Replacements: []replacement{{Index: 0, Before: 1}, {Index: 1, Filler: true, Gap: true}}})
		if got, is = in.(stored); err != nil || !is || len(got.Slots) != 1 {
			t.Fatalf("replace: got %+v, error %v; want one slot", in, err)
		}
		if n := len(store.AllAttempts("a")); n != 2 {
			t.Errorf("%d attempts are stored, want 2", n)
		}
	})
}

// An endpoint that answers every question and accepts no transaction is reported.
func TestARefusedSendIsReported(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[chain.Verdict]bool{
		chain.Unknown: true, chain.Refused: true, chain.Full: true, chain.Accepted: false, chain.Known: false, chain.NoFunds: false,
	} {
		var heard error
		l := &loop{Config: Config{Events: Events{Trouble: func(err error) { heard = err }}}}
		l.complain(sent{Attempts: []chain.Signed{{}, {Index: 7}}, Outcomes: []chain.Outcome{{Verdict: chain.Accepted}, {Verdict: verdict, Text: "no such method"}}})
		if said := errors.Is(heard, chain.ErrAnswer) && strings.Contains(heard.Error(), "nonce 7") && strings.Contains(heard.Error(), "no such method"); said != want {
			t.Errorf("verdict %v: reported %v, want a report: %v", verdict, heard, want)
		}
	}
}

// emptyChain is a chain that signs anything and has nothing in its blocks.
type emptyChain struct{ chain.Chain }

func (emptyChain) Prepare(_ context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	return make([]chain.Prepared, len(drafts)), nil
}

func (emptyChain) Inclusions(context.Context, chain.Block, []chain.Account) ([]chain.Inclusion, error) {
	return nil, nil
}

func (emptyChain) Next(context.Context, chain.Account) (uint64, error) { return 0, nil }

// Nothing is signed before the first head is known: its slot would seem as old as the chain, and a
// search for it would begin at the first block.
func TestNoSlotIsOlderThanTheTerm(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]action{
		"assign": assign{Most: 1}, "replace": replace{Replacements: []replacement{{Filler: true, Gap: true}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			store := &Memory{}
			if _, err := store.Accept(t.Context(), Intent{Account: "a"}); err != nil {
				t.Fatal(err)
			}
			l := &loop{
				Config: Config{Account: "a", Chain: emptyChain{}, Store: store, Longest: time.Second, Sequence: new(Sequence)},
				gate:   fence.Standalone("s", "h"), mostFee: limitOf(chain.Fee{}),
			}
			if in, err := l.perform(t.Context(), do); err == nil {
				t.Errorf("%s without a head: got %+v, want an error", name, in)
			}
			answered := make(chan input)
			go func() {
				in, err := l.perform(t.Context(), do)
				if err != nil {
					t.Error(err)
				}
				answered <- in
			}()
			tell := func(height uint64) {
				turn := chain.Turn{Kind: chain.Applied, Block: chain.Block{Number: height}}
				if _, err := l.turned(t.Context(), turn); err != nil {
					t.Fatal(err)
				}
			}
			tell(500)
			got, is := (<-answered).(stored)
			if !is || len(got.Slots) != 1 || got.Slots[0].Since != 500 {
				t.Errorf("%s: got %+v, want one slot since 500", name, got)
			}
			tell(501)
		})
	}
}

// slow is a store whose writes take a while. It closes begun when a write begins.
type slow struct {
	*Memory
	takes time.Duration
	begun chan struct{}
}

func (s slow) Write(ctx context.Context, t fence.Token, b Batch) error {
	close(s.begun)
	timer := time.NewTimer(s.takes)
	defer timer.Stop()
	select {
	case <-timer.C:
		return s.Memory.Write(ctx, t, b)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// A drain does not cancel a write in flight, which would leave its result unknown and cost a
// connection, unless the write takes too long.
func TestAWriteEndsAfterTheGateIsShut(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]bool{writeGrace / 2: true, 2 * writeGrace: false} {
		synctest.Test(t, func(t *testing.T) {
			store := slow{&Memory{}, takes, make(chan struct{})}
			gate, latch := fence.New("s", fence.Boottime)
			latch.Open(fence.Token{Scope: "s"}, 0, fence.Boottime().Add(time.Hour))
			ctx, stop := context.WithCancel(t.Context())
			l := &loop{Config: Config{Account: "a", Store: store, Longest: time.Second, Sequence: new(Sequence)}, gate: gate}
			ended := make(chan error)
			go func() { ended <- l.write(ctx, Batch{}) }()
			<-store.begun
			latch.Shut(fence.ErrShut)
			stop()
			if err := <-ended; (err == nil) != want {
				t.Errorf("a write of %s when the gate shut: error %v, want it stored: %v", takes, err, want)
			}
		})
	}
}

// counts is a chain that knows the account's count and nothing else. Its first answers are low.
type counts struct {
	chain.Chain
	best uint64
	low  []uint64
}

func (c *counts) Next(context.Context, chain.Account) (uint64, error) {
	if len(c.low) > 0 {
		low := c.low[0]
		c.low = c.low[1:]
		return low, nil
	}
	return c.best, nil
}

// storedRows is a store with slots for the nonces 0 to 9, of which those below final are final.
type storedRows struct {
	*Memory
	final uint64
	read  []uint64
}

func (s *storedRows) Load(_ context.Context, _ chain.Account, from uint64, _ int) (snap Snapshot, err error) {
	s.read = append(s.read, from)
	for index := range uint64(10) {
		if final := index < s.final; !final || index >= from {
			snap.Slots = append(snap.Slots, Slot{Index: index, Final: final})
		}
	}
	snap.Next = 10
	return snap, nil
}

// Load reads final rows only if the chain does not count their nonces as used, or no longer (S20). An
// endpoint that is behind for one answer is no such chain.
func TestFinalRowsAreReadIfTheChainTookThemBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		stored, best uint64
		low          []uint64
		read         []uint64
		lowest       uint64
	}{
		"as stored":           {5, 9, nil, []uint64{math.MaxInt64}, 5},
		"all is final":        {10, 12, nil, []uint64{math.MaxInt64}, 10},
		"taken back":          {5, 3, nil, []uint64{math.MaxInt64, 3}, 3},
		"a chain made anew":   {10, 0, nil, []uint64{math.MaxInt64, 0}, 0},
		"nothing was stored":  {0, 0, nil, []uint64{math.MaxInt64}, 0},
		"one answer is old":   {5, 9, []uint64{2}, []uint64{math.MaxInt64}, 5},
		"two answers are old": {5, 9, []uint64{2, 2}, []uint64{math.MaxInt64, 2}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &storedRows{Memory: &Memory{}, final: c.stored}
			l := &loop{Config: Config{Account: "a", Chain: &counts{best: c.best, low: c.low}, Store: store, Longest: time.Second}}
			in, err := l.perform(t.Context(), load{noFinal})
			got, is := in.(loaded)
			if err != nil || !is || !slices.Equal(store.read, c.read) {
				t.Fatalf("load: got %+v, read from %v, error %v; want rows from %v", in, store.read, err, c.read)
			}
			if n := uint64(len(got.Snapshot.Slots)); n != 10-c.lowest {
				t.Errorf("%d slots, want the nonces %d to 9", n, c.lowest)
			}
		})
	}
}

// A snapshot has every slot from a nonce on if each is in it, alone or in a run.
func TestWhatASnapshotHas(t *testing.T) {
	t.Parallel()
	snap := Snapshot{Next: 10, Slots: []Slot{{Index: 3}, {Index: 7}, {Index: 8}, {Index: 9}}, Runs: []Run{{First: 0, Last: 1}, {First: 4, Last: 6}}}
	for from := range uint64(12) {
		if got, want := snap.has(from), from >= 3; got != want {
			t.Errorf("it has all from %d on: %v, want %v", from, got, want)
		}
	}
}

// unread is a chain whose blocks cannot be read by their hashes.
type unread struct{ chain.Chain }

func (unread) Inclusions(context.Context, chain.Block, []chain.Account) ([]chain.Inclusion, error) {
	return nil, chain.ErrAnswer
}

// W2: the height of a head is not used before the head's block was read by its hash. It would be stored as the
// height from which a search for a nonce begins.
func TestAHeightThatNothingConfirms(t *testing.T) {
	t.Parallel()
	node := chaintest.New(chaintest.Config{})
	for _, c := range []struct {
		chain chain.Chain
		want  bool
	}{{unread{node.Line()}, false}, {node.Line(), true}} {
		l := &loop{Config: Config{Chain: c.chain}}
		_, err := l.turned(t.Context(), chain.Turn{Kind: chain.Applied, Block: node.Mine()})
		known := l.headed.Load() > 0
		if known != c.want || (err == nil) != c.want {
			t.Errorf("got error %v, and the height is known: %v, want %v", err, known, c.want)
		}
	}
}

// A turn that was under way when the loop began to rest is not taken for the head: the waiting times of the next
// transaction would begin there.
func TestATurnThatComesAfterTheRest(t *testing.T) {
	t.Parallel()
	l := &loop{
		Config: Config{Account: "a", Store: &Memory{}}.withDefaults(chain.Description{}), stream: 1,
	}
	l.machine = newMachine(l.settings())
	l.machine.rows.phase = working // idle, and so nothing is followed
	l.step(t.Context(), streamed{turned{Turn: chain.Turn{Block: chain.Block{Number: 5, Hash: "5"}}}, 0})
	if got := l.machine.head; got != (chain.Block{}) {
		t.Errorf("the head is %+v, want none", got)
	}
}
