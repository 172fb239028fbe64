package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// vacancy is evidence of a machine's scope that had no leader from 1000 ms on for so long,
// with one fault that was on from then until 1010 ms.
func vacancy(kind Kind, long time.Duration) Evidence {
	return Evidence{
		Lease: time.Second, Machines: 3, Takeover: election.Strict,
		Record: evidence.Record{Acks: []evidence.Ack{{At: 1000 * ms}, {At: (1000 * ms).Add(long)}}},
		Wounds: []Wound{{Number: 1, Fault: Fault{Kind: kind}, Nodes: []string{"node-1"}, At: 1000 * ms, Done: 1001 * ms, Over: 1010 * ms}},
	}
}

// behind moves the evidence behind the act door.
func (e Evidence) behind() Evidence {
	for _, a := range e.Record.Acks {
		e.Record.Outside = append(e.Record.Outside, evidence.Act{Start: a.At, End: a.At})
	}
	e.Record.Acks = nil
	return e
}

func ledInTime(e Evidence) (found []string) {
	e.unled(func(invariant string, _ fence.Instant, format string, args ...any) {
		found = append(found, invariant)
	})
	return found
}

// What each kind may cost, and not a millisecond more.
func TestEveryKindHasItsBound(t *testing.T) {
	t.Parallel()
	const during = 10 * time.Millisecond // of an outage
	for _, kind := range Kinds() {
		bound, plain := promised[kind]
		if several := kind == OutsideAskers || kind == FenceStream || kind == StrangeBytes; several == plain {
			t.Errorf("%s has one promise: %v", kind, plain)
		}
		if !plain {
			continue
		}
		fenced, act := spare+time.Duration(bound.fenced*float64(time.Second)), spare+time.Duration(bound.act*float64(time.Second))
		if bound.fenced < 1 || bound.act < bound.fenced {
			t.Errorf("the bound of %s is %+v leases", kind, bound)
		}
		if (Evidence{Machines: 3}).outage(Wound{Fault: Fault{Kind: kind}}) {
			fenced, act = fenced+during, act+during
		}
		for name, c := range map[string]struct {
			e    Evidence
			want int
		}{
			"fenced, in time": {vacancy(kind, fenced), 0}, "fenced, too late": {vacancy(kind, fenced+time.Millisecond), 1},
			"act, in time": {vacancy(kind, act).behind(), 0}, "act, too late": {vacancy(kind, act+time.Millisecond).behind(), 1},
		} {
			if found := ledInTime(c.e); len(found) != c.want {
				t.Errorf("%s, %s: %v", kind, name, found)
			}
		}
	}
}

func TestWhatExplainsThatNobodyLeads(t *testing.T) {
	t.Parallel()
	const after = 3 * time.Second // a crash's bound at the fenced door, with a lease of a second
	long := func(more time.Duration, change func(*Evidence)) Evidence {
		e := vacancy(Silent, after+more)
		e.Wounds[0].Over = 2000 * ms // a second of it
		change(&e)
		return e
	}
	blow := func(scopes ...string) func(*Evidence) {
		return func(e *Evidence) {
			e.Wounds[0].Fault.Kind = FenceStream
			e.Wounds[0].Blows = []Blow{{What: "drain", Scopes: scopes, At: 1000 * ms, Until: 1500 * ms, Bound: clean}}
		}
	}
	for _, c := range []struct {
		name string
		e    Evidence
		want int
	}{
		{"a silent machine", long(1, func(*Evidence) {}), 1},
		{"all machines silent", long(time.Second, func(e *Evidence) { e.Machines = 1 }), 0},
		{"and for too long after it", long(time.Second+1, func(e *Evidence) { e.Machines = 1 }), 1},
		{"under keep nothing frees a silent one", long(time.Second, func(e *Evidence) { e.Takeover = election.Keep }), 0},
		{"of two faults at once the second hits the successor", long(time.Second, func(e *Evidence) {
			e.Wounds = append(e.Wounds, Wound{Number: 2, Fault: Fault{Kind: Latency, Joined: true}, At: 9000 * ms})
		}), 0},
		{"two faults, one after the other", long(2*time.Second, func(e *Evidence) {
			e.Wounds = append(e.Wounds, Wound{Number: 2, Fault: Fault{Kind: Backend}, At: 3500 * ms})
		}), 0},
		{"a fault that came later", long(1, func(e *Evidence) {
			e.Wounds = append(e.Wounds, Wound{Number: 2, Fault: Fault{Kind: Backend}, At: 4001 * ms})
		}), 1},
		{"a fault that was long over", long(1, func(e *Evidence) {
			for i := range e.Record.Acks {
				e.Record.Acks[i].At += 2001 * ms
			}
		}), 0}, // a busy machine may cost a lease, and what comes of it
		{"a fault whose end was felt a moment later", long(2*time.Second, func(e *Evidence) { since(e, spare) }), 0},
		{"and one that was over", long(2*time.Second, func(e *Evidence) { since(e, spare+1) }), 1},
		{"nothing at all", long(time.Second+1, func(e *Evidence) { e.Wounds = nil }), 1},
		{"a drain", vacancyOf(spare, blow(Scope)), 0},
		{"a slow drain", vacancyOf(spare+1, blow(Scope)), 1},
		{"a drain of all machines' scopes", vacancyOf(spare+1, blow()), 1},
		{"a drain of somebody else's scope", vacancyOf(spare+1, blow("asked-3")), 0},
	} {
		if found := ledInTime(c.e); len(found) != c.want {
			t.Errorf("%s: %v", c.name, found)
		}
	}
}

// since makes of the fault one that was over so long before nobody led.
func since(e *Evidence, pause time.Duration) {
	e.Wounds[0].Fault.Kind, e.Wounds[0].Nodes = Latency, []string{"node-1"}
	for i := range e.Record.Acks {
		e.Record.Acks[i].At = e.Record.Acks[i].At.Add(time.Second + pause) // it was over after a second
	}
}

func vacancyOf(long time.Duration, change func(*Evidence)) Evidence {
	e := vacancy(FenceStream, long)
	change(&e)
	return e
}

// A scope that strangers ask about is to be led from a certain instant to another.
func TestAScopeOfStrangersIsLedAllTheTime(t *testing.T) {
	t.Parallel()
	e := Evidence{Lease: time.Second, Wounds: []Wound{{At: 1, Blows: []Blow{{Scopes: []string{"s"}, At: 500 * ms, Until: 5000 * ms, Bound: clean}}}}}
	act := func(start, end fence.Instant) evidence.Act { return evidence.Act{Start: start * ms, End: end * ms} }
	for _, c := range []struct {
		name  string
		gated Gated
		want  int
	}{
		{"by turns", Gated{From: 500 * ms, Until: 5000 * ms, Acts: []evidence.Act{act(2500, 4000), act(600, 2000)}}, 0},
		{"one ends within another", Gated{From: 500 * ms, Until: 5000 * ms, Acts: []evidence.Act{act(600, 4500), act(700, 800)}}, 0},
		{"never", Gated{From: 500 * ms, Until: 5000 * ms}, 1},
		{"not at first", Gated{From: 500 * ms, Until: 5000 * ms, Acts: []evidence.Act{act(2500, 5000)}}, 1},
		{"not at last", Gated{From: 500 * ms, Until: 5000 * ms, Acts: []evidence.Act{act(500, 3500)}}, 1},
		{"nobody looked", Gated{}, 0},
	} {
		c.gated.Scope = "s"
		e.Gated = []Gated{c.gated}
		if found := ledInTime(e); len(found) != c.want {
			t.Errorf("%s: %v", c.name, found)
		}
	}
}

// A violation tells when it was, and of what.
func TestALateLeaderIsToldWithTheTimes(t *testing.T) {
	t.Parallel()
	found, _ := Check(vacancy(Kill9, 5*time.Second))
	i := slices.IndexFunc(found, func(v Violation) bool { return v.Invariant == Led })
	if i < 0 || found[i].Fault != 1 {
		t.Fatalf("%+v", found)
	}
	const want = `rows under the fence: nobody led "chaos" for 5s, from +0.000 s to +5.000 s of the beginning of kill9; the bound is 3s`
	if !strings.Contains(found[i].Detail, want) {
		t.Errorf("it says %q", found[i].Detail)
	}
}
