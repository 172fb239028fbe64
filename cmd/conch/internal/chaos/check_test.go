package chaos

import (
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
)

// sound is a run in which all went well: node-1 led with epoch 1 until it was
// stopped from 100 to 2100 ms, node-2 after it. A lease is one second.
func sound() Evidence {
	act := func(start, end fence.Instant, epoch int64, term, node string) evidence.Act {
		return evidence.Act{Start: start * ms, End: end * ms, Checked: (end - 1) * ms, Epoch: epoch, Term: term, Node: node}
	}
	acquired := func(scope string, epoch int64, holder string) pgmint.Event {
		return pgmint.Event{Scope: scope, Epoch: epoch, Holder: holder, Event: "acquired"}
	}
	return Evidence{
		Lease: time.Second,
		Record: evidence.Record{
			Ledger: []evidence.Row{{Seq: 1, Epoch: 1, Term: "a", Node: "node-1"}, {Seq: 2, Epoch: 2, Term: "b", Node: "node-2"}},
			Acks: []evidence.Ack{
				{Seq: 1, Epoch: 1, Term: "a", At: 90 * ms}, {Seq: 2, Epoch: 2, Term: "b", At: 1200 * ms},
			},
			Outside: []evidence.Act{act(90, 98, 1, "a", "node-1"), act(2050, 2055, 2, "b", "node-2")},
		},
		Children: []evidence.Act{act(95, 99, 1, "c", "node-1"), act(900, 905, 1, "c", "node-1"), act(2060, 2065, 2, "d", "node-2")},
		History: []pgmint.Event{
			acquired(Scope, 1, "node-1"), acquired(RunScope, 1, "node-1"),
			{Scope: Scope, Epoch: 1, Holder: "node-1", Event: "evicted"}, acquired(Scope, 2, "node-2"), acquired(RunScope, 2, "node-2"),
		},
		Wounds: []Wound{
			{Number: 1, Fault: Fault{Kind: BusyFence}, Epoch: 1, Passed: true, At: 50 * ms, Done: 51 * ms, Healed: 52 * ms},
			{Number: 2, Fault: Fault{Kind: StopLong}, Nodes: []string{"node-1"}, Epoch: 1, At: 100 * ms, Done: 101 * ms, Healed: 2100 * ms},
		},
	}
}

func TestASoundRunHasNoViolation(t *testing.T) {
	t.Parallel()
	if found, frozen := Check(sound()); len(found) > 0 || frozen > 0 {
		t.Errorf("%+v, %d frozen", found, frozen)
	}
}

// Each case is evidence that somebody doctored.
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
		}, []string{OneActor, OneActor}, 2, 0}, // under way at once, and in the file after it
		{"frozen between the look at its gate and the write", func(e *Evidence) {
			e.Record.Outside = append(e.Record.Outside, evidence.Act{
				Start: 98 * ms, Checked: 99 * ms, End: 99 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, nil, 0, 1},
		{"the same of a machine that was not stopped", func(e *Evidence) {
			e.Wounds[1].Nodes = []string{"node-3"}
			e.Record.Outside = append(e.Record.Outside, evidence.Act{
				Start: 98 * ms, Checked: 99 * ms, End: 99 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, []string{OneActor}, 1, 0},
		{"the same long after its last look", func(e *Evidence) {
			e.Record.Outside = append(e.Record.Outside, evidence.Act{
				Start: 20 * ms, Checked: 21 * ms, End: 22 * ms, Epoch: 1, Term: "a", Node: "node-1",
			})
		}, []string{OneActor}, 0, 0},
		{"a stale row", func(e *Evidence) {
			e.Record.Ledger = append(e.Record.Ledger, evidence.Row{Seq: 3, Epoch: 1, Term: "a", Node: "node-1"})
		}, []string{OneActor}, 0, 0},
		{"a row that a frozen fence let through", func(e *Evidence) {
			e.Record.Ledger = append(e.Record.Ledger, evidence.Row{Seq: 0, Epoch: 2, Term: "b", Node: "straggler"})
		}, []string{NothingMore}, 0, 0},
		{"an acknowledged row is gone", func(e *Evidence) { e.Record.Ledger = e.Record.Ledger[:1] }, []string{NothingLost}, 2, 0},
		{"two children at once", func(e *Evidence) {
			e.Wounds = e.Wounds[:1] // nobody was cut off: only the overlap is left
			e.Children = slices.Insert(e.Children, 2, evidence.Act{Start: 2059 * ms, End: 2062 * ms, Epoch: 1, Term: "c", Node: "node-1"})
		}, []string{OneChild}, 1, 0},
		{"a child outlives its deadline", func(e *Evidence) {
			e.Children = slices.Insert(e.Children, 2, evidence.Act{Start: 1102 * ms, End: 1103 * ms, Epoch: 1, Term: "c", Node: "node-1"})
		}, []string{InTime}, 2, 0},
		{"somebody acts whom nobody elected", func(e *Evidence) {
			e.History = slices.Delete(e.History, 3, 4)
		}, []string{Minted}, 0, 0},
		{"a child of somebody else's epoch", func(e *Evidence) { e.Children[2].Node = "node-3" }, []string{Minted}, 2, 0},
		{"an epoch that goes down", func(e *Evidence) { e.History[3].Epoch = 0 }, []string{Minted, Minted}, 0, 0},
		{"an eviction that nobody wrote down", func(e *Evidence) { e.History[2].Event = "lost" }, []string{Named}, 1, 0},
		{"the eviction of another epoch", func(e *Evidence) { e.History[2].Epoch = 2 }, []string{Named}, 1, 0},
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
				t.Errorf("found %+v and %d frozen; want %v and %d", found, frozen, c.want, c.frozen)
			}
			if len(found) > 0 && found[0].Fault != c.fault {
				t.Errorf("after fault %d, want %d: %+v", found[0].Fault, c.fault, found[0])
			}
		})
	}
}

func TestTheMedianIsOfThoseWhoWereHit(t *testing.T) {
	t.Parallel()
	var g gaps
	g.add(Silent, 20*time.Millisecond, false)
	g.add(Silent, 30*time.Millisecond, false)
	g.add(Silent, time.Second, true)
	g.add(Latency, 25*time.Millisecond, false)
	g.add(Silent, 2*time.Second, false)
	if s := g.spreads(); s[Silent] != (Spread{1000, 2000}) || s[Latency] != (Spread{25, 25}) {
		t.Errorf("%+v", s)
	}
}

func TestALongListIsShortened(t *testing.T) {
	t.Parallel()
	if short := shorten(nil, "again"); short == nil || len(short) != 0 {
		t.Errorf("of none: %v", short)
	}
	all := slices.Repeat([]Violation{{Invariant: OneActor, Detail: "x"}}, told+2)
	short := shorten(append(all, Violation{Invariant: Alive}), "again")
	if len(short) != told+2 || short[told].Invariant != Alive || short[told+1].Detail != "and 2 more" || short[0].Replay != "again" {
		t.Errorf("%d: %+v", len(short), short[told:])
	}
}
