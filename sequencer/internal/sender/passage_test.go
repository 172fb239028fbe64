package sender

import "testing"

// Each way to an end has its stage, and a user can tell them apart: whatever brings an intent to a block, to an end or back.
func TestStages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		e        event
		from, to State
		want     Stage
	}{
		{rowStored, Storing, Waiting, StageStored},
		{rowStored, Storing, Reverting, StageStored},
		{foundTwice, Storing, Reverted, ""},
		{offered, Waiting, Delegated, ""},
		{handed, Granted, Noting, ""},
		{handedStored, Noting, Dispatched, StageDispatched},
		{landed, Dispatched, Included, StageIncluded},
		{landed, Waiting, Included, StageIncluded},
		{skippedMissing, Dispatched, Waiting, StageSkipped},
		{skippedFaulty, Noting, Ending, StageSkipped},
		{skippedStray, Dispatched, Dispatched, ""},
		{rewound, Included, Dispatched, StageRewound},
		{cancelled, Granted, Ending, StageEnding},
		{overdue, Waiting, Reverting, ""},
		{judgedDead, Ending, Reverting, ""},
		{final, Included, Confirming, ""},
		{resultStored, Confirming, Confirmed, StageConfirmed},
		{resultStored, Reverting, Reverted, StageReverted},
	} {
		if got := stageOf(c.e, c.from, c.to); got != c.want {
			t.Errorf("%v from %v to %v is %q, want %q", c.e, c.from, c.to, got, c.want)
		}
	}
	table := newTable()
	for e := range events {
		for from := range states {
			for _, to := range table[e][from].next {
				if ends := to == Confirmed || to == Reverted; ends && e != foundTwice && stageOf(e, from, to) != Stage(to.String()) {
					t.Errorf("%v ends an intent as %v, and its stage is %q", e, to, stageOf(e, from, to))
				}
			}
		}
	}
}
