package sequencer

import (
	"context"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	// mostStories is how many stories a node keeps: of the intents that were begun last.
	mostStories = 10_000
	// mostMoments is how many moments one story has at most: the first half, and the newest.
	mostMoments = 64
)

// Moment is something that happened to an intent, as its owner's node saw it.
type Moment struct {
	At        time.Time
	Event     string         // what happened, as the diagram of sequencer/states.md names it
	State     string         // in which the intent was then
	With      ledger.Account // its coordinator; empty if it has none
	Assembled ledger.Hash    // the attempt that it is about, or zero
	Endorsers []ledger.Account
	Block     uint64 // that has the intent, or in which it was judged; else 0
	Why       string // what it waits for, or why it is given up
	Times     int    // so often it has happened by then, in a row and with the same words; 0: once
}

// Told is a moment of an intent, and the stage that begins with it for its user. The stages are "stored" (the node owns it until it
// has ended), "dispatched" (it was handed to the chain), "included" (a block of the canonical chain has it), "skipped" (a block has
// skipped its attempt, and there will be another one), "rewound" (its block is no longer in the canonical chain), "ending" (it is
// given up, and may still land), and then "confirmed" or "reverted".
type Told struct {
	Contract string
	Sequence ledger.Sequence
	Key      string // its user's
	Stage    string // empty: none begins
	Moment
}

// storyKey names an intent of this node.
type storyKey struct {
	place    *place
	sequence ledger.Sequence
}

// chronicle has the stories of the newest intents. It belongs to the loop, and nothing depends on it: after a restart it
// is empty.
type chronicle struct {
	stories map[storyKey][]Moment
	order   []storyKey       // the one that began first in front
	repeats map[storyKey]int // so often the last moment has happened again
}

func newChronicle() *chronicle {
	return &chronicle{stories: map[storyKey][]Moment{}, repeats: map[storyKey]int{}}
}

// add writes a moment down, and reports whether it did. What happens again and again, such as a look for money that is not
// there, is written with its count when that has doubled.
func (h *chronicle) add(at storyKey, m Moment) bool {
	story, known := h.stories[at]
	if known && m.same(story[len(story)-1]) {
		h.repeats[at]++
		if m.Times = h.repeats[at] + 1; m.Times&(m.Times-1) != 0 {
			return false
		}
	} else {
		delete(h.repeats, at)
	}
	switch {
	case !known:
		if len(h.order) == mostStories {
			h.drop()
		}
		h.order = append(h.order, at)
	case len(story) == mostMoments:
		const half = mostMoments / 2
		copy(story[half:], story[half+1:])
		story = story[:mostMoments-1]
	}
	h.stories[at] = append(story, m)
	return true
}

// same reports whether two moments say the same, but for the time and the attempt.
func (m Moment) same(o Moment) bool {
	return m.Event == o.Event && m.State == o.State && m.With == o.With && m.Block == o.Block && m.Why == o.Why
}

func (h *chronicle) drop() {
	delete(h.stories, h.order[0])
	delete(h.repeats, h.order[0])
	if h.order = h.order[1:]; len(h.order) == 0 {
		*h = *newChronicle() // a map keeps the room that it once had
	}
}

// forget drops stories that the store has forgotten too.
func (h *chronicle) forget(now time.Time) {
	for len(h.order) > 0 {
		age, story := h.order[0].place.set.age(), h.stories[h.order[0]]
		last := story[len(story)-1]
		if ended := last.State == sender.Confirmed.String() || last.State == sender.Reverted.String(); !ended || age < 0 || now.Sub(last.At) < age {
			return
		}
		h.drop()
	}
}

// passed writes a step of one of the node's own intents down.
func (n *Node) passed(p *place, step sender.Passage) {
	m := Moment{At: time.Now(), Event: step.Event, State: step.To.String(), With: step.With, Assembled: step.Assembled, Block: step.Block, Why: step.Why}
	for _, place := range step.Endorsers {
		if members := p.set.Declared.Members; place < len(members) {
			m.Endorsers = append(m.Endorsers, members[place])
		}
	}
	if n.chronicle.add(storyKey{p, step.Sequence}, m) && n.cfg.Told != nil {
		n.cfg.Told(Told{p.address(), step.Sequence, step.Key, string(step.Stage), m})
	}
}

// Story returns what happened to an intent of this node since its start, the first thing first. The node keeps the
// stories of its newest intents; of others there is none.
func (n *Node) Story(ctx context.Context, address string, s ledger.Sequence) ([]Moment, error) {
	return ask(ctx, n, address, func(p *place, answer func([]Moment), _ func()) {
		answer(slices.Clone(n.chronicle.stories[storyKey{p, s}]))
	})
}
