package chain_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
)

// What each speed offers at a price of 100 with a suggested tip of 8, and for how long it waits, is as its comment says.
func TestSpeeds(t *testing.T) {
	t.Parallel()
	n := big.NewInt
	for _, c := range []struct {
		word  string
		least int64 // tip
		want  string
	}{
		{"normal", 1, "208/8 30s"}, {"slow", 1, "129/4 2m0s"}, {"fast", 1, "216/16 10s"},
		{"slow", 7, "132/7 2m0s"}, {"normal", 9, "209/9 30s"}, {"fast", 20, "220/20 10s"},
	} {
		s, err := chain.ParseSpeed(c.word)
		price, tip := n(100), n(8)
		fee := s.Suggest(price, tip, n(c.least))
		if got := fmt.Sprintf("%v/%v %v", fee.Max, fee.Tip, s.Patience(30*time.Second)); got != c.want || err != nil || s.String() != c.word {
			t.Errorf("%s, at least %d: got %s, error %v; want %s", c.word, c.least, got, err, c.want)
		}
		if price.Int64() != 100 || tip.Int64() != 8 {
			t.Errorf("%s has changed what it was given: %v, %v", c.word, price, tip)
		}
	}
	if _, err := chain.ParseSpeed("urgent"); err == nil {
		t.Error("urgent is a speed")
	}
	if wait := chain.Slow.Patience(-1); wait >= 0 {
		t.Errorf("slow waits %v of never, want never", wait)
	}
}
