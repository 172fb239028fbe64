package condition

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/condition/sample"
)

// The first alert of the seed, word for word (F9).
const nobodyLeads = `sum(forge_leader_is_leader{role='scheduler'}) == 0`

// F9: over the samples of all nodes the seed's first alert is false while one leads, and becomes true two intervals after
// the leader has died, however long the engine looks back.
func TestADeadLeaderIsNoLeader(t *testing.T) {
	t.Parallel()
	b := newBed(t, nobodyLeads)
	n1, n2, n3 := func() { b.tells("n1", leads(1)...) }, func() { b.tells("n2", leads(0)...) }, func() { b.tells("n3", leads(0)...) }
	b.pass(8, n1, n2, n3)
	b.wants("while n1 leads", nobodyLeads, "false")
	b.pass(1, n2, n3)
	b.wants("one row is missing", nobodyLeads, "false")
	b.pass(1, n2, n3)
	b.wants("two rows are missing", nobodyLeads, "[] 0")
	b.pass(8, n2, n3)
	b.wants("two minutes later", nobodyLeads, "[] 0")
	b.pass(1, func() { b.tells("n2", leads(1)...) }, n3)
	b.wants("n2 leads", nobodyLeads, "false")
}

// What gives nothing since nothing is there is told apart from what is false.
func TestNoDataIsNotFalse(t *testing.T) {
	t.Parallel()
	all := []string{
		nobodyLeads, `conch_database_up == 0`, `increase(conch_role_failures_total[10m]) > 2`, `absent(conch_is_leader)`, `conch_is_leader > 1 or conch_candidates > 9`,
		`conch_is_leader > 1 unless conch_candidates`, `conch_is_leader > 1 and conch_candidates`, `(-(conch_candidates)) > 0`, `max_over_time(conch_candidates[5m:1m]) > 9`,
		`conch_is_leader > on() group_left() sum(conch_candidates)`, `up == 0`, `conch_candidates offset 5m > 9`, `absent_over_time(conch_is_leader[5m])`, `vector(1) > 2`,
	}
	b := newBed(t, all...)
	judge := func(when string, want map[string]string) {
		t.Helper()
		for _, text := range all {
			expected, is := want[text]
			if !is {
				expected = want["else"]
			}
			b.wants(when, text, expected)
		}
	}
	judge("nobody was ever there", map[string]string{
		"else": "no data", `absent(conch_is_leader)`: "[] 1", `absent_over_time(conch_is_leader[5m])`: "[] 1", `vector(1) > 2`: "false",
	})
	n1 := func() { b.tells("n1", append(leads(1), "conch_database_up 1")...) }
	b.pass(4, n1)
	judge("a node without candidates and failures", map[string]string{
		"else": "false", `increase(conch_role_failures_total[10m]) > 2`: "no data", `conch_is_leader > 1 and conch_candidates`: "no data", `(-(conch_candidates)) > 0`: "no data",
		`max_over_time(conch_candidates[5m:1m]) > 9`: "no data", `conch_is_leader > on() group_left() sum(conch_candidates)`: "no data", `conch_candidates offset 5m > 9`: "no data",
	})
	b.pass(2)
	b.wants("all nodes have just gone", nobodyLeads, "no data")
	b.wants("all nodes have just gone", `max_over_time(conch_is_leader[5m:1m]) > 9`, "false")
	b.pass(40)
	judge("all nodes are gone", map[string]string{
		"else": "no data", `absent(conch_is_leader)`: "[] 1", `absent_over_time(conch_is_leader[5m])`: "[] 1", `vector(1) > 2`: "false", `up == 0`: "[instance:n1] 0",
	})
}

// What only a scrape adds is said of the rows: instance is the node, and up is whether its row moves.
func TestUpAndInstance(t *testing.T) {
	t.Parallel()
	const notReady = `up == 0 and on (job, namespace, app_kubernetes_io_name) group by (job, namespace, app_kubernetes_io_name) (conch_is_leader)`
	b := newBed(t, `up`, notReady, `conch_is_leader`)
	n1, n2 := func() { b.tells("n1", leads(1)...) }, func() { b.tells("n2", leads(0)...) }
	b.pass(3, n1, n2)
	b.wants("both are there", `up`, "[instance:n1] 1; [instance:n2] 1")
	b.wants("both are there", notReady, "false")
	b.wants("both are there", `conch_is_leader == 1`, "[instance:n1 scope:scheduler] 1")
	b.pass(2, n1)
	b.wants("n2 is gone", notReady, "[instance:n2] 0")
	b.pass(10, n1)
	b.wants("n2 is gone for minutes", notReady, "[instance:n2] 0")
	b.pass(1, n1, n2)
	b.wants("n2 is back", notReady, "false")
	b.pass(int(b.w.KeepFor()/interval)+4, n1)
	b.wants("n2 is gone for longer than rows are kept", `up`, "[instance:n1] 1")
	if len(b.w.nodes) != 1 || len(b.w.named("conch_is_leader")) != 1 {
		t.Errorf("%d nodes are remembered, want one", len(b.w.nodes))
	}
}

// A series that its node tells no more is over at once, and not after five minutes.
func TestASeriesThatGoes(t *testing.T) {
	t.Parallel()
	const text, ranged = `conch_schedule_oldest_ready_seconds > 300`, `max_over_time(conch_schedule_oldest_ready_seconds[5m]) > 300`
	b := newBed(t, text, ranged)
	b.pass(3, func() {
		b.tells("n1", `conch_schedule_oldest_ready_seconds{queue="mail"} 400`, `conch_schedule_oldest_ready_seconds{queue="other"} 1`)
	})
	b.wants("it waits", text, "[instance:n1 queue:mail] 400")
	less := func() { b.tells("n1", `conch_schedule_oldest_ready_seconds{queue="other"} 1`) }
	b.pass(1, less)
	b.wants("the queue is gone", text, "false")
	b.wants("the queue is gone", ranged, "[instance:n1 queue:mail] 400")
	b.pass(40, less)
	b.wants("ten minutes later", ranged, "false")
	b.pass(1, func() {
		b.tells("n1", `conch_schedule_oldest_ready_seconds{queue="other"} 1`, `conch_schedule_oldest_ready_seconds{queue="mail"} 500`)
	})
	b.wants("it is back", text, "[instance:n1 queue:mail] 500")
	b.wants("it is back", `count_over_time(conch_schedule_oldest_ready_seconds{queue="mail"}[5m])`, "[instance:n1 queue:mail] 1")
}

// A counter that begins again, as its node did, counts on; the second alert of the seed is per second and never true, and increase is.
func TestIncreaseOverARestart(t *testing.T) {
	t.Parallel()
	const seeds, meant = `rate(forge_leader_failovers_total[5m]) > 5`, `increase(conch_leader_failovers_total[5m]) > 5`
	b := newBed(t, seeds, meant)
	n := 0
	count := func() { n++; b.tells("n1", fmt.Sprintf(`conch_leader_failovers_total{scope="a"} %d`, n)) }
	b.pass(10, count)
	b.pass(4) // it is away for a minute
	n = 0
	b.pass(4, count)
	b.wants("14 failovers in five minutes", seeds, "false")
	if got := b.gives(meant); !strings.HasPrefix(got, "[instance:n1 scope:a] 14") && !strings.HasPrefix(got, "[instance:n1 scope:a] 13") {
		t.Errorf("%s is %s, want about 14", meant, got)
	}
}

// A new evaluator that loads the rows of the past says the same as the one that has seen them come, with the names that were told once.
func TestLoad(t *testing.T) {
	t.Parallel()
	all := []string{nobodyLeads, `increase(conch_leader_failovers_total[10m]) > 1`, `last_over_time(conch_is_leader[1h]) unless conch_is_leader`, `up == 0`}
	b := newBed(t, all...)
	n := 0
	n1 := func() {
		n++
		b.tells("n1", fmt.Sprintf(`conch_is_leader{scope="scheduler"} %d`, n/30%2), fmt.Sprintf(`conch_leader_failovers_total{scope="scheduler"} %d`, n/10))
	}
	n2 := func() { b.tells("n2", leads(0)...) }
	b.pass(60, n1, n2)
	b.pass(7, n1)
	late := newBed(t, all...)
	late.now = b.now
	late.w.LoadRows(b.told)
	late.w.EndRound(late.now)
	for _, text := range all {
		if got, want := late.gives(text), b.gives(text); got != want {
			t.Errorf("%s: a new evaluator says %s, and the old one %s", text, got, want)
		}
	}
	// Only the last rows are there: the names were told before them, and then once more.
	part := newBed(t, all...)
	part.now = b.now
	part.w.LoadRows(b.told[30*2:])
	part.w.EndRound(part.now)
	part.wants("with the last rows", nobodyLeads, b.gives(nobodyLeads))
	part.wants("also those before the names", `count_over_time(conch_is_leader{instance="n1"}[10m])`, "[instance:n1 scope:scheduler] 37")
}

// A row that moves and cannot be read says that its node is there, and nothing of its values.
func TestARowThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBed(t, `conch_is_leader == 1`, `up == 0`)
	b.pass(3, func() { b.tells("n1", leads(1)...) })
	bad := func() {
		b.seq++
		err := b.w.TakeRow(Row{Node: "n1", Seq: b.seq, Body: []byte("\x01\x00??")}, b.now)
		if !errors.Is(err, sample.ErrForeign) || !strings.Contains(err.Error(), `"n1"`) {
			t.Errorf("got %v, want ErrForeign and the node", err)
		}
	}
	b.pass(4, bad)
	b.wants("it cannot be read", `conch_is_leader == 1`, "no data")
	b.wants("it cannot be read", `up == 0`, "false")
	b.pass(1, func() { b.tells("n1", leads(1)...) })
	b.wants("it can be read again", `conch_is_leader == 1`, "[instance:n1 scope:scheduler] 1")
	if err := b.w.TakeRow(Row{Node: "n1", Seq: b.seq, Body: nil}, b.now); err != nil {
		t.Errorf("the same row once more: %v", err)
	}
}

// Bad input: labels that take the place of ours, NaNs that look like our marks, and series and nodes without end.
func TestHostileRows(t *testing.T) {
	t.Parallel()
	b := newBed(t, `conch_is_leader`, `conch_candidates`, `up`)
	evil := []string{`conch_is_leader{scope="a", instance="n2"} 1`, `conch_is_leader{scope="b", exported_instance="x", instance="y"} 1`, `up{scope="x"} 7`, `conch_is_leader{scope="<b>"} 1`}
	b.pass(1, func() { b.tells("n1", evil...) })
	b.wants("labels of ours", `conch_is_leader`, "[exported_instance:n2 instance:n1 scope:a] 1; [instance:n1 scope:<b>] 1")
	b.wants("a metric of ours", `up`, "[instance:n1] 1")

	set := sample.NewSet([]sample.Series{{Name: "conch_candidates"}})
	for i, bits := range []uint64{0x7ff0000000000002, 0x7ff0000000000003, 0x7ff8000000000001} { // stale, none, NaN
		b.now = b.now.Add(interval)
		if err := b.w.TakeRow(Row{Node: "n9", Seq: uint64(i), Body: new(sample.Writer).WriteBody(set, []float64{math.Float64frombits(bits)})}, b.now); err != nil {
			t.Fatal(err)
		}
		b.wants("a NaN", `conch_candidates`, "[instance:n9] NaN")
	}

	b.w.most = b.w.points + 10*(ofSeries+spareRows)
	var many []sample.Series
	for i := range 50 {
		many = append(many, sample.Series{Name: "conch_candidates", Labels: []sample.Label{{Name: "scope", Value: fmt.Sprint(i)}}})
	}
	body := new(sample.Writer).WriteBody(sample.NewSet(many), make([]float64, 50))
	if err := b.w.TakeRow(Row{Node: "n3", Seq: 1, Body: body}, b.now); !errors.Is(err, errFull) {
		t.Errorf("50 series: got %v, want errFull", err)
	}
	b.wants("as many as there is room for", `count(conch_candidates{instance="n3"})`, "[] 10")
	for i := range mostNodes + 5 {
		err := b.w.TakeRow(Row{Node: fmt.Sprint("guest", i), Seq: 1}, b.now)
		if full := !errors.Is(err, sample.ErrForeign); full != (i >= mostNodes-3) {
			t.Fatalf("node %d: got %v", i, err)
		}
	}
}

// The times of rows do not go back with a clock.
func TestTimesGoOn(t *testing.T) {
	t.Parallel()
	b := newBed(t, `increase(conch_leader_failovers_total[10m])`)
	for i := range 6 {
		b.now = b.now.Add([]time.Duration{interval, -time.Hour}[i%2])
		b.tells("n1", fmt.Sprintf(`conch_leader_failovers_total{scope="a"} %d`, i))
	}
	s := b.w.named("conch_leader_failovers_total")[0]
	for row := s.from() + 1; row <= s.last; row++ {
		if s.of.time(row) <= s.of.time(row-1) {
			t.Errorf("row %d is at %d, after one at %d", row, s.of.time(row), s.of.time(row-1))
		}
	}
}
