package evm_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// paid is an answer to eth_feeHistory: what blocks were paid, of which the last one is empty.
func paid(rewards ...string) any {
	history := map[string]any{"oldestBlock": "0x1"}
	var of [][]string
	var used []float64
	for _, r := range rewards {
		of, used = append(of, []string{r}), append(used, 0.5)
	}
	history["reward"], history["gasUsedRatio"] = append(of, []string{"0x0"}), append(used, 0)
	return history
}

// F6: a client that suggests no tip says what blocks were paid, or has a price, which is the base fee and a tip. The
// tip is never below the lowest one configured. It is 0 only if there is none of this, since such an attempt waits
// for long.
func TestATipFromElsewhere(t *testing.T) {
	t.Parallel()
	signer, err := evm.OpenKeystore(files(t))
	if err != nil {
		t.Fatal(err)
	}
	missing := errors.New("the method does not exist")
	for name, c := range map[string]struct {
		said, history, price any
		least                int64
		tip                  int64
		want                 error
	}{
		"suggested":              {"0x5", paid("0x9"), missing, 0, 5, nil},
		"suggested too little":   {"0x5", missing, missing, 7, 7, nil},
		"paid of late":           {missing, paid("0x1", "0x3", "0x9", "0x2", "0x4"), "0x3b9aca07", 2, 3, nil},
		"empty blocks":           {missing, paid(), missing, 2, 2, nil},
		"no rewards":             {missing, map[string]any{"oldestBlock": "0x1"}, "0x3b9aca07", 0, 1e9, nil},
		"no tips":                {missing, missing, "0x3b9aca07", 0, 1e9, nil},
		"below the base fee":     {missing, missing, "0x1", 0, 0, nil},
		"no prices":              {missing, missing, missing, 0, 0, nil},
		"no prices, but a least": {missing, missing, missing, 1e8, 1e8, nil},
		"no answer for a tip":    {errNoAnswer, missing, "0x3b9aca07", 0, 0, chain.ErrUnreachable},
		"a limit for tips":       {errors.New("too many requests"), missing, "0x3b9aca07", 0, 0, chain.ErrAnswer},
		"a limit for histories":  {missing, errors.New("too many requests"), "0x3b9aca07", 0, 0, chain.ErrAnswer},
		"no answer for prices":   {missing, missing, errNoAnswer, 0, 0, chain.ErrUnreachable},
		"a limit for prices":     {missing, missing, errors.New("too many requests"), 0, 0, chain.ErrAnswer},
	} {
		cfg := evm.Config{ChainID: 1337, Signers: []evm.Signer{signer}, URL: serve(t, func(method string, params []json.RawMessage) any {
			switch method {
			case "eth_maxPriorityFeePerGas":
				return c.said
			case "eth_feeHistory":
				return c.history
			case "eth_gasPrice":
				return c.price
			}
			return healthy(method, params)
		})}
		if c.least > 0 {
			cfg.MinTip = big.NewInt(c.least)
		}
		draft := chain.Draft{Account: signer.Account(), Call: chain.Call{To: make([]byte, 20), Gas: 50_000}}
		all, err := open(t, cfg).Prepare(t.Context(), []chain.Draft{draft})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: got error %v, want %v", name, err, c.want)
		}
		if err == nil && (all[0].Err != nil || all[0].Fee.Tip.Int64() != c.tip) {
			t.Errorf("%s: got %+v, want a tip of %d", name, all[0], c.tip)
		}
	}
}

// F6: a raise goes to what is suggested now, and at least to the lowest tip configured; a limit below that allows no
// attempt, and both numbers are said.
func TestARaiseGoesToTheSuggestion(t *testing.T) {
	t.Parallel()
	n := &node{height: 5, asked: map[string]int{}}
	own := evm.NewKeystore(newKey(t))
	c := open(t, evm.Config{ChainID: 1337, URL: serve(t, n.say), Signers: []evm.Signer{own}, MinTip: big.NewInt(3e9)})
	draft := chain.Draft{Account: own.Account(), Call: chain.Call{To: make([]byte, 20), Gas: 21_000}}
	draft.Above = chain.Fee{Max: big.NewInt(50_000), Tip: new(big.Int)}
	got, err := c.Prepare(t.Context(), []chain.Draft{draft})
	if err != nil || got[0].Err != nil || got[0].Fee.Tip.Int64() != 3e9 {
		t.Errorf("a raise from a tip of 0: got %+v, error %v, want 3 gwei", got, err)
	}
	draft.Most = chain.Fee{Tip: big.NewInt(2e9)}
	got, err = c.Prepare(t.Context(), []chain.Draft{draft})
	if want := "has to be at least 3000000000, and at most 2000000000 is allowed"; err != nil || !errors.Is(got[0].Err, chain.ErrFee) || !strings.Contains(got[0].Err.Error(), want) {
		t.Errorf("a limit below the lowest tip: got %+v, error %v, want %q", got, err, want)
	}
}
