package pending

import (
	"testing"

	"github.com/conchhq/conch/chain"
)

// Z10: each end of an intent has one word, and what has not ended has none, whatever its slot says.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		r    Record
		want string
	}{
		{Record{}, ""},
		{Record{Fate: Open, Last: Change{Status: InBlock, Effect: chain.EffectOf(true)}}, ""},
		{Record{Fate: Open, Last: Change{Status: FinalityTimeout}}, ""},
		{Record{Fate: Open, Last: Change{Status: Usurped}}, ""},          // it waits for another slot
		{Record{Fate: Done, Last: Change{Status: Finalized}}, "unknown"}, // never success
		{Record{Fate: Done, Last: Change{Status: Finalized, Effect: chain.EffectOf(false)}}, "succeeded"},
		{Record{Fate: Done, Cancel: true, Last: Change{Status: Finalized, Effect: chain.EffectOf(false)}}, "succeeded"}, // the cancellation came too late
		{Record{Fate: Done, Last: Change{Status: Finalized, Effect: chain.EffectOf(true)}}, "reverted"},
		{Record{Fate: Done, Last: Change{Status: Finalized, Effect: chain.Effect{Kind: chain.EffectPartly, Why: "B"}}}, "partly"},
		{Record{Fate: Cancelled, Last: Change{Status: Usurped, Effect: chain.EffectOf(true)}}, "cancelled"}, // the filler has failed
		{Record{Fate: Rejected, Last: Change{Status: Usurped}}, "rejected"},
	} {
		if got := c.r.Outcome(); got != c.want {
			t.Errorf("%v %v: got the outcome %q, want %q", c.r.Fate, c.r.Last.Status, got, c.want)
		}
	}
}
