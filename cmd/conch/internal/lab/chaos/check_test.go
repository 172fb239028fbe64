package chaos

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
)

// sound returns evidence without faults: node-1 led with epoch 1 until it was stopped from 100
// to 2100 ms, and node-2 led after it. The lease is one second.
func sound() Evidence {
	act := func(start, end fence.Instant, epoch int64, term, node string) evidence.Act {
		return evidence.Act{Start: start * ms, End: end * ms, Checked: (end - 1) * ms, Epoch: epoch, Term: term, Node: node}
	}
	acquired := func(scope string, epoch int64, holder string) pgops.Event {
		return pgops.Event{Scope: scope, Epoch: epoch, Holder: holder, Event: "acquired"}
	}
	return Evidence{
		Lease: time.Second, Machines: 3, Takeover: mint.Strict, Ended: 2100 * ms,
		Record: evidence.Record{
			Ledger: []evidence.Row{{Seq: 1, Epoch: 1, Term: "a", Node: "node-1"}, {Seq: 2, Epoch: 2, Term: "b", Node: "node-2"}},
			Acks: []evidence.Ack{
				{Seq: 1, Epoch: 1, Term: "a", At: 90 * ms}, {Seq: 2, Epoch: 2, Term: "b", At: 1200 * ms},
			},
			Outside: []evidence.Act{act(90, 98, 1, "a", "node-1"), act(2050, 2055, 2, "b", "node-2")},
		},
		Children: []evidence.Act{act(95, 99, 1, "c", "node-1"), act(900, 905, 1, "c", "node-1"), act(2060, 2065, 2, "d", "node-2")},
		History: []pgops.Event{
			acquired(Scope, 1, "node-1"), acquired(RunScope, 1, "node-1"), acquired("asked-3", 1, "daemon-1"), acquired("asked-3", 2, "daemon-2"),
			{Scope: Scope, Epoch: 1, Holder: "node-1", Event: "evicted"}, acquired(Scope, 2, "node-2"), acquired(RunScope, 2, "node-2"),
		},
		Gated: []Gated{{Scope: "asked-3", From: 40 * ms, Until: 2100 * ms, Acts: []evidence.Act{
			act(2001, 2090, 2, "f", "daemon-2"), act(1000, 2000, 1, "e", "daemon-1"), act(40, 1100, 1, "e", "daemon-1"), // in any order
		}}},
		Streamed: []pgrogue.Streamed{
			{Row: evidence.Row{Epoch: 1, Term: "a", Node: "client-0"}}, {Row: evidence.Row{Epoch: 2, Term: "b", Node: "client-1"}},
		},
		Refused: []pgrogue.Refusal{
			{Epoch: 1, Term: "a", Code: staleToken, At: 1300 * ms, Took: 20 * time.Millisecond},   // another node led by then
			{Epoch: 1, Term: "a", Code: endedByAdm, At: 1300 * ms, Took: 1100 * time.Millisecond}, // it was in a successor's way
			{Epoch: 2, Term: "b", Code: "25P03", At: 1400 * ms, Took: time.Second, Current: true}, // it idled for a lease
		},
		Injections: []Injection{
			{Number: 1, Fault: Fault{Kind: BusyFence}, Epoch: 1, Passed: true, At: 50 * ms, Done: 51 * ms, Healed: 52 * ms},
			{Number: 2, Fault: Fault{Kind: StopLong}, Nodes: []string{"node-1"}, Epoch: 1, At: 100 * ms, Done: 101 * ms, Healed: 2100 * ms},
		},
	}
}

func TestASoundRunHasNoViolation(t *testing.T) {
	t.Parallel()
	if found, frozen := Check(sound()); len(found) > 0 || frozen > 0 {
		t.Errorf("got %+v and %d frozen, want none", found, frozen)
	}
}

// Each case corrupts the evidence.
func TestTheCheckerFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		doctor func(*Evidence)
		want   []string
		fault  int
		frozen int
	}{
		{"an old leader looks at its gate after waking, and acts", func(e *Evidence) {
			e.Record.Outside = append(e.Record.Outside, evidence.Act{
				Start: 99 * ms, Checked: 2101 * ms, End: 2102 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, []string{OneActor, OneActor}, 2, 0}, // overlapping, and late in the file
		{"frozen between the check of its gate and the write", func(e *Evidence) {
			e.Record.Outside = append(e.Record.Outside, evidence.Act{
				Start: 98 * ms, Checked: 99 * ms, End: 99 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, nil, 0, 1},
		{"delayed there by a busy machine", func(e *Evidence) {
			e.Injections = e.Injections[:1]
			e.Record.Outside = slices.Insert(e.Record.Outside, 1, evidence.Act{
				Start: 1900 * ms, Checked: 1901 * ms, End: 2052 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, nil, 0, 1},
		{"the same, but it checked less than a margin before the next door opened", func(e *Evidence) {
			e.Injections = e.Injections[:1]
			e.Record.Outside = slices.Insert(e.Record.Outside, 1, evidence.Act{
				Start: 1950 * ms, Checked: 1951 * ms, End: 2052 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, []string{OneActor}, 1, 0},
		{"two lead before either is stopped", func(e *Evidence) { // a freeze explains nothing before it
			e.Record.Outside = []evidence.Act{
				{Start: 60 * ms, Checked: 61 * ms, End: 62 * ms, Epoch: 2, Term: "b", Node: "node-2"},
				{Start: 70 * ms, Checked: 71 * ms, End: 72 * ms, Epoch: 1, Term: "a", Node: "node-1"},
			}
		}, []string{OneActor}, 1, 0},
		{"killed while stopped, and started again, it acts in its old term", func(e *Evidence) {
			e.Record.Outside = append(e.Record.Outside, evidence.Act{
				Start: 2080 * ms, Checked: 2081 * ms, End: 2082 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, []string{OneActor, Shut}, 2, 0},
		{"a stale row", func(e *Evidence) {
			e.Record.Ledger = append(e.Record.Ledger, evidence.Row{Seq: 3, Epoch: 1, Term: "a", Node: "node-1"})
		}, []string{OneActor}, 0, 0},
		{"a row that a frozen fence let through", func(e *Evidence) {
			e.Record.Ledger = append(e.Record.Ledger, evidence.Row{Seq: 0, Epoch: 2, Term: "b", Node: "straggler"})
		}, []string{NothingMore}, 0, 0},
		{"an acknowledged row is gone", func(e *Evidence) { e.Record.Ledger = e.Record.Ledger[:1] }, []string{NothingLost}, 2, 0},
		{"two children at once", func(e *Evidence) {
			e.Injections = e.Injections[:1] // nobody was cut off: only the overlap is left
			e.Children = slices.Insert(e.Children, 2, evidence.Act{Start: 2059 * ms, End: 2062 * ms, Epoch: 1, Term: "c", Node: "node-1"})
		}, []string{OneChild}, 1, 0},
		{"a child outlives its deadline", func(e *Evidence) {
			e.Children = slices.Insert(e.Children, 2, evidence.Act{Start: 1102 * ms, End: 1103 * ms, Epoch: 1, Term: "c", Node: "node-1"})
		}, []string{InTime}, 2, 0},
		{"a child is alive until the lease is over", func(e *Evidence) {
			e.Children = slices.Insert(e.Children, 2, evidence.Act{Start: 1101 * ms, End: 1103 * ms, Epoch: 1, Term: "c", Node: "node-1"})
		}, nil, 0, 0},
		{"a leader that nobody elected acts", func(e *Evidence) {
			e.History = slices.Delete(e.History, 5, 6)
		}, []string{Minted}, 0, 0},
		{"a child of another node's epoch", func(e *Evidence) { e.Children[2].Node = "node-3" }, []string{Minted}, 2, 0},
		{"an epoch that goes down", func(e *Evidence) { e.History[5].Epoch = 0 }, []string{Minted, Minted}, 0, 0},
		{"an eviction that is not recorded", func(e *Evidence) { e.History[4].Event = "lost" }, []string{Named}, 1, 0},
		{"callers of two daemons act at once", func(e *Evidence) {
			e.Gated[0].Acts[0].Start = 1999 * ms
		}, []string{OneAsker}, 2, 0},
		{"a caller acts on an old answer after a newer one", func(e *Evidence) {
			e.Gated[0].Acts = append(e.Gated[0].Acts, evidence.Act{Start: 2091 * ms, End: 2092 * ms, Epoch: 1, Term: "e", Node: "daemon-1"})
		}, []string{OneAsker}, 2, 0},
		{"the same about another scope", func(e *Evidence) {
			e.Gated[0].Acts[0].Start, e.Gated[0].Acts[0].Epoch = 1999*ms, 1
			e.Gated = append(e.Gated, Gated{Scope: "other-3", Acts: e.Gated[0].Acts[:1]})
			e.Gated[0].Acts = e.Gated[0].Acts[1:]
			e.History[3] = pgops.Event{Scope: "other-3", Epoch: 1, Holder: "daemon-2", Event: "acquired"}
		}, nil, 0, 0},
		{"a gate answers for a daemon that nobody elected", func(e *Evidence) { e.History[3].Holder = "daemon-3" }, []string{Minted}, 2, 0},
		{"a valid token is refused", func(e *Evidence) { e.Refused[0].Current = true }, []string{ValidPasses}, 2, 0},
		{"a transaction is ended before it was in the way for a lease", func(e *Evidence) { e.Refused[1].Took = 900 * time.Millisecond }, []string{ValidPasses}, 2, 0},
		{"a fence fails in another way", func(e *Evidence) { e.Refused[2].Took = 900 * time.Millisecond }, []string{ValidPasses}, 2, 0},
		{"a token that is over commits", func(e *Evidence) { e.Streamed[1].Stale = true }, []string{StaleStops}, 0, 0},
		{"a row of a stream comes after one of a newer epoch", func(e *Evidence) { slices.Reverse(e.Streamed) }, []string{StaleStops}, 0, 0},
		{"nobody leads for too long", func(e *Evidence) { e.Ended = 10_000 * ms }, []string{Led, Led, Led}, 2, 0},
		{"the eviction of another epoch", func(e *Evidence) { e.History[4].Epoch = 2 }, []string{Named}, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			c.doctor(&e)
			found, frozen := Check(e)
			var invariants []string
			for _, v := range found {
				invariants = append(invariants, v.Invariant)
			}
			if !slices.Equal(invariants, c.want) || frozen != c.frozen {
				t.Errorf("got %+v and %d frozen; want %v and %d", found, frozen, c.want, c.frozen)
			}
			if len(found) > 0 && found[0].Fault != c.fault {
				t.Errorf("got a violation after fault %d, want %d: %+v", found[0].Fault, c.fault, found[0])
			}
		})
	}
}

// For each kind: whether it ends terms for good, and whether healing may save them. With a
// lease of one second a child may write until 1101 ms, and a gate may say yes until 1001 ms.
func TestWorkWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		kind          Kind
		healed        fence.Instant
		child, asked  fence.Instant
		found, frozen int
	}{
		{"a child, without a database", PGKill, 2100, 1102, 500, 1, 0},
		{"a child in time", PGKill, 2100, 1101, 500, 0, 0},
		{"an act door, without a database", PGKill, 2100, 900, 1002, 1, 0},
		{"an act door in time", PGKill, 2100, 900, 1001, 0, 0},
		{"both", PGKill, 2100, 1102, 1002, 2, 0},
		{"a database that came back soon renews no old term", PGKill, 300, 1102, 1002, 2, 0},
		{"a database that was restarted in order renews no old term", PGRestart, 300, 1102, 1002, 2, 0},
		{"a line that takes new connections after all were torn renews none", Reset, 300, 1102, 1002, 2, 0},
		{"a machine that was killed renews none", Kill9, 300, 1102, 1002, 2, 0},
		{"a killed leader with a frozen fence", FrozenFence, 300, 1102, 1002, 2, 0},
		{"a killed leader with a busy fence", BusyFence, 300, 1102, 1002, 2, 0},
		{"a machine with a healed silent line may go on", Silent, 300, 1102, 1002, 0, 0},
		{"a machine with a silent line may not", Silent, 2100, 1102, 1002, 2, 0},
		{"a deaf machine may not", Deaf, 2100, 1102, 1002, 2, 0},
		{"a healed deaf machine may go on", Deaf, 300, 1102, 1002, 0, 0},
		{"a slow line renews", Latency, 2100, 1102, 1002, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := sound()
			e.Injections[1].Fault.Kind, e.Injections[1].Healed, e.Injections[1].Passed = c.kind, c.healed*ms, false
			e.Children = slices.Insert(e.Children, 2, evidence.Act{Start: c.child * ms, End: c.child * ms, Epoch: 1, Term: "c", Node: "node-1"})
			e.Record.Outside = slices.Insert(e.Record.Outside, 1, evidence.Act{
				Start: (c.asked - 1) * ms, Checked: c.asked * ms, End: c.asked * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
			found, frozen := Check(e)
			if len(found) != c.found || frozen != c.frozen {
				t.Errorf("got %+v and %d frozen; want %d and %d", found, frozen, c.found, c.frozen)
			}
			for _, v := range found {
				if v.Invariant != InTime && v.Invariant != Shut || v.Fault != 2 {
					t.Errorf("got %+v, want fault 2", v)
				}
			}
		})
	}
}

// A fault that was cut short before it was injected explains nothing.
func TestAFaultThatWasNotInjectedCutsNobodyOff(t *testing.T) {
	t.Parallel()
	e := sound()
	e.Injections[1] = Injection{Number: 2, Fault: Fault{Kind: Kill9}, Nodes: []string{"node-1"}, At: 100 * ms}
	e.Children = slices.Insert(e.Children, 2, evidence.Act{Start: 1900 * ms, End: 1901 * ms, Epoch: 1, Term: "c", Node: "node-1"})
	if found, _ := Check(e); len(found) != 0 {
		t.Errorf("got %+v, want none", found)
	}
}

func TestTheMedianCountsHitsOnly(t *testing.T) {
	t.Parallel()
	var g gaps
	g.add(Silent, 20*time.Millisecond, false)
	g.add(Silent, 30*time.Millisecond, false)
	g.add(Silent, time.Second, true)
	g.add(Latency, 25*time.Millisecond, false)
	g.add(Silent, 2*time.Second, false)
	if s := g.spreads(); s[Silent] != (Spread{1000, 2000}) || s[Latency] != (Spread{25, 25}) {
		t.Errorf("got %+v", s)
	}
}

func TestALongListIsShortened(t *testing.T) {
	t.Parallel()
	if short := shorten(nil, "again"); short == nil || len(short) != 0 {
		t.Errorf("a list of none: got %v, want an empty one", short)
	}
	all := slices.Repeat([]Violation{{Invariant: OneActor, Detail: "x"}}, shownEach+2)
	short := shorten(append(all, Violation{Invariant: Alive}), "again")
	if len(short) != shownEach+2 || short[shownEach].Invariant != Alive || short[shownEach+1].Detail != "and 2 more" || short[0].Replay != "again" {
		t.Errorf("got %d violations, the last ones %+v", len(short), short[shownEach:])
	}
}
