package chain_test

import (
	"testing"

	"github.com/conchhq/conch/chain"
)

// Every effect is read as it was written, and nothing else is. What nobody has set is not known.
func TestEffects(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]chain.Effect{
		"ok": chain.EffectOf(false), "failed": chain.EffectOf(true), "unknown": {},
		"failed: Arithmetic.Underflow":                         {Kind: chain.EffectFailed, Why: "Arithmetic.Underflow"},
		"partly: Utility.BatchInterrupted: Token.BelowMinimum": {Kind: chain.EffectPartly, Why: "Utility.BatchInterrupted: Token.BelowMinimum"},
	} {
		got, err := chain.ParseEffect(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%q: got %+v, error %v, which is written %q; want %+v", text, got, err, got, want)
		}
	}
	for _, text := range []string{"", "OK", "done", "failed:x"} {
		if got, err := chain.ParseEffect(text); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}
