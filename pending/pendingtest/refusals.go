package pendingtest

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/internal/rules"
)

func (f Fixture) held(t *testing.T, id pending.ID, cause pending.Cause, times int, pause time.Duration) {
	t.Helper()
	r := pending.Refusal{Cause: cause, Why: fmt.Sprint("words ", times), Times: times, Height: 7, Next: 3}
	f.write(t, pending.Batch{Held: []pending.Held{{Intent: id, Refusal: r, Pause: pause}}})
}

func (f Fixture) relaxed(t *testing.T, most int) (keys string, q pending.Queue) {
	t.Helper()
	q, err := f.Store.Queue(t.Context(), Account, true, most)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range q.Oldest {
		keys += w.Key
	}
	return keys, q
}

// wantWaits compares what waits: how many are to be tried now, and how many are put off until later. A leader that
// loads learns of both, since it may have another order than its predecessor.
func (f Fixture) wantWaits(t *testing.T, queued, later, poor, unclear int) {
	t.Helper()
	got, err := f.Store.Waiting(t.Context(), Account)
	if err != nil || got.Queued != queued || got.Poor != poor || got.Unclear != unclear {
		t.Errorf("waiting: %+v, error %v; want %d queued, %d poor and %d unclear", got, err, queued, poor, unclear)
	}
	if snap := f.load(t, 0); snap.Queued != queued+later || snap.Poor != poor || snap.Unclear != unclear {
		t.Errorf("loaded %+v, want %d queued, %d poor and %d unclear", snap.Waits, queued+later, poor, unclear)
	}
}

// W15: a new leader goes on with the refusals that its predecessor has counted.
func refusalsAreKept(t *testing.T, f Fixture) {
	in := f.accept(t, "a", 1)
	f.accept(t, "b", 2)
	f.held(t, in.ID, pending.Unclear, 1, 0)
	f.Pass(t, time.Hour)
	f.held(t, in.ID, pending.Unclear, 2, 0)
	keys, q := f.relaxed(t, 9)
	if keys != "ab" {
		t.Fatalf("queue %q, want both: nothing is put off", keys)
	}
	one := q.Oldest[0]
	if r := one.Refusal; r.Age < time.Hour || r.Age > 2*time.Hour || r.Cause != pending.Unclear || r.Why != "words 2" || r.Times != 2 || r.Height != 7 || r.Next != 3 || !r.Until.IsZero() {
		t.Errorf("the first: %+v, want two refusals since an hour", one)
	}
	if two := q.Oldest[1]; two.Refusal != (pending.Refusal{}) {
		t.Errorf("the second: %+v, want no refusal", two)
	}
	if r := f.record(t, in.ID).Refusal; r.Times != 2 || r.Why != "words 2" {
		t.Errorf("its record has %+v, want two refusals", r)
	}
	f.held(t, in.ID, pending.Funds, 1, 0) // another cause begins anew
	if _, q := f.relaxed(t, 9); q.Oldest[0].Refusal.Age > time.Minute || q.Oldest[0].Refusal.Cause != pending.Funds {
		t.Errorf("after another cause: %+v, want one refusal since a moment ago", q.Oldest[0])
	}
	f.wantWaits(t, 2, 0, 0, 0)
	f.write(t, pending.Batch{Held: []pending.Held{{Intent: in.ID}}}) // it is refused no longer
	if _, q := f.relaxed(t, 9); len(q.Oldest) != 2 || q.Oldest[0].Refusal.Times != 0 {
		t.Errorf("when it is refused no longer: %+v, want it without a refusal", q.Oldest)
	}
}

// A clock that was ahead and is set right, as after a failover, does not make a refusal wait for the time that it had:
// in strict order all behind it would. Nor does it put anything off for longer than the longest pause.
func aClockThatWasAhead(t *testing.T, f Fixture) {
	in := f.accept(t, "a", 1)
	f.held(t, in.ID, pending.Refused, 1, 0)
	f.Pass(t, -24*time.Hour)
	f.held(t, in.ID, pending.Refused, 2, 0)
	f.Pass(t, time.Minute)
	if _, q := f.relaxed(t, 9); len(q.Oldest) != 1 || q.Oldest[0].Refusal.Age < time.Minute {
		t.Errorf("a minute after the next refusal: %+v, want it refused for a minute", q.Oldest)
	}
	f.held(t, in.ID, pending.Refused, 3, rules.LongestPause)
	f.accept(t, "b", 2)
	if keys, _ := f.relaxed(t, 9); keys != "b" {
		t.Errorf("while it is put off: queue %q, want b", keys)
	}
	f.Pass(t, -24*time.Hour)
	if keys, _ := f.relaxed(t, 9); keys != "ab" {
		t.Errorf("put off by a clock that was ahead: queue %q, want it tried", keys)
	}
	if keys, _ := f.relaxed(t, 1); keys != "a" {
		t.Errorf("the first of them: %q, want a, which was accepted first", keys)
	}
	f.wantWaits(t, 2, 0, 0, 0)
}

// W19: however many that are put off are due again and again, each that waits has its turn: first comes what has
// waited for longest since it could be tried.
func whatIsPutOffStarvesNobody(t *testing.T, f Fixture) {
	a := f.accept(t, "a", 1)
	f.held(t, a.ID, pending.Refused, 1, time.Minute)
	b := f.accept(t, "b", 2)
	f.Pass(t, time.Minute)
	if keys, q := f.relaxed(t, 1); keys != "b" || q.Left == 0 {
		t.Errorf("the first of the queue: %q with %d left, want b, which waited while a was put off", keys, q.Left)
	}
	f.accept(t, "c", 3)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &b.ID)}})
	if keys, _ := f.relaxed(t, 1); keys != "a" {
		t.Errorf("the next one: %q, want a, which was due before c was accepted", keys)
	}
	if keys, _ := f.relaxed(t, 2); keys != "ac" {
		t.Errorf("the next two: %q, want them in the order of acceptance", keys)
	}
}

// W19: in relaxed order what is put off is passed until its time, and comes back to its old place. In strict
// order it never loses it.
func othersPassWhatIsPutOff(t *testing.T, f Fixture) {
	a, _, c := f.accept(t, "a", 1), f.accept(t, "b", 2), f.accept(t, "c", 3)
	f.accept(t, "d", 4)
	f.held(t, a.ID, pending.Unclear, 1, rules.LongestPause/2)
	f.held(t, c.ID, pending.Refused, 1, rules.LongestPause)
	if keys, q := f.relaxed(t, 9); keys != "bd" || q.Left != 0 {
		t.Errorf("queue %q, want b and d", keys)
	}
	if keys, q := f.relaxed(t, 1); keys != "b" || q.Left == 0 {
		t.Errorf("the first of the queue: %q with %d left, want b and some", keys, q.Left)
	}
	if ids, _ := f.queue(t, 9); len(ids) != 4 || ids[0] != a.ID || ids[2] != c.ID {
		t.Errorf("in strict order: %x, want all in the order of acceptance", ids)
	}
	f.wantWaits(t, 2, 2, 0, 1)
	f.Pass(t, rules.LongestPause/2)
	if keys, _ := f.relaxed(t, 9); keys != "abd" {
		t.Errorf("once its time has come: queue %q, want a in its old place", keys)
	}
	f.wantWaits(t, 3, 1, 0, 1)
	counts, err := f.Store.Counts(t.Context())
	if err != nil || len(counts) != 1 || counts[0].N != 4 {
		t.Errorf("counts: %+v, error %v; want 4 queued", counts, err)
	}
}

// W19: the oldest that has waited for money for long is found, put off or not.
func oneSavesForLong(t *testing.T, f Fixture) {
	times, putOff := 0, map[pending.ID]pending.Cause{}
	again := func() { // each of them is tried and refused
		times++
		for id, cause := range putOff {
			f.held(t, id, cause, times, rules.LongestPause)
		}
	}
	for key, cause := range map[string]pending.Cause{"a": pending.Unclear, "b": pending.Funds, "c": pending.Funds} {
		putOff[f.accept(t, key, 1).ID] = cause
	}
	again()
	f.wantWaits(t, 0, 3, 0, 1)
	f.Pass(t, rules.PoorAfter)
	again()
	f.wantWaits(t, 0, 3, 2, 1)
	if _, q := f.relaxed(t, 9); q.Saving != nil {
		t.Errorf("after a minute %+v saves, want none", q.Saving)
	}
	f.Pass(t, rules.SavesAfter)
	again()
	listed, err := f.Store.List(t.Context(), pending.Filter{Most: 9})
	if err != nil {
		t.Fatal(err)
	}
	oldest := ""
	for _, r := range listed { // newest first; the order of the map is random
		if r.Refusal.Cause == pending.Funds {
			oldest = r.Key
		}
	}
	keys, q := f.relaxed(t, 9)
	if keys != "" || q.Saving == nil || q.Saving.Key != oldest || q.Saving.Refusal.Age < rules.SavesAfter {
		t.Errorf("queue %q and %+v saves, want none and %s", keys, q.Saving, oldest)
	}
	if strict, err := f.Store.Queue(t.Context(), Account, false, 9); err != nil || strict.Saving != nil || len(strict.Oldest) != 3 {
		t.Errorf("in strict order: %+v, error %v; want three and none that saves", strict, err)
	}
}

// A refusal that is stored late leaves alone an intent that has ended or got a slot, and one with a slot waits for
// nothing. An intent that loses its slot begins anew.
func theHeldThatEnded(t *testing.T, f Fixture) {
	sent, cancelled, off := f.accept(t, "sent", 1), f.accept(t, "cancelled", 2), f.accept(t, "off", 3)
	f.held(t, sent.ID, pending.Funds, 1, rules.LongestPause)
	f.held(t, off.ID, pending.Funds, 1, rules.LongestPause)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &sent.ID)}})
	for _, id := range []pending.ID{cancelled.ID, off.ID} {
		if err := f.Store.Cancel(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range []pending.Intent{sent, cancelled, off} {
		f.held(t, in.ID, pending.Funds, 2, rules.LongestPause)
		if r := f.record(t, in.ID); r.Refusal != (pending.Refusal{}) {
			t.Errorf("%s: %+v, want no refusal", in.Key, r)
		}
	}
	f.wantWaits(t, 0, 0, 0, 0)
	if r := f.record(t, off.ID); r.Fate != pending.Cancelled {
		t.Errorf("cancelled while it was put off: %+v, want the fate cancelled", r)
	}
	f.write(t, pending.Batch{Changes: []pending.Change{{Index: 0, Hash: "0x", Status: pending.Usurped, Intent: pending.Again}}})
	if keys, q := f.relaxed(t, 9); keys != "sent" || q.Oldest[0].Refusal != (pending.Refusal{}) {
		t.Errorf("after it lost its slot: queue %q, want it without a refusal: %+v", keys, q)
	}
}

// W19: a new leader knows what the account's transactions may cost.
func theValueIsLoaded(t *testing.T, f Fixture) {
	in := f.accept(t, "a", 5)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &in.ID), slot(1, nil)}})
	slots := f.load(t, 0).Slots
	if len(slots) != 2 || slots[0].Value.Int64() != 5 || slots[1].Value != nil && slots[1].Value.Sign() != 0 {
		t.Errorf("loaded %+v, want the value 5 of the first and none of the second", slots)
	}
}

// W6: an intent that waits is found by its call, however many wait or are put off before it; one that ended or has a
// slot is not.
func theAlikeAreFound(t *testing.T, f Fixture) {
	for i := range 5 {
		f.held(t, f.accept(t, fmt.Sprint("off ", i), 1).ID, pending.Refused, 1, rules.LongestPause)
	}
	sent, gone, off, last := f.accept(t, "sent", 2), f.accept(t, "gone", 3), f.accept(t, "off", 4), f.accept(t, "last", 5)
	f.held(t, off.ID, pending.Funds, 1, rules.LongestPause)
	f.write(t, pending.Batch{New: []pending.Slot{slot(0, &sent.ID)}})
	if err := f.Store.Cancel(t.Context(), gone.ID); err != nil {
		t.Fatal(err)
	}
	dearer := last.Call
	dearer.Gas += 9
	other := last.Call
	other.Data = []byte("other")
	empty := pending.Intent{Account: Account, Key: "empty"} // no data, and no value
	empty, err := f.Store.Accept(t.Context(), empty)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		calls []chain.Call
		want  pending.ID
	}{
		"put off":                     {[]chain.Call{off.Call}, off.ID},
		"with another limit of gas":   {[]chain.Call{dearer}, last.ID},
		"the oldest of two":           {[]chain.Call{last.Call, off.Call}, off.ID},
		"nothing in it":               {[]chain.Call{{}}, empty.ID},
		"with a slot, or cancelled":   {[]chain.Call{sent.Call, gone.Call}, pending.ID{}},
		"with other data":             {[]chain.Call{other}, pending.ID{}},
		"of no transactions, nothing": {nil, pending.ID{}},
	} {
		if got, err := f.Store.Alike(t.Context(), Account, c.calls); err != nil || got != c.want {
			t.Errorf("%s: found %x, error %v; want %x", name, got, err, c.want)
		}
		if got, err := f.Store.Alike(t.Context(), "another account of 2", c.calls); err != nil || got != (pending.ID{}) {
			t.Errorf("%s: another account has %x, error %v; want none", name, got, err)
		}
	}
}
