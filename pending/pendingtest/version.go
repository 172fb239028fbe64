package pendingtest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// Rule version-grows: whatever is stored of an intent, what is told of it does not change unless its version is larger. Rule
// event-with-change: with each change that has a kind comes an event, which says what the intent's record says then. Rule rewound-is-told: an
// end that is taken back is such a change.
func theVersionGrows(t *testing.T, f Fixture) {
	for seed := range uint64(6) {
		life := &life{Fixture: f, rng: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // it has to repeat
		for range 4 {
			life.ids = append(life.ids, f.accept(t, "", 1).ID)
		}
		life.index = seed * 100
		for step := range 30 {
			before := life.told(t)
			done := life.step(t)
			events := map[pending.ID]pending.Event{}
			for _, e := range f.Events(t) {
				events[e.Intent] = e
			}
			for i, now := range life.told(t) {
				was := before[i]
				if fault := now.compare(was, events[life.ids[i]]); fault != "" && step > 0 {
					t.Fatalf("seed %d, step %d (%s): %s\nwas %s\nis  %s\ntold %+v", seed, step, done, fault, was.text, now.text, events[life.ids[i]])
				}
				if now.text != was.text && now.version <= was.version || now.version < was.version {
					t.Fatalf("seed %d, step %d (%s): of version %d it was told\n%s\nand of version %d\n%s", seed, step, done, was.version, was.text, now.version, now.text)
				}
			}
		}
	}
}

// life is what may happen to some intents.
type life struct {
	Fixture
	rng   *rand.Rand
	ids   []pending.ID
	index uint64 // the next nonce
}

type account struct {
	version uint64
	text    string
	record  pending.Record
}

// compare returns what is wrong with the event of a change, if there is any.
func (now account) compare(was account, e pending.Event) string {
	is := func(r pending.Record) string {
		block := r.Last.Block
		if r.Index == nil {
			block = chain.Block{}
		}
		return fmt.Sprintf("%v %q %v", r.Fate, r.Outcome(), block)
	}
	outOfBlock := was.record.Last.Block.Hash != "" && was.record.Index != nil
	switch gained := was.record.Index == nil && now.record.Index != nil; {
	case e.Kind == "" && (gained || is(was.record) != is(now.record)):
		return "a change was not told"
	case e.Kind == "":
		return ""
	case e.Version != now.version:
		return "it was told with another version"
	case e.Fate != now.record.Fate || e.Outcome() != now.record.Outcome():
		return "another end was told"
	case was.record.Fate != pending.Open && now.record.Fate == pending.Open && e.Kind != pending.ToldRewound:
		return "an end was taken back, and not told so"
	case now.record.Fate == pending.Open && outOfBlock && was.record.Fate == pending.Open && now.record.Index == nil && e.Kind != pending.ToldRetracted:
		return "it has left its block, and was not told so"
	case e.Index != nil && (*e.Index != *now.record.Index || e.Hash != now.record.Last.Hash || e.Block != now.record.Last.Block):
		return "another place was told"
	}
	return ""
}

// told returns what is told of the intents, but for the account's hold.
func (l *life) told(t *testing.T) (all []account) {
	t.Helper()
	for _, id := range l.ids {
		r := l.record(t, id)
		index := "no nonce"
		if r.Index != nil {
			index = fmt.Sprint("nonce ", *r.Index)
		}
		r.Refusal.Age = 0
		all = append(all, account{record: r, version: r.Version, text: fmt.Sprintf("%s %s %q %v %+v %+v", r.Standing(), index, r.Why, r.Cancel, r.Last, r.Refusal)})
	}
	return all
}

// step has something happen to one of the intents, which a leader or a caller could have caused.
func (l *life) step(t *testing.T) string {
	t.Helper()
	r := l.record(t, l.ids[l.rng.IntN(len(l.ids))])
	if l.rng.IntN(8) == 0 {
		if err := l.Store.Cancel(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
		return "cancel"
	}
	if r.Index == nil {
		return l.queued(t, r)
	}
	block := chain.Block{Number: l.rng.Uint64N(2) + 7, Hash: chain.Hash("block" + fmt.Sprint(l.rng.IntN(2)))}
	change := pending.Change{Index: *r.Index, Hash: chain.Hash(fmt.Sprint("hash", l.rng.IntN(2))), Status: pending.Status(l.rng.IntN(5))}
	switch l.rng.IntN(6) {
	case 0:
		l.write(t, pending.Batch{Attempts: []pending.Slot{{Index: *r.Index, Before: l.attempts(t, *r.Index), Attempts: []chain.Signed{attempt(*r.Index, fmt.Sprint(l.rng.Uint64()))}}}})
		return "another attempt"
	case 1:
		change = pending.Change{Index: *r.Index, Hash: "h", Status: pending.Finalized, Block: block, Intent: pending.Done, Effect: chain.Effect{Kind: chain.EffectKind(l.rng.IntN(4))}, Witnesses: [2]string{"a", "b"}}
	case 2:
		change = pending.Change{Index: *r.Index, Status: pending.Usurped, Block: block, Intent: []pending.Fate{pending.Again, pending.Rejected, pending.Cancelled}[l.rng.IntN(3)], Witnesses: [2]string{"a", "b"}}
	case 3:
		change.Waits, change.Why = "a word", "because"
	case 4:
		change.Status, change.Block = pending.InBlock, block
	}
	l.write(t, pending.Batch{Changes: []pending.Change{change}})
	return fmt.Sprintf("%+v", change)
}

func (l *life) queued(t *testing.T, r pending.Record) string {
	t.Helper()
	switch {
	case r.Fate != pending.Open:
		return "nothing"
	case l.rng.IntN(8) == 0:
		l.write(t, pending.Batch{Rejects: []pending.Hold{{Intent: r.ID, Why: "no"}}})
		return "reject"
	case l.rng.IntN(3) == 0:
		l.write(t, pending.Batch{Held: []pending.Held{{Intent: r.ID, Refusal: pending.Refusal{Cause: pending.Funds, Why: "poor", Times: 1 + l.rng.IntN(2)}, Pause: time.Second}}})
		return "put off"
	}
	l.index++
	l.write(t, pending.Batch{New: []pending.Slot{slot(l.index, &r.ID)}})
	return "a nonce"
}

func (l *life) attempts(t *testing.T, index uint64) int {
	t.Helper()
	found, err := l.Store.Slots(t.Context(), Account, index, index)
	if err != nil || len(found) != 1 {
		t.Fatalf("got slots %+v, %v; want one", found, err)
	}
	return len(found[0].Attempts)
}

// Rules event-with-change and rewound-is-told: a story, and what is told of it.
func whatIsTold(t *testing.T, f Fixture) { //nolint:funlen // a story, line by line
	names := map[pending.ID]string{}
	accept := func(name string, n int) *pending.ID {
		in := f.accept(t, name, n)
		names[in.ID] = name
		return &in.ID
	}
	change := func(c pending.Change) { f.write(t, pending.Batch{Changes: []pending.Change{c}}) }
	in := func(index uint64, block string) pending.Change {
		return pending.Change{Index: index, Hash: "h", Status: pending.InBlock, Block: chain.Block{Number: 9, Hash: chain.Hash(block)}, Effect: chain.EffectOf(false)}
	}
	ended := func(c pending.Change, status pending.Status, fate pending.Fate) pending.Change {
		c.Status, c.Intent, c.Witnesses = status, fate, [2]string{"a", "b"}
		return c
	}
	failed := in(0, "c")
	failed.Effect = chain.EffectOf(true)
	partly, untold := in(0, "c"), in(0, "c")
	partly.Effect, untold.Effect = chain.Effect{Kind: chain.EffectPartly, Why: "B"}, chain.Effect{}
	for _, s := range []struct {
		does func()
		want string
	}{
		{func() { f.write(t, pending.Batch{New: []pending.Slot{slot(0, accept("paid", 1))}}) }, "[paid 1 accepted open][paid 2 nonce open]"},
		{func() { change(pending.Change{Index: 0, Hash: "h", Status: pending.Ready}) }, ""},
		{func() { change(in(0, "a")) }, "[paid 4 in_block open a]"},
		{func() { c := in(0, "a"); c.Status = pending.FinalityTimeout; change(c); change(c) }, "[paid 5 waiting open a]"},
		{func() { change(pending.Change{Index: 0, Hash: "h", Status: pending.Retracted}) }, "[paid 7 retracted open]"},
		{func() { change(in(0, "b")) }, "[paid 8 in_block open b]"},
		{func() { change(in(0, "a")) }, "[paid 9 in_block open a]"},
		{func() { change(ended(in(0, "a"), pending.Finalized, pending.Done)) }, "[paid 10 final succeeded a]"},
		{func() { change(ended(in(0, "a"), pending.Finalized, pending.Done)) }, ""}, // stored twice
		{func() { change(in(0, "b")) }, "[paid 12 rewound open b]"},
		{func() { change(ended(in(0, "b"), pending.Finalized, pending.Done)) }, "[paid 13 final succeeded b]"},
		{func() { change(ended(failed, pending.Finalized, pending.Done)) }, "[paid 14 final reverted c]"},
		{func() { change(ended(partly, pending.Finalized, pending.Done)) }, "[paid 15 final partly c]"},
		{func() { change(ended(untold, pending.Finalized, pending.Done)) }, "[paid 16 final unknown c]"},
		{func() { change(ended(in(0, "f"), pending.Usurped, pending.Again)) }, "[paid 17 rewound open]"},
		{func() { f.write(t, pending.Batch{New: []pending.Slot{slot(1, onlyOf(names))}}) }, "[paid 18 nonce open]"},
		{func() { change(in(1, "a")) }, "[paid 19 in_block open a]"},
		{func() { change(ended(in(1, "f"), pending.Usurped, pending.Again)) }, "[paid 20 retracted open]"},
		{func() { f.cancel(t, *onlyOf(names)); f.cancel(t, *onlyOf(names)) }, "[paid 21 final cancelled]"},
		{func() { f.write(t, pending.Batch{New: []pending.Slot{slot(2, accept("void", 2))}}) }, "[void 1 accepted open][void 2 nonce open]"},
		{func() { c := in(2, ""); c.Status, c.Why = pending.Ready, "no"; change(c) }, ""},
		{func() { change(ended(in(2, "d"), pending.Usurped, pending.Rejected)) }, "[void 4 rejected rejected d no]"},
		{func() { f.write(t, pending.Batch{Rejects: []pending.Hold{{Intent: *accept("bad", 3), Why: "bad"}}}) }, "[bad 1 accepted open][bad 2 rejected rejected bad]"},
		{func() {
			f.write(t, pending.Batch{New: []pending.Slot{slot(3, nil)}})
			change(ended(in(3, "g"), pending.Finalized, pending.Open))
		}, ""},
		{func() {
			id := accept("late", 4)
			f.write(t, pending.Batch{New: []pending.Slot{slot(4, id)}})
			f.cancel(t, *id)
		}, "[late 1 accepted open][late 2 nonce open]"},
		{func() { change(ended(in(4, "f"), pending.Usurped, pending.Again)) }, "[late 4 final cancelled]"},
		{func() { f.refused(t, pending.Batch{Changes: []pending.Change{in(0, "b")}}) }, ""},
		{func() { f.refused(t, pending.Batch{New: []pending.Slot{slot(5, accept("stale", 5))}}) }, "[stale 1 accepted open]"},
	} {
		s.does()
		if got := f.told(t, names); got != s.want {
			t.Errorf("told %s, want %s", got, s.want)
		}
	}
}

// told is what was told since the last time, in a line.
func (f Fixture) told(t *testing.T, names map[pending.ID]string) string {
	t.Helper()
	var all strings.Builder
	for _, e := range f.Events(t) {
		state := e.Outcome()
		if state == "" {
			state = e.Fate.String()
		}
		fmt.Fprintf(&all, "[%s]", strings.Join(strings.Fields(fmt.Sprintf("%s %d %s %s %s %s", names[e.Intent], e.Version, e.Kind, state, string(e.Block.Hash), e.Why)), " "))
		if e.Account != Account || e.At.IsZero() {
			t.Errorf("%+v: it names no account or no time", e)
		}
	}
	return all.String()
}

// onlyOf returns the only ID.
func onlyOf(names map[pending.ID]string) *pending.ID {
	for id := range names {
		return &id
	}
	return nil
}

// refused has a deposed leader write.
func (f Fixture) refused(t *testing.T, b pending.Batch) {
	t.Helper()
	b.Account, b.Number = Account, writes.Add(1)
	if err := f.Store.Write(t.Context(), f.Stale, b); !errors.Is(err, fence.ErrStale) {
		t.Errorf("a write with a stale token: got error %v, want ErrStale", err)
	}
}

func (f Fixture) cancel(t *testing.T, id pending.ID) {
	t.Helper()
	if err := f.Store.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}
