package sequencer

import (
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/ledger"
)

// The chronicle has bounds: the newest stories, and of each its beginning and its newest moments.
func TestTheChronicleIsBounded(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	at := func(i int) storyKey { return storyKey{sequence: ledger.Sequence{Counter: uint64(i)}} }
	for i := range 2*mostStories + 5 {
		h.add(at(i), Moment{Block: uint64(i)})
	}
	if len(h.stories) != mostStories || len(h.order) != mostStories {
		t.Errorf("there are %d stories and %d keys, want %d", len(h.stories), len(h.order), mostStories)
	}
	if h.stories[at(mostStories+4)] != nil || h.stories[at(mostStories+5)] == nil || h.stories[at(2*mostStories+4)] == nil {
		t.Error("other stories than the oldest were forgotten")
	}
	last := at(2*mostStories + 4)
	for i := range 100 {
		h.add(last, Moment{Block: uint64(1000 + i)})
	}
	story := h.stories[last]
	if len(story) != mostMoments || story[1].Block != 1000 || story[mostMoments/2-1].Block != 1000+mostMoments/2-2 || story[mostMoments-1].Block != 1099 ||
		story[mostMoments/2].Block != 1100-mostMoments/2 {
		t.Errorf("the story is %+v, want its first and its last moments", story)
	}
}

// What waits for money is looked at once a second for days: it is written down when its words change, and then when the count
// has doubled. So the story says why it waits, how often it was looked at, and what was before.
func TestWhatHappensAgainIsCounted(t *testing.T) {
	t.Parallel()
	h := newChronicle()
	poor := Moment{Event: "asked for an attempt", State: "accepted", Why: "office has less than 100"}
	poorer := poor
	poorer.Why = "office has less than 200"
	written := 0
	for _, m := range slices.Concat([]Moment{{Event: "acknowledged", State: "accepted"}}, slices.Repeat([]Moment{poor}, 1000), []Moment{poorer, poorer, poor}) {
		if h.add(storyKey{}, m) {
			written++
		}
	}
	var times []int
	for _, m := range h.stories[storyKey{}] {
		times = append(times, m.Times)
	}
	if want := []int{0, 0, 2, 4, 8, 16, 32, 64, 128, 256, 512, 0, 2, 0}; !slices.Equal(times, want) || written != len(want) {
		t.Errorf("the counts of the story are %v, %d of them written; want %v", times, written, want)
	}
}
