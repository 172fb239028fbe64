package pending

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
)

// choosy is a chain that says of some calls why it takes them not.
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

// T18: an intent that a node refuses again and again, in words that nobody knows and
// while it takes others, is rejected in these words, and what waits behind it goes on.
// What says nothing of the intent never has it rejected, however often it is said.
func TestAnIntentThatIsRefusedForeverIsGivenUpAlone(t *testing.T) {
	t.Parallel()
	const minute = time.Minute
	for name, c := range map[string]struct {
		why   error
		every time.Duration // how often it is asked for
		tries int           // until it is given up; 0: never
	}{
		"words that nobody knows": {fmt.Errorf("%w: a flux capacitor is missing", chain.ErrUnclear), minute, bearable},
		"the same, of fast heads": {fmt.Errorf("%w: a flux capacitor is missing", chain.ErrUnclear), time.Second, 1 + int(bearableFor/time.Second)},
		"a call that fails":       {fmt.Errorf("%w: reverted", chain.ErrCall), minute, 1},
		"the node's own trouble":  {fmt.Errorf("%w: missing trie node", chain.ErrAnswer), minute, 0},
		"no answer":               {chain.ErrUnreachable, minute, 0},
		"no funds":                {chain.ErrFunds, minute, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &Memory{}
			for _, data := range []string{"good", "odd", "behind it"} {
				if _, err := store.Accept(t.Context(), Intent{Account: "a", Call: chain.Call{Data: []byte(data)}}); err != nil {
					t.Fatal(err)
				}
			}
			var now fence.Instant
			l := &loop{
				Config: Config{
					Account: "a", Chain: choosy{refuses: map[string]error{"odd": c.why}}, Store: store, Longest: time.Minute, Sequence: new(Sequence),
					Clock: func() fence.Instant { return now },
				},
				gate: fence.Standalone("s", "h"), headed: make(chan struct{}),
			}
			close(l.headed)
			odd, id := store.Records()[1], fmt.Sprintf("%x", store.Records()[1].ID[:4])
			next := uint64(0)
			for try := 1; try <= 10*bearable; try++ {
				now = now.Add(c.every)
				in, err := l.perform(t.Context(), assign{First: next, Most: 3})
				got, is := in.(stored)
				if err != nil || !is {
					t.Fatalf("%+v, %v", in, err)
				}
				next += uint64(len(got.Slots))
				is = errors.Is(got.Hold, c.why)
				if odd, err = store.Get(t.Context(), odd.ID); err != nil {
					t.Fatal(err)
				}
				if odd.Fate == Rejected {
					if try != c.tries || got.Hold != nil || odd.Why != c.why.Error() {
						t.Fatalf("given up at the try %d, want %d: %+v, held by %v", try, c.tries, odd, got.Hold)
					}
					break
				}
				if !is || !strings.Contains(got.Hold.Error(), "transaction "+id) || got.Left != 2 {
					t.Fatalf("try %d: held by %v, %d are left", try, got.Hold, got.Left)
				}
			}
			if (odd.Fate == Rejected) != (c.tries > 0) {
				t.Fatalf("%+v", odd)
			}
			if c.tries == 0 {
				return
			}
			if _, err := l.perform(t.Context(), assign{First: next, Most: 3}); err != nil {
				t.Fatal(err)
			}
			if last := store.Records()[2]; last.Index == nil || *last.Index != 1 {
				t.Errorf("what waited behind it: %+v", last)
			}
		})
	}
}

// Each intent is borne with for as long as any other.
func TestTheCountIsOfOneIntent(t *testing.T) {
	t.Parallel()
	var now fence.Instant
	l := &loop{Config: Config{Clock: func() fence.Instant { now = now.Add(bearableFor); return now }}}
	for range 3 {
		for try := 1; try < bearable; try++ {
			if l.hopeless(ID{1}, chain.ErrUnclear) {
				t.Fatalf("given up at the try %d", try)
			}
		}
		if l.hopeless(ID{2}, chain.ErrUnclear) {
			t.Fatal("another's tries were counted")
		}
	}
}
