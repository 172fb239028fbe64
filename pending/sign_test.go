package pending

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// choosy is a chain that refuses some calls, by their data.
type choosy struct {
	chain.Chain
	refuses map[string]error
}

func (c choosy) Prepare(_ context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	signed := make([]chain.Prepared, len(drafts))
	for i, d := range drafts {
		signed[i].Signed = chain.Signed{Account: d.Account, Index: d.Index, Hash: chain.Hash(fmt.Sprint(d.Index)), Bytes: []byte("x")}
		signed[i].Err = c.refuses[string(d.Call.Data)]
	}
	return signed, nil
}

// T18: an intent that a node refuses again and again with an unrecognised error, while it accepts
// others, is rejected with that error, and the intents behind it go on. An error that says nothing
// about the intent never rejects it.
func TestAnIntentThatIsRefusedForeverIsGivenUpAlone(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, c := range map[string]struct {
		why   error
		every time.Duration // the pause between two tries
		tries int           // the try that rejects it; 0: none
	}{
		"an unrecognised error":  {fmt.Errorf("%w: a flux capacitor is missing", chain.ErrUnclear), minute, maxUnclearTries},
		"the same, fast blocks":  {fmt.Errorf("%w: a flux capacitor is missing", chain.ErrUnclear), time.Second, 1 + int(minUnclearTime/time.Second)},
		"a call that fails":      {fmt.Errorf("%w: reverted", chain.ErrCall), minute, 3},
		"the node's own trouble": {fmt.Errorf("%w: missing trie node", chain.ErrAnswer), minute, 0},
		"no answer":              {chain.ErrUnreachable, minute, 0},
		"no funds":               {chain.ErrFunds, minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &Memory{}
			for _, data := range []string{"good", "odd", "behind it"} {
				if _, err := store.Accept(t.Context(), Intent{Account: "a", Call: chain.Call{Data: []byte(data)}}); err != nil {
					t.Fatal(err)
				}
			}
			now := time.Unix(1, 0)
			store.Now = func() time.Time { return now }
			l := &loop{
				Config:  Config{Account: "a", Chain: choosy{refuses: map[string]error{"odd": c.why}}, Store: store, Longest: time.Minute, Sequence: new(Sequence)},
				gate:    fence.Standalone("s", "h"),
				mostFee: limitOf(chain.Fee{}),
			}
			l.headed.Store(1)
			odd, id := store.Records()[1], fmt.Sprintf("%x", store.Records()[1].ID[:4])
			next := uint64(0)
			for try := 1; try <= 10*maxUnclearTries; try++ {
				l.headed.Store(uint64(try))
				now = now.Add(c.every)
				in, err := l.perform(t.Context(), assign{First: next, Most: 3, Best: next, RejectAfter: 15 * time.Second})
				got, is := in.(stored)
				if err != nil || !is {
					t.Fatalf("assign: got %+v, error %v; want stored", in, err)
				}
				next += uint64(len(got.Slots))
				is = errors.Is(got.Hold, c.why)
				if odd, err = store.Get(t.Context(), odd.ID); err != nil {
					t.Fatal(err)
				}
				if odd.Fate == Rejected {
					if try != c.tries || got.Hold != nil || odd.Why != c.why.Error() {
						t.Fatalf("rejected at try %d, want %d: %+v, held by %v", try, c.tries, odd, got.Hold)
					}
					break
				}
				if !is || !strings.Contains(got.Hold.Error(), "transaction "+id) || got.Left != 2 {
					t.Fatalf("try %d: held by %v with %d left, want %v of transaction %s with 2 left", try, got.Hold, got.Left, c.why, id)
				}
			}
			if (odd.Fate == Rejected) != (c.tries > 0) {
				t.Fatalf("after all tries: %+v, want rejected: %v", odd, c.tries > 0)
			}
			if c.tries == 0 {
				return
			}
			if _, err := l.perform(t.Context(), assign{First: next, Most: 3}); err != nil {
				t.Fatal(err)
			}
			if last := store.Records()[2]; last.Index == nil || *last.Index != 1 {
				t.Errorf("the intent behind it: %+v, want nonce 1", last)
			}
		})
	}
}

// W8: what carries a call stops below the account's limit, so that a filler can still replace it.
func TestACallLeavesRoomForItsCancellation(t *testing.T) {
	t.Parallel()
	store := &Memory{}
	in, err := store.Accept(t.Context(), Intent{Account: "a", Call: chain.Call{Data: []byte("pay")}})
	if err != nil {
		t.Fatal(err)
	}
	asked := &asked{}
	l := &loop{
		Config: Config{
			Account: "a", Chain: asked, Store: store, Longest: time.Minute, Sequence: new(Sequence), MostFee: chain.Fee{Max: big.NewInt(100)},
			Clock: func() fence.Instant { return 0 },
		},
		gate: fence.Standalone("s", "h"),
	}
	l.mostFee = limitOf(l.MostFee)
	l.headed.Store(1)
	for _, a := range []action{
		assign{Most: 1},
		replace{Replacements: []replacement{{Before: 1, Gas: 5}}},
		replace{Replacements: []replacement{{Before: 2}}},
		replace{Replacements: []replacement{{Before: 3, Gas: 5, Filler: true}}},
	} {
		if _, err := l.perform(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	got := make([]string, len(asked.drafts))
	for i, d := range asked.drafts {
		got[i] = fmt.Sprint(d.Most.Max, " ", d.Call.Gas)
	}
	if want := []string{"80 0", "80 5", "80 0", "100 5"}; !slices.Equal(got, want) {
		t.Errorf("%s: limits and gas %q, want %q", in.ID, got, want)
	}
}

// leaving is a store from whose queue the first intent goes while it is tried.
type leaving struct {
	*Memory
	asked int
}

func (s *leaving) Queue(ctx context.Context, account chain.Account, relaxed bool, most int) (Queue, error) {
	if s.asked++; s.asked == 2 {
		if err := s.Cancel(ctx, s.Records()[0].ID); err != nil {
			return Queue{}, err
		}
	}
	return s.Memory.Queue(ctx, account, relaxed, most)
}

// The queue is read again behind an intent that was refused. If that one has gone meanwhile, others have its place, and what was said of it
// would be said of them.
func TestARefusalIsOfTheIntentThatWasTried(t *testing.T) {
	t.Parallel()
	store := &leaving{Memory: &Memory{}}
	for _, data := range []string{"odd", "pay 1", "pay 2"} {
		if _, err := store.Accept(t.Context(), Intent{Account: "a", Call: chain.Call{Data: []byte(data)}}); err != nil {
			t.Fatal(err)
		}
	}
	l := &loop{
		Config: Config{
			Account: "a", Chain: choosy{refuses: map[string]error{"odd": chain.ErrCall}}, Store: store, Longest: time.Minute, MaxBatch: 4, Sequence: new(Sequence),
		},
		gate:    fence.Standalone("s", "h"),
		mostFee: limitOf(chain.Fee{}),
	}
	l.headed.Store(1)
	if _, err := l.perform(t.Context(), assign{Most: 1}); err != nil {
		t.Fatal(err)
	}
	if all := store.Records(); store.asked != 2 || all[0].Fate != Cancelled || all[1].Refusal.Times > 0 || all[1].Index != nil {
		t.Errorf("the queue was read %d times, and its intents are %+v", store.asked, all)
	}
}

func limitOf(fee chain.Fee) *atomic.Pointer[chain.Fee] {
	limit := new(atomic.Pointer[chain.Fee])
	limit.Store(&fee)
	return limit
}

// asked is a chain that notes what it was asked to sign.
type asked struct {
	choosy
	drafts []chain.Draft
	times  int
}

func (a *asked) Prepare(ctx context.Context, drafts []chain.Draft) ([]chain.Prepared, error) {
	a.drafts, a.times = append(a.drafts, drafts...), a.times+1
	return a.choosy.Prepare(ctx, drafts)
}
