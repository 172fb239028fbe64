package hook

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/pending"
)

// Where there are more events than one turn reads, the next turn follows at once: a burst is not told at the pace of idle turns.
func TestABurstIsReadWithoutPauses(t *testing.T) {
	t.Parallel()
	for read, want := range map[int]time.Duration{most: 0, most - 1: apart} {
		now := time.Second
		m := newMachine(now, Place{}, Health{}, func(*Event) bool { return true })
		if acts := m.Step(now, tick{}); len(acts) != 1 {
			t.Fatalf("it begins with %v, want one turn", acts)
		}
		var all []Event
		for i := range read {
			all = append(all, Event{ID: int64(i + 1), Event: pending.Event{Intent: pending.ID{byte(i), byte(i >> 8)}}})
		}
		again := false
		for _, a := range m.Step(now, turned{Events: all, Settled: int64(read)}) {
			if _, is := a.(turn); is {
				again = true
			}
		}
		if again != (want == 0) || !again && m.turnFrom()-now != want {
			t.Errorf("after %d events it turns at once: %v, and may after %v; want after %v", read, again, m.turnFrom()-now, want)
		}
	}
}

// An event that waits until it is stored what became of the one before it does not wait for a pause too, whether it was there before or
// comes after the answer. Nothing else hurries.
func TestWhatWaitsForANoteIsUrgent(t *testing.T) {
	t.Parallel()
	one := func(id int64) Event { return Event{ID: id, Event: pending.Event{Intent: pending.ID{1}}} }
	for events, want := range map[int]time.Duration{1: apart, 2: 0} {
		now := time.Second
		m := newMachine(now, Place{}, Health{}, func(*Event) bool { return true })
		m.Step(now, tick{})
		m.Step(now, turned{Events: []Event{one(1), one(2)}[:events], Settled: int64(events)})
		m.Step(now, answered{intent: pending.ID{1}, ok: true})
		if m.turning != (want == 0) || !m.turning && m.turnFrom()-now != want {
			t.Errorf("with %d events a turn is under way: %v, or due after %v; want after %v", events, m.turning, m.turnFrom()-now, want)
		}
	}
	now := time.Second
	m := newMachine(now, Place{}, Health{}, func(*Event) bool { return true })
	m.Step(now, tick{})
	m.Step(now, turned{Events: []Event{one(1)}, Settled: 1})
	m.Step(now+apart, woken{}) // reads
	m.Step(now+apart, answered{intent: pending.ID{1}, ok: true})
	m.Step(now+apart, turned{Events: []Event{one(2)}, Settled: 2})
	if !m.turning {
		t.Error("the event that came after the answer waits for a pause")
	}
}

// A replay that comes while it looks for what waits in the store is found soon, not at the next long look. Thousands of events do not make
// it look thousands of times.
func TestAReplayDuringALook(t *testing.T) {
	t.Parallel()
	now := time.Second
	m := newMachine(now, Place{}, Health{}, func(*Event) bool { return true })
	m.Step(now, tick{}) // looks, and finds nothing
	m.Step(now, woken{})
	m.Step(now, turned{})
	looks := 0
	for range 1000 {
		now += apart
		for _, a := range m.Step(now, woken{}) {
			if a, is := a.(turn); is {
				looks += map[bool]int{true: 1}[a.Waits > 0]
				m.Step(now, turned{})
			}
		}
	}
	if least, most := int(1000*apart/(looksApart+apart)), int(1000*apart/looksApart)+1; looks < least || looks > most {
		t.Errorf("it has looked %d times, want %d to %d", looks, least, most)
	}
	m.Step(now+looksApart, tick{}) // looks
	m.Step(now+looksApart, woken{})
	m.Step(now+looksApart, turned{})
	if m.lookAt-now > 2*looksApart {
		t.Errorf("it looks for the replay after %v, want %v at most", m.lookAt-now, 2*looksApart)
	}
}

// What is read of those that wait, while an earlier event of its intent is refused, is not told before that one.
func TestAWaitReadDuringARefusal(t *testing.T) {
	t.Parallel()
	of := pending.ID{1}
	now := time.Second
	m := newMachine(now, Place{}, Health{}, func(*Event) bool { return true })
	m.Step(now, tick{})
	m.Step(now, turned{Events: []Event{{ID: 1, Event: pending.Event{Intent: of}}}, Settled: 1})
	now += looksApart
	m.Step(now, woken{}) // looks for what waits, and an event is refused meanwhile
	m.Step(now, answered{intent: of, why: "no"})
	acts := m.Step(now, turned{Waits: []Wait{{Event: Event{ID: 3, Event: pending.Event{Intent: of}}}}})
	now += apart
	acts = append(append(acts, m.Step(now, tick{})...), m.Step(now, turned{})...) // it is stored that the first one waits
	if i := slices.IndexFunc(acts, func(a act) bool { _, is := a.(post); return is }); i >= 0 {
		t.Errorf("%+v is told, before the event 1", acts[i])
	}
}

// A receiver that ails is probed with each intent in turn: also if one of them has an end, which it will never take.
func TestAnEndIsNotProbedAlone(t *testing.T) {
	t.Parallel()
	now := time.Second
	m := newMachine(now, Place{}, Health{Failures: ailing, For: time.Minute}, func(*Event) bool { return true })
	m.Step(now, tick{})
	poison, other := pending.ID{1}, pending.ID{2}
	probed := []pending.ID{}
	acts := m.Step(now, turned{Settled: 2, Events: []Event{
		{ID: 1, Event: pending.Event{Intent: poison, Kind: pending.ToldFinal}}, {ID: 2, Event: pending.Event{Intent: other, Kind: pending.ToldAccepted}},
	}})
	for range 2 {
		for _, a := range acts {
			if p, is := a.(post); is {
				probed = append(probed, p.event.Intent)
				m.Step(now, answered{intent: p.event.Intent, why: "no"})
			}
		}
		now = m.probeAt
		acts = m.Step(now, tick{})
	}
	if !slices.Equal(probed, []pending.ID{poison, other}) {
		t.Errorf("%v are probed, want %v and %v", probed, poison, other)
	}
}

// C4.3: the chain takes back what was final while the receiver refuses to hear of that. It is told of the end first, or that is dead.
func TestARewoundWaitsBehindItsFinal(t *testing.T) {
	t.Parallel()
	of := pending.ID{1}
	now := time.Second
	m := newMachine(now, Place{}, Health{}, func(*Event) bool { return true })
	m.Step(now, tick{})
	m.Step(now, turned{Settled: 1, Events: []Event{{ID: 1, Event: pending.Event{Intent: of, Kind: pending.ToldFinal}}}})
	now += apart
	acts := m.Step(now, woken{}) // reads, and the end is refused meanwhile
	acts = append(acts, m.Step(now, answered{intent: of, why: "no"})...)
	acts = append(acts, m.Step(now, turned{Settled: 2, Events: []Event{{ID: 2, Event: pending.Event{Intent: of, Kind: pending.ToldRewound}}}})...)
	now += apart
	acts = append(acts, m.Step(now, tick{})...)
	var parked []int64
	for _, a := range acts {
		switch a := a.(type) {
		case post:
			t.Errorf("%+v is told, before the end", a.event)
		case turn:
			if a.Note != nil {
				for _, p := range a.Note.Park {
					parked = append(parked, p.ID)
				}
			}
		}
	}
	if !slices.Equal(parked, []int64{1, 2}) {
		t.Errorf("%v wait in the store, want both, in turn", parked)
	}
}
