package pending

import (
	"testing"

	"github.com/conchhq/conch/chain"
)

// One reading of a block serves all claims about it. A receipt, a signature and a count are asked for one by one.
func TestWhatClaimsRead(t *testing.T) {
	t.Parallel()
	in := func(block chain.Hash) claim { return claim{inclusion: inclusion{Block: chain.Block{Hash: block}}} }
	failed, foreign, counts := in("a"), in("a"), in("a")
	failed.Failed, foreign.Foreign, counts.Counts = true, true, true
	for name, c := range map[string]struct {
		claims []claim
		want   int
	}{
		"none":             {},
		"one block":        {[]claim{in("a"), in("a"), in("a")}, 1},
		"two blocks":       {[]claim{in("a"), in("a"), in("b"), in("b")}, 2},
		"there and back":   {[]claim{in("a"), in("b"), in("a")}, 3},
		"failed":           {[]claim{in("a"), failed, failed}, 3},
		"foreign":          {[]claim{foreign, in("a"), foreign}, 3},
		"counts":           {[]claim{counts, counts}, 2},
		"beside the count": {[]claim{in("a"), counts, in("a")}, 3},
	} {
		if got := readsOf(c.claims); got != c.want {
			t.Errorf("%s: they read %d times, want %d", name, got, c.want)
		}
	}
}
