package evidence_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/fence"
)

const ms = fence.Instant(time.Millisecond)

// sound returns a run without faults: epoch 1 was killed at 100 ms, epoch 2 committed at
// 110 ms and acted behind the act door from 160 ms on. Each test forges one fault.
func sound() evidence.Record {
	row := func(seq, epoch int64, term string) evidence.Row {
		return evidence.Row{Seq: seq, Epoch: epoch, Term: term, Node: "n"}
	}
	act := func(start, end fence.Instant, epoch int64, term string) evidence.Act {
		return evidence.Act{Start: start * ms, End: end * ms, Epoch: epoch, Term: term, Node: "n"}
	}
	return evidence.Record{
		Ledger: []evidence.Row{row(1, 1, "a"), row(2, 1, "a"), row(3, 2, "b"), row(4, 2, "b")},
		Acks: []evidence.Ack{
			{Seq: 1, Epoch: 1, Term: "a", At: 10 * ms}, {Seq: 2, Epoch: 1, Term: "a", At: 20 * ms},
			{Seq: 3, Epoch: 2, Term: "b", At: 110 * ms}, // row 4 was committed, but its process was killed before it knew
		},
		Outside: []evidence.Act{act(5, 8, 1, "a"), act(95, 98, 1, "a"), act(160, 163, 2, "b")},
		Kills:   []evidence.Kill{{At: 100 * ms, Node: "n", Epoch: 1}},
		Entries: []evidence.Entry{{At: 4 * ms, Epoch: 1}, {At: 155 * ms, Epoch: 2}},
	}
}

func TestASoundRunIsFoundSound(t *testing.T) {
	v := evidence.Judge(sound())
	if err := v.Fault(true); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"acts":7,"kills":1,"leaders":2,"failover_ms":{"p50":10,"p99":10,"max":10},` +
		`"act_door_ms":{"p50":55,"p99":55,"max":55},"overlapping":0,"lost":0,"duplicated":0}`
	if string(got) != want {
		t.Errorf("the verdict reads\n%s, want\n%s", got, want)
	}
}

func TestEveryFaultIsCounted(t *testing.T) {
	for _, c := range []struct {
		name                          string
		forge                         func(*evidence.Record)
		overlapping, lost, duplicated int
	}{
		{"two acts of different terms at once", func(r *evidence.Record) {
			r.Outside[1].End = 161 * ms // the old leader's act took too long
		}, 1, 0, 0},
		{"an act around all others", func(r *evidence.Record) {
			r.Outside[0].End = 500 * ms // meets one act of term b; its own acts do not count
		}, 1, 0, 0},
		{"acts that touch", func(r *evidence.Record) { r.Outside[1].End = 160 * ms }, 1, 0, 0},
		{"an old term acts after a newer one began", func(r *evidence.Record) {
			r.Outside = append(r.Outside, evidence.Act{Start: 200 * ms, End: 201 * ms, Epoch: 1, Term: "a"})
		}, 1, 0, 0},
		{"an old term acts between two newer ones", func(r *evidence.Record) {
			r.Outside = append(r.Outside,
				evidence.Act{Start: 300 * ms, End: 301 * ms, Epoch: 3, Term: "c"},
				evidence.Act{Start: 400 * ms, End: 401 * ms, Epoch: 1, Term: "a"},
				evidence.Act{Start: 402 * ms, End: 403 * ms, Epoch: 2, Term: "b"})
		}, 2, 0, 0},
		{"the newest term acted first, and its line came last", func(r *evidence.Record) {
			r.Outside = []evidence.Act{
				{Start: 400 * ms, End: 401 * ms, Epoch: 1, Term: "a"},
				{Start: 402 * ms, End: 403 * ms, Epoch: 2, Term: "b"},
				{Start: 300 * ms, End: 301 * ms, Epoch: 3, Term: "c"},
			}
		}, 2, 0, 0},
		{"a line that reached the file late", func(r *evidence.Record) {
			r.Outside[1], r.Outside[2] = r.Outside[2], r.Outside[1] // stopped between its end and the write
		}, 1, 0, 0},
		{"a stale row got through the fence", func(r *evidence.Record) {
			r.Ledger = append(r.Ledger, evidence.Row{Seq: 5, Epoch: 1, Term: "a"})
		}, 1, 0, 0},
		{"one epoch under two terms", func(r *evidence.Record) { r.Ledger[3].Term = "x" }, 1, 0, 0},
		{"one epoch under two terms, outside", func(r *evidence.Record) { r.Outside[2].Term = "x" }, 1, 0, 0},
		{"a hole", func(r *evidence.Record) {
			r.Ledger = append(r.Ledger, evidence.Row{Seq: 7, Epoch: 2, Term: "b"})
		}, 0, 2, 0},
		{"an acknowledged row is missing at the end", func(r *evidence.Record) {
			r.Acks = append(r.Acks, evidence.Ack{Seq: 5, Epoch: 2, Term: "b", At: 120 * ms})
		}, 0, 1, 0},
		{"a missing row was acknowledged twice", func(r *evidence.Record) {
			ack := evidence.Ack{Seq: 5, Epoch: 2, Term: "b", At: 120 * ms}
			r.Acks = append(r.Acks, ack, ack)
		}, 0, 1, 0},
		{"an acknowledged row is missing in the middle", func(r *evidence.Record) {
			r.Ledger = append(r.Ledger[:1:1], r.Ledger[2:]...) // counted once, as a gap
		}, 0, 1, 0},
		{"an acknowledged row was replaced by another term's", func(r *evidence.Record) {
			r.Ledger[1].Epoch, r.Ledger[1].Term = 2, "b"
		}, 0, 1, 0},
		{"everything is missing", func(r *evidence.Record) { r.Ledger = nil }, 0, 3, 0},
		{"a row twice", func(r *evidence.Record) {
			r.Ledger = append(r.Ledger, r.Ledger[3], r.Ledger[3])
		}, 0, 0, 2},
		{"one number by two terms", func(r *evidence.Record) {
			r.Ledger = append(r.Ledger, evidence.Row{Seq: 2, Epoch: 2, Term: "b"})
		}, 0, 0, 1},
		{"a number that no worker assigns", func(r *evidence.Record) {
			r.Ledger = append(r.Ledger, evidence.Row{Seq: 0, Epoch: 2, Term: "b"})
		}, 0, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sound()
			c.forge(&r)
			v := evidence.Judge(r)
			if v.Overlapping != c.overlapping || v.Lost != c.lost || v.Duplicated != c.duplicated {
				t.Errorf("got overlapping %d, lost %d, duplicated %d; want %d, %d, %d",
					v.Overlapping, v.Lost, v.Duplicated, c.overlapping, c.lost, c.duplicated)
			}
			if v.Fault(true) == nil {
				t.Error("the verdict finds no fault")
			}
		})
	}
}

func TestARunThatShowsNothingIsAFault(t *testing.T) {
	for _, c := range []struct {
		name   string
		forge  func(*evidence.Record)
		killed bool
		fault  bool
	}{
		{"nobody acted", func(r *evidence.Record) { *r = evidence.Record{} }, false, true},
		{"nobody was killed although a kill was asked for", func(r *evidence.Record) { r.Kills = nil }, true, true},
		{"nobody was to be killed", func(r *evidence.Record) { r.Kills = nil }, false, false},
		{"no successor", func(r *evidence.Record) { r.Kills[0].Epoch = 2 }, true, true},
		{"the wrong one was killed", func(r *evidence.Record) { r.Kills[0].At = 115 * ms }, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := sound()
			c.forge(&r)
			if err := evidence.Judge(r).Fault(c.killed); (err != nil) != c.fault {
				t.Errorf("fault: %v, want one: %v", err, c.fault)
			}
		})
	}
}

func TestActDoorIsTheFirstSignOfIt(t *testing.T) {
	r := sound()
	r.Entries = r.Entries[:1] // the report was lost with its process
	if got := evidence.Judge(r).ActDoor.Max; got != 60 {
		t.Errorf("act door after %v ms, want 60: the first act outside", got)
	}
}

func TestAFailoverEndsWithTheFirstOfAllSuccessors(t *testing.T) {
	r := sound()
	r.Acks = append(r.Acks, evidence.Ack{Seq: 4, Epoch: 3, Term: "c", At: 500 * ms})
	if got := evidence.Judge(r).Failover.Max; got != 10 {
		t.Errorf("failover took %v ms, want 10", got)
	}
}

func TestSpread(t *testing.T) {
	r := sound()
	r.Kills = nil
	for i := range fence.Instant(100) { // failovers of 1 to 100 ms
		r.Kills = append(r.Kills, evidence.Kill{At: (110 - i - 1) * ms, Epoch: 1})
	}
	f := evidence.Judge(r).Failover
	if f.P50 != 50 || f.P99 != 99 || f.Max != 100 || f.Samples() != 100 {
		t.Errorf("got p50 %v, p99 %v, max %v of %d samples, want 50, 99 and 100 of 100", f.P50, f.P99, f.Max, f.Samples())
	}
	none, err := json.Marshal(evidence.Spread{})
	if err != nil || string(none) != `{"p50":null,"p99":null,"max":null}` {
		t.Errorf("without samples: got %s, %v; want nulls", none, err)
	}
	if math.Abs(evidence.Judge(sound()).Failover.P50-10) > 0 {
		t.Error("one sample is not its own median")
	}
}

func TestJudgeLeavesTheRecordAlone(t *testing.T) {
	r := sound()
	r.Outside[0], r.Outside[2] = r.Outside[2], r.Outside[0]
	first := r.Outside[0]
	evidence.Judge(r)
	if r.Outside[0] != first {
		t.Error("Judge sorted the record it was given")
	}
}
