package chaos

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

// vacancy returns evidence of a scope without a leader from 1000 ms on, and one fault that was on
// from then until 1010 ms.
func vacancy(kind Kind, long time.Duration) Evidence {
	return Evidence{
		Lease: time.Second, Machines: 3, Takeover: mint.Strict,
		Record:     evidence.Record{Acks: []evidence.Ack{{At: 1000 * ms}, {At: (1000 * ms).Add(long)}}},
		Injections: []Injection{{Number: 1, Fault: Fault{Kind: kind}, Nodes: []string{"node-1"}, At: 1000 * ms, Done: 1001 * ms, Over: 1010 * ms}},
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

// A time without a leader may be as long as the bound of its kind, and not a millisecond longer.
func TestEveryKindHasItsBound(t *testing.T) {
	t.Parallel()
	const during = 10 * time.Millisecond // of an outage
	for _, kind := range Kinds() {
		bound, plain := bounds[kind]
		if several := kind == OutsideAskers || kind == FenceStream || kind == StrangeBytes; several == plain {
			t.Errorf("%s has a single bound: got %v, want the opposite", kind, plain)
		}
		if !plain {
			continue
		}
		fenced, act := spare+time.Duration(bound.fenced*float64(time.Second)), spare+time.Duration(bound.act*float64(time.Second))
		if bound.fenced < 1 || bound.act < bound.fenced {
			t.Errorf("the bound of %s is %+v leases", kind, bound)
		}
		if (Evidence{Machines: 3}).outage(Injection{Fault: Fault{Kind: kind}}) {
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
				t.Errorf("%s, %s: got %v, want %d", kind, name, found, c.want)
			}
		}
	}
}

func TestWhatExplainsThatNobodyLeads(t *testing.T) {
	t.Parallel()
	const after = 3 * time.Second // the bound of a crash at the fenced door, with a lease of one second
	long := func(more time.Duration, change func(*Evidence)) Evidence {
		e := vacancy(Silent, after+more)
		e.Injections[0].Over = 2000 * ms // on for a second
		change(&e)
		return e
	}
	step := func(scopes ...string) func(*Evidence) {
		return func(e *Evidence) {
			e.Injections[0].Fault.Kind = FenceStream
			e.Injections[0].Steps = []Step{{What: "drain", Scopes: scopes, At: 1000 * ms, Until: 1500 * ms, Bound: clean}}
		}
	}
	for _, c := range []struct {
		name string
		e    Evidence
		want int
	}{
		{"a silent machine", long(1, func(*Evidence) {}), 1},
		{"all machines silent", long(time.Second, func(e *Evidence) { e.Machines = 1 }), 0},
		{"all machines silent, and too long after it", long(time.Second+1, func(e *Evidence) { e.Machines = 1 }), 1},
		{"a silent machine under keep, which nothing frees", long(time.Second, func(e *Evidence) { e.Takeover = mint.Keep }), 0},
		{"two faults at once, of which the second may hit the successor", long(time.Second, func(e *Evidence) {
			e.Injections = append(e.Injections, Injection{Number: 2, Fault: Fault{Kind: Latency, Joined: true}, At: 9000 * ms})
		}), 0},
		{"two faults, one after the other", long(2*time.Second, func(e *Evidence) {
			e.Injections = append(e.Injections, Injection{Number: 2, Fault: Fault{Kind: Backend}, At: 3500 * ms})
		}), 0},
		{"a fault that came later", long(1, func(e *Evidence) {
			e.Injections = append(e.Injections, Injection{Number: 2, Fault: Fault{Kind: Backend}, At: 4001 * ms})
		}), 1},
		{"a fault that was long over", long(1, func(e *Evidence) {
			for i := range e.Record.Acks {
				e.Record.Acks[i].At += 2001 * ms
			}
		}), 0}, // a busy machine may cost a lease, and the time until the next leader
		{"a fault whose effect lasts a moment longer", long(2*time.Second, func(e *Evidence) { since(e, spare) }), 0},
		{"a fault whose effect is over", long(2*time.Second, func(e *Evidence) { since(e, spare+1) }), 1},
		{"nothing at all", long(time.Second+1, func(e *Evidence) { e.Injections = nil }), 1},
		{"a drain", vacancyOf(spare, step(Scope)), 0},
		{"a slow drain", vacancyOf(spare+1, step(Scope)), 1},
		{"a drain of all machines' scopes", vacancyOf(spare+1, step()), 1},
		{"a drain of another scope", vacancyOf(spare+1, step("asked-3")), 0},
	} {
		if found := ledInTime(c.e); len(found) != c.want {
			t.Errorf("%s: got %v, want %d", c.name, found, c.want)
		}
	}
}

// since moves the vacancy to a pause after the end of the fault.
func since(e *Evidence, pause time.Duration) {
	e.Injections[0].Fault.Kind, e.Injections[0].Nodes = Latency, []string{"node-1"}
	for i := range e.Record.Acks {
		e.Record.Acks[i].At = e.Record.Acks[i].At.Add(time.Second + pause) // the fault was over after a second
	}
}

func vacancyOf(long time.Duration, change func(*Evidence)) Evidence {
	e := vacancy(FenceStream, long)
	change(&e)
	return e
}

// The scope of the gates' callers must be led from one instant to another.
func TestAGatedScopeIsLedAllTheTime(t *testing.T) {
	t.Parallel()
	e := Evidence{Lease: time.Second, Injections: []Injection{{At: 1, Steps: []Step{{Scopes: []string{"s"}, At: 500 * ms, Until: 5000 * ms, Bound: clean}}}}}
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
			t.Errorf("%s: got %v, want %d", c.name, found, c.want)
		}
	}
}

// A violation names the time without a leader and its cause.
func TestAViolationNamesTheTimes(t *testing.T) {
	t.Parallel()
	found, _ := Check(vacancy(Kill9, 5*time.Second))
	i := slices.IndexFunc(found, func(v Violation) bool { return v.Invariant == Led })
	if i < 0 || found[i].Fault != 1 {
		t.Fatalf("got %+v, want led-in-time after fault 1", found)
	}
	const want = `rows under the fence: nobody led "chaos" for 5s, from +0.000 s to +5.000 s of the beginning of kill9; the bound is 3s`
	if !strings.Contains(found[i].Detail, want) {
		t.Errorf("got %q, want %q", found[i].Detail, want)
	}
}
