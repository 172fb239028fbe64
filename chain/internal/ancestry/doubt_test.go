package ancestry_test

import (
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/internal/ancestry"
)

// W4: a backend that is behind, or on its own, now and then changes nothing; a head that stays
// lower is believed.
func TestDoubt(t *testing.T) {
	t.Parallel()
	last := chain.Block{Number: 9, Hash: "9"}
	var d ancestry.Doubt
	for look := range 50 {
		lower := look%5 != 0
		head := chain.Block{Number: 9}
		if lower {
			head.Number = 8
		}
		if d.Passes(last, head) != lower {
			t.Fatalf("look %d: a head of height %d was passed over: %v, want %v", look, head.Number, !lower, lower)
		}
	}
	d.Passes(last, last)
	for look := 1; look <= ancestry.MaxLower; look++ {
		if got := d.Passes(last, chain.Block{Number: 8}); got != (look < ancestry.MaxLower) {
			t.Errorf("look %d in a row: passed over %v", look, got)
		}
	}
	for look := 1; look < 5*ancestry.MaxUnlinked; look++ {
		if d.Linked(); look%3 > 0 {
			continue
		}
		if d.Unlinked() {
			t.Fatalf("the thread is lost at look %d, although most heads are linked", look)
		}
	}
	d.Linked()
	for look := 1; look <= ancestry.MaxUnlinked; look++ {
		if got := d.Unlinked(); got != (look == ancestry.MaxUnlinked) {
			t.Errorf("look %d at a head of another line: lost %v", look, got)
		}
	}
}
