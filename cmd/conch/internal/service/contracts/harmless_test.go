package contracts

import (
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
)

// Q5, W6: what this service sends may be sent again after a restore, and nothing else may.
func TestItsOwnCallsMayBeDoneTwice(t *testing.T) {
	t.Parallel()
	cfg, err := loaded(t, declaring("a1", "b1", "c1", "d1"))
	if err != nil {
		t.Fatal(err)
	}
	s := &service{section: *config.Of[*Section](cfg)}
	at := func(last byte) []byte { return append(make([]byte, 19), last) }
	for name, c := range map[string]struct {
		call chain.Call
		want bool
	}{
		"entries":             {chain.Call{To: at(0xa1), Data: []byte("entries")}, true},
		"a nudge":             {chain.Call{To: at(0xb1)}, true},
		"its own code":        {chain.Call{To: at(0xb1), Data: []byte("code")}, false}, // an account may have some
		"money":               {chain.Call{To: at(0xb1), Value: big.NewInt(1)}, false},
		"money to a contract": {chain.Call{To: at(0xa1), Value: big.NewInt(1)}, false},
		"another member":      {chain.Call{To: at(0xc1)}, false},
		"another contract":    {chain.Call{To: at(0xa2), Data: []byte("entries")}, false},
		"a creation":          {chain.Call{Data: []byte("code")}, false},
	} {
		if got := s.harmless(c.call); got != c.want {
			t.Errorf("%s: harmless is %t, want %t", name, got, c.want)
		}
	}
}
