package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/endpoints"
)

// notary is an endpoint that gives a receipt with so much gas; 0: it has none, below 0: it does not answer.
type notary struct {
	fake
	gas   int
	asked int
}

func (n *notary) Receipt(ctx context.Context, in chain.Inclusion) (r chain.Receipt, err error) {
	n.mu.Lock()
	n.asked++
	n.mu.Unlock()
	switch {
	case n.gas == 0:
		return r, chain.ErrNotFound
	case n.gas < 0:
		<-ctx.Done()
		return r, ctx.Err()
	}
	return chain.Receipt{Inclusion: in, GasUsed: uint64(n.gas), GasPrice: big.NewInt(1)}, nil
}

func (n *notary) AccountStates(context.Context, []chain.Account) ([]chain.AccountState, error) {
	if n.gas == 0 {
		return nil, chain.ErrAnswer
	}
	return []chain.AccountState{{Balance: big.NewInt(int64(n.gas))}}, nil
}

func notaries(t *testing.T, gas ...int) (*endpoints.Set, []*notary) {
	t.Helper()
	var all []*notary
	var members []endpoints.Endpoint
	for i, n := range gas {
		all = append(all, &notary{gas: n})
		members = append(members, endpoints.Endpoint{Name: fmt.Sprint(i), Chain: all[i]})
	}
	return set(t, members...), all
}

// W2: a receipt is what two endpoints say while none says anything else, or a majority. One that lies decides nothing, whichever is asked
// first, and one that says nothing holds up nobody.
func TestAReceiptHasTwoWitnesses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		says []int
		want string // the witnesses, or a part of the error
	}{
		"both":                      {[]int{7, 7}, "0 1"},
		"the first lies":            {[]int{9, 7}, "contradict"},
		"one of two has none":       {[]int{7, 0}, "only 0 has the receipt"},
		"none has one":              {[]int{0, 0}, "not in the chain"},
		"the first of three lies":   {[]int{9, 7, 7}, "1 2"},
		"the second of three lies":  {[]int{7, 9, 7}, "0 2"},
		"a third is not asked":      {[]int{7, 7, 9}, "0 1"},
		"one of three has none":     {[]int{0, 7, 7}, "1 2"},
		"one of three is silent":    {[]int{-1, 7, 7}, "1 2"},
		"one lies, one is silent":   {[]int{9, 7, -1}, "in time"},
		"one lies, one has none":    {[]int{9, 7, 0}, "contradict"},
		"two of four":               {[]int{9, 9, 7, 7}, "0 1"},
		"two of four, not at once":  {[]int{9, 7, 9, 7}, "contradict"},
		"three of four":             {[]int{9, 7, 7, 7}, "1 2"},
		"all say something else":    {[]int{1, 2, 3}, "contradict"},
		"both of two do not answer": {[]int{-1, -1}, "in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, all := notaries(t, c.says...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				r, err := chain.Witnessed(ctx, s, chain.Inclusion{Hash: "h"})
				got := strings.Join(r.By[:], " ")
				if err != nil {
					got = err.Error()
				}
				if (err == nil) != (len(c.want) == 3) || !strings.Contains(got, c.want) {
					t.Errorf("got %d gas by %q, %v, want %s", r.GasUsed, got, err, c.want)
				}
				if name == "a third is not asked" && all[2].asked > 0 {
					t.Error("the third was asked, although two agree")
				}
			})
		})
	}
}

// While every other endpoint has been silent for long about ends too, the only one is asked twice for a receipt, as it is for an end.
func TestAReceiptOfOneThatIsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, all := notaries(t, 7, 0)
		all[1].err = chain.ErrUnreachable
		for minute := range 12 {
			_, _ = s.Confirm(t.Context(), []chain.Claim{{By: "0"}})
			r, err := chain.Witnessed(t.Context(), s, chain.Inclusion{})
			if alone := minute >= 10; alone != (err == nil) || alone && r.By != [2]string{"0", "0"} || !alone && !errors.Is(err, chain.ErrUnreachable) {
				t.Errorf("after %d minutes: got %+v, %v", minute, r, err)
			}
			time.Sleep(time.Minute)
		}
	})
}

// How accounts stand is told by any endpoint that can, and none is left for it.
func TestAnyEndpointSaysHowAccountsStand(t *testing.T) {
	t.Parallel()
	s, _ := notaries(t, 0, 7)
	got, err := s.AccountStates(t.Context(), make([]chain.Account, 1))
	if err != nil || got[0].By != "1" || got[0].Balance.Int64() != 7 {
		t.Errorf("got %+v, %v, want the word of the second", got, err)
	}
	if n, err := s.Next(t.Context(), ""); err != nil || n != 0 {
		t.Errorf("got %d, %v", n, err)
	}
	s, _ = notaries(t, 0, 0)
	if _, err = s.AccountStates(t.Context(), nil); !errors.Is(err, chain.ErrAnswer) || !strings.Contains(err.Error(), "1: ") {
		t.Errorf("got %v, want both errors", err)
	}
}

// W2: an endpoint on a dead branch has the transaction there, in another block. Its receipt is not told, neither of the block that counts nor, by
// its word alone, of its own.
func TestAReceiptOfADeadBranch(t *testing.T) {
	t.Parallel()
	node := chaintest.New(chaintest.Config{Seed: 1})
	rich := node.Account("rich", 1<<60)
	node.Seal(node.Foreign(rich, 0))
	tx := node.Foreign(rich, 1)
	dead := node.Fork()
	dead.SetBaseFee(50)
	there, here := dead.Seal(tx), node.Seal(tx)
	s := set(t, endpoints.Endpoint{Name: "dead", Chain: dead.Line(), Weight: 2}, endpoints.Endpoint{Name: "a", Chain: node.Line()}, endpoints.Endpoint{Name: "b", Chain: node.Line()})
	in := chain.Inclusion{Account: rich, Index: 1, Hash: tx.Hash, Block: here, Effect: chain.EffectOf(false)}
	truth, err := node.Line().Receipt(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := chain.Witnessed(t.Context(), s, in); err != nil || r.By != [2]string{"a", "b"} || !r.Same(truth) {
		t.Errorf("got %+v, %v, want what the two others say", r, err)
	}
	in.Block = there
	if r, err := chain.Witnessed(t.Context(), s, in); err == nil || !strings.Contains(err.Error(), "only dead has the receipt") {
		t.Errorf("of the dead block: got %+v, %v, want none", r, err)
	}
}
