package pendingtest

import (
	"fmt"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
)

// Until when an attempt is good, and for which version of the chain, is kept beside those that say nothing of it.
func whatWearsOutIsKept(t *testing.T, f Fixture) {
	in := f.accept(t, "k", 1)
	wearing := attempt(1, "a")
	wearing.Until, wearing.Version = 64, "1/2"
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID), {Index: 1, Since: 7, Attempts: []chain.Signed{wearing}}}})
	anew := attempt(0, "b")
	anew.Until, anew.Version = 99, "2"
	f.write(t, pending.Batch{Attempts: []pending.Slot{{Index: 0, Before: 1, Attempts: []chain.Signed{anew}}}})
	var got []string
	for _, s := range f.load(t, 0).Slots {
		for _, a := range s.Attempts {
			got = append(got, fmt.Sprintf("%s %d %s", string(a.Hash), a.Until, a.Version))
		}
	}
	if fmt.Sprint(got) != "[0a 0  0b 99 2 1a 64 1/2]" {
		t.Errorf("attempts: got %s", got)
	}
}
