package core_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/schedule/internal/core"
	"github.com/conchhq/conch/schedule/internal/tables"
	"github.com/conchhq/conch/schedule/internal/worker"
)

// begins is what the database's clock reads at the begin.
var begins = time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)

// desk is a database whose statements take no time, and who leads.
type desk struct {
	t        *testing.T
	tables   *tables.Tables
	now      time.Duration
	wrong    time.Duration // by how much the database's clock is ahead
	core     *core.Core    // nil: nobody leads
	facts    []any
	writes   []core.Write
	fails    bool      // the answers of writes are lost
	restored time.Time // when rows of a backup were found
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	return &desk{t: t, tables: tables.New()}
}

func (d *desk) clock() time.Time { return begins.Add(d.now + d.wrong) }

// lead has another process lead.
func (d *desk) lead() {
	d.core = core.New(30 * 24 * time.Hour)
	d.step(core.Tick{})
}

func (d *desk) step(in core.Input) {
	for _, act := range d.core.Step(core.Now{Boot: d.now, Wall: begins.Add(d.now)}, in) {
		switch act := act.(type) {
		case core.Read:
			read := d.tables.Read(act, d.clock())
			read.Restored = d.restored
			d.step(read)
		case core.Write:
			d.writes = append(d.writes, act)
			answer := core.Input(d.tables.Write(act, d.clock()))
			if d.fails {
				answer = core.Failed{Why: errors.New("no answer")}
			}
			d.step(answer)
		case core.Tell:
			d.facts = append(d.facts, act.Fact)
		}
	}
}

// until lets time pass, up to so long after the begin.
func (d *desk) until(text string) {
	d.t.Helper()
	end, err := time.ParseDuration(text)
	if err != nil {
		d.t.Fatal(err)
	}
	for range 100_000 {
		if d.core == nil {
			break
		}
		due, is := d.core.Due()
		if !is || due > end {
			break
		}
		d.now = max(d.now, due)
		d.step(core.Tick{})
	}
	d.now = end
}

// cron is a definition with what is usual.
func cron(schedule, catchUp string) core.Definition {
	return core.Definition{Name: "tick", Schedule: schedule, Timezone: "UTC", CatchUp: catchUp, Limit: 5, Late: time.Minute, Overlap: core.Allow}
}

func (d *desk) revise(id int64, c core.Definition) int64 {
	return d.tables.Revise(core.Change{ID: id, Definition: c}, d.clock())
}

// told is what the tables have of a cron: the times with a row, and what is passed over.
func (d *desk) told(id int64) string {
	rows, gaps := d.tables.Rows(id)
	var all []string
	for _, r := range rows {
		all = append(all, r.Run.At.Format("15:04"))
	}
	for _, g := range gaps {
		all = append(all, fmt.Sprintf("%s–%s %s×%d", g.From.Format("15:04"), g.To.Format("15:04"), g.Why, g.Count))
	}
	return strings.Join(all, " ")
}

func (d *desk) want(id int64, want string) {
	d.t.Helper()
	if got := d.told(id); got != want {
		d.t.Errorf("got %s\nwant %s", got, want)
	}
}

// F12: what was missed while nobody led is passed over, run once, or run as often as the limit says. What is on time is run in any case.
func TestCatchUp(t *testing.T) {
	t.Parallel()
	for catchUp, want := range map[string]string{
		core.None:   "10:01 10:20 10:21 10:02–10:19 late×18",
		core.Latest: "10:01 10:20 10:21 10:02–10:19 late×18",
		core.All:    "10:01 10:15 10:16 10:17 10:18 10:19 10:20 10:21 10:02–10:14 limit×13",
	} {
		d := newDesk(t)
		id := d.revise(0, cron("* * * * *", catchUp))
		d.lead()
		d.until("1m30s")
		d.core = nil
		d.until("20m30s")
		d.lead()
		d.until("21m10s")
		d.want(id, want)
	}
	d := newDesk(t) // nothing is on time
	id := d.revise(0, cron("*/5 * * * *", core.Latest))
	d.lead()
	d.core = nil
	d.until("23m")
	d.lead()
	d.want(id, "10:20 10:05–10:15 late×3")
}

// F12: what was missed before the rows of a backup were found may have been run: it is run once at most, and what is passed over says why. What is missed later is caught
// up with as ever.
func TestARestore(t *testing.T) {
	t.Parallel()
	for catchUp, want := range map[string][2]string{
		core.None:   {"10:05–10:20 restored×4", "10:25 10:05–10:20 restored×4 10:30–10:45 late×4"},
		core.Latest: {"10:20 10:05–10:15 restored×3", "10:20 10:25 10:45 10:05–10:15 restored×3 10:30–10:40 late×3"},
		core.All:    {"10:20 10:05–10:15 restored×3", "10:20 10:25 10:30 10:35 10:40 10:45 10:05–10:15 restored×3"},
	} {
		d := newDesk(t)
		id := d.revise(0, cron("*/5 * * * *", catchUp))
		d.lead()
		d.core = nil
		d.until("23m")
		d.restored = d.clock()
		d.lead()
		d.want(id, want[0])
		d.until("26m")
		d.core = nil
		d.until("47m")
		d.lead()
		d.want(id, want[1])
	}
}

// A year of missed seconds is counted up to a limit, and costs little.
func TestAYearIsMissed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("* * * * * *", core.Latest))
	d.lead()
	d.core = nil
	d.until("8760h")
	d.lead()
	_, gaps := d.tables.Rows(id)
	if want := d.clock().Add(-time.Minute - time.Second); len(gaps) != 1 || gaps[0].Count != core.MostCounted || !gaps[0].To.Equal(want) {
		t.Errorf("the gaps are %v, want one up to %s", gaps, want)
	}
}

// What a definition owes is settled by it, then the next one is adopted, and each in turn.
func TestRevisions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("*/5 * * * *", core.All))
	d.lead()
	d.until("6m")
	d.core = nil
	d.until("12m")
	paused := cron("*/5 * * * *", core.All)
	paused.Paused = true
	d.revise(id, paused)
	d.until("31m")
	d.revise(id, cron("*/2 * * * *", core.All))
	d.until("37m")
	d.revise(id, cron("0 * * * *", core.All))
	d.until("50m")
	d.lead()
	d.until("61m")
	d.want(id, "10:05 10:10 10:32 10:34 10:36 11:00 10:15–10:30 paused×4")
	if c := d.tables.Cron(id); c.Adopted != 4 {
		t.Errorf("revision %d is in force", c.Adopted)
	}
}

// A cron that is retired does nothing any more, but for what it owes.
func TestRetired(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("*/5 * * * *", core.All))
	d.lead()
	d.core = nil
	d.until("7m")
	d.tables.Revise(core.Change{ID: id, Definition: cron("*/5 * * * *", core.All), Retired: true}, d.clock())
	d.until("20m")
	d.lead()
	d.until("40m")
	d.want(id, "10:05")
	if l := d.tables.Read(core.Read{}, d.clock()); len(l.Crons) != 0 {
		t.Errorf("%v is still read", l.Crons)
	}
}

// The clock goes ahead by an hour, and back: the times of that hour come early, once, and what was passed over meanwhile is run in its time.
func TestTheClockIsWrong(t *testing.T) {
	t.Parallel()
	for catchUp, want := range map[string]string{
		core.All:  "10:01 10:02 10:57 10:58 10:59 11:00 11:01 11:02 10:04",
		core.None: "10:01 10:02 11:02 10:04",
	} {
		d := newDesk(t)
		id := d.revise(0, cron("* * * * *", catchUp))
		d.lead()
		d.until("2m10s")
		d.wrong = time.Hour
		d.until("2m50s")
		d.wrong = 0
		d.until("4m20s")
		rows, _ := d.tables.Rows(id)
		for at := range strings.FieldsSeq(want) {
			if !slices.ContainsFunc(rows, func(r tables.Row) bool { return r.Run.At.Format("15:04") == at }) {
				t.Errorf("%s: %s has no row: %s", catchUp, at, d.told(id))
			}
		}
		if i := slices.IndexFunc(d.facts, func(f any) bool { _, is := f.(core.ClockBack); return is }); i < 0 {
			t.Errorf("nobody hears that the clock went back: %v", d.facts)
		}
	}
}

// A pause that was written while the clock was ahead counts at once.
func TestAPauseWhileTheClockIsAhead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("* * * * *", core.None))
	d.lead()
	d.until("90s")
	d.wrong = time.Hour
	paused := cron("* * * * *", core.None)
	paused.Paused = true
	d.revise(id, paused)
	d.wrong = 0
	d.until("5m")
	d.want(id, "10:01 10:02") // the leader hears of it then
}

// An answer that is lost is no second row, whether the write was carried out or not.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("* * * * *", core.All))
	d.lead()
	d.fails = true
	d.until("1m0s")
	d.fails = false
	d.until("2m30s")
	d.want(id, "10:01 10:02")
}

// A write has half of the crons that are due, 500 at least and 2,000 at most, and of one cron a hundred rows.
func TestALargeBatch(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	many := cron("* * * * * *", core.All)
	many.Limit = 10_000
	first := d.revise(0, many)
	const crowd = 4500
	for range crowd {
		d.revise(0, cron("0 11 * * *", core.All))
	}
	d.lead()
	d.core = nil
	d.until("1h0m1s")
	d.writes = nil
	d.lead()
	total, due := 0, crowd+1
	var sizes []int
	for _, w := range d.writes {
		rows := 0
		for _, m := range w.Moves {
			if rows += len(m.Runs); len(m.Runs) > core.MostRuns {
				t.Errorf("one cron has %d rows in a write", len(m.Runs))
			}
		}
		if most := min(max(due/2, 500), 2000); rows >= most+core.MostRuns || len(w.Moves) > most {
			t.Errorf("of %d crons a write has %d rows of %d", due, rows, len(w.Moves))
		}
		total, due, sizes = total+rows, max(due-len(w.Moves), 1), append(sizes, rows)
	}
	if len(sizes) < 4 || sizes[0] < 2000 || sizes[1] < 1200 || sizes[2] < 500 {
		t.Errorf("the writes have %v rows", sizes)
	}
	if rows, _ := d.tables.Rows(first); len(rows) != 3601 || total != 3601+crowd {
		t.Errorf("%d rows were written, %d of one cron", total, len(rows))
	}
}

// Idle crons cost a statement in 30 seconds, and the next time is known.
func TestIdleCronsCostNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.revise(0, cron("0 12 * * *", core.All))
	d.lead()
	d.writes = nil
	d.until("9m")
	if len(d.writes) != 0 {
		t.Errorf("%d writes", len(d.writes))
	}
	if due, is := d.core.Due(); !is || due < 9*time.Minute || due > 9*time.Minute+30*time.Second {
		t.Errorf("the core wants the time at %s", due)
	}
}

// Rows are deleted that are old by both clocks, and never those above the cursor.
func TestOldRows(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("0 * * * *", core.All))
	d.lead()
	d.until("800h")
	rows, _ := d.tables.Rows(id)
	if age := d.clock().Sub(rows[0].Run.At); age < 720*time.Hour || age > 792*time.Hour {
		t.Errorf("the oldest row is %s old", age)
	}
	floor := d.tables.Cron(id).Floor
	d.wrong = 400 * time.Hour
	d.until("801h")
	if later := d.tables.Cron(id).Floor; !later.Equal(floor) {
		t.Errorf("a wrong clock has deleted rows up to %s", later)
	}
}

// A zone that this node does not know is said, and the cron is left to another node. A revision that can be read takes its place.
func TestAnUnknownZone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := cron("* * * * *", core.All)
	c.Timezone = "Mars/Olympus"
	id := d.revise(0, c)
	d.lead()
	d.until("3m")
	d.revise(id, cron("* * * * *", core.All))
	d.until("5m")
	d.want(id, "10:04 10:05 10:00–10:03 unreadable×0")
	if !slices.ContainsFunc(d.facts, func(f any) bool { _, is := f.(core.Unreadable); return is }) {
		t.Error("nobody hears of it")
	}
}

// A job begins later than its time by less than the jitter, under any leader.
func TestJitter(t *testing.T) {
	t.Parallel()
	var begun [2][]time.Time
	for i := range begun {
		d := newDesk(t)
		c := cron("* * * * *", core.All)
		c.Jitter = 30 * time.Second
		id := d.revise(0, c)
		d.lead()
		d.until("10m")
		rows, _ := d.tables.Rows(id)
		for _, r := range rows {
			if late := r.Begins.Sub(r.Run.At); late < 0 || late >= 30*time.Second {
				t.Errorf("%s begins at %s", r.Run.At, r.Begins)
			}
			begun[i] = append(begun[i], r.Begins)
		}
	}
	if !slices.Equal(begun[0], begun[1]) || begun[0][0].Second() == begun[0][1].Second() {
		t.Errorf("jobs begin at %v and at %v", begun[0], begun[1])
	}
}

// While the job of an earlier time goes on, a time has no job, or one that waits, or one beside it.
func TestOverlap(t *testing.T) {
	t.Parallel()
	for overlap, want := range map[string]string{
		core.Skip:  "enqueued 1, skipped 1, skipped 1, enqueued 2",
		core.Queue: "enqueued 1, enqueued 2, skipped 1, enqueued 3",
		core.Allow: "enqueued 1, enqueued 2, enqueued 3, enqueued 4",
	} {
		d := newDesk(t)
		c := cron("* * * * *", core.All)
		c.Overlap, c.Waits = overlap, 1
		id := d.revise(0, c)
		d.lead()
		d.until("3m30s")
		head := d.tables.Take("worker/1", 1, []string{c.Queue}, worker.Take{Most: 1}, d.clock()).Jobs[0]
		d.tables.Tell([]worker.End{{Key: head.Key, Outcome: worker.Done}}, d.clock())
		d.until("4m30s")
		rows, _ := d.tables.Rows(id)
		var got []string
		for _, r := range rows {
			got = append(got, fmt.Sprint(r.Outcome, " ", r.Job))
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%s: got %s, want %s", overlap, text, want)
		}
	}
}

// A file changes what it names and retires what it names no more; a user's crons and a user's pause stay.
func TestFiles(t *testing.T) {
	t.Parallel()
	one, two, own := cron("* * * * *", core.All), cron("0 * * * *", core.All), cron("5 * * * *", core.All)
	one.Name, two.Name, own.Name = "one", "two", "own"
	paused := one
	paused.Paused = true
	changed := two
	changed.Schedule = "1 * * * *"
	got := core.File{Crons: []core.Definition{one, changed}}.Changes([]core.Living{
		{ID: 1, Definition: paused, Filed: true}, {ID: 2, Definition: two, Filed: true}, {ID: 3, Definition: own},
		{ID: 4, Definition: cron("* * * * *", core.All), Filed: true},
	})
	if len(got) != 2 || got[0].ID != 2 || got[0].Retired || got[1].ID != 4 || !got[1].Retired {
		t.Errorf("got %+v", got)
	}
	now := begins
	for _, c := range []struct {
		file    core.File
		version int64
		want    bool
	}{
		{core.File{Version: 2, Started: now}, 1, true}, {core.File{Version: 1, Started: now.Add(time.Hour)}, 2, false},
		{core.File{Version: 1, Started: now.Add(time.Hour)}, 1, true}, {core.File{Version: 1, Started: now.Add(-time.Hour)}, 1, false},
	} {
		if c.file.Replaces(c.version, now) != c.want {
			t.Errorf("%+v replaces one of version %d: %v", c.file, c.version, !c.want)
		}
	}
}

// Two nodes whose rules of a zone differ do not run one time twice.
func TestTheWallClockGrows(t *testing.T) {
	t.Parallel()
	c := cron("0 9 * * *", core.All)
	c.Timezone = "Etc/GMT+3"
	cursor := core.Cursor{At: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Wall: time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)}
	c.Timezone = "Etc/GMT+4" // by the other node's rules it was 09:00 an hour before
	one := core.New(time.Hour)
	now := core.Now{Wall: begins}
	one.Step(now, core.Tick{})
	acts := one.Step(now, core.Loaded{At: time.Date(2026, 3, 2, 13, 30, 0, 0, time.UTC), Crons: []core.Cron{{
		ID: 1, Name: "tick", Position: core.Position{Cursor: cursor, Adopted: 1, Newest: 1}, Revisions: []core.Revision{{N: 1, Definition: c}},
	}}})
	for _, a := range acts {
		if w, is := a.(core.Write); is && len(w.Moves) > 0 {
			t.Errorf("it writes %+v", w)
		}
	}
}

// A core that can do nothing yet does not ask for the time at once, again and again.
func TestNothingSpins(t *testing.T) {
	t.Parallel()
	one, now := core.New(time.Hour), core.Now{Boot: time.Hour, Wall: begins}
	one.Step(now, core.Tick{})
	one.Step(now, core.Loaded{At: begins, Crons: []core.Cron{{
		ID: 1, Name: "tick", Position: core.Position{Cursor: core.Cursor{At: begins.Add(time.Hour)}, Adopted: 1, Newest: 2},
		Revisions: []core.Revision{{N: 1, Definition: cron("* * * * *", core.All), Since: begins}, {N: 2, Definition: cron("* * * * *", core.All), Since: begins.Add(20 * time.Second)}},
	}}})
	if due, is := one.Due(); !is || due != now.Boot+20*time.Second {
		t.Errorf("it wants the time at %s", due-now.Boot)
	}
}
