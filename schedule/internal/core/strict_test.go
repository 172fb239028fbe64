package core_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/schedule/internal/core"
)

// Each decision of the core is here by what goes wrong without it.

// direct is a core that is told everything by hand.
type direct struct {
	t    *testing.T
	core *core.Core
	now  core.Now
}

func newDirect(t *testing.T) *direct {
	t.Helper()
	d := &direct{t: t, core: core.New(time.Hour), now: core.Now{Boot: time.Hour, Wall: begins}}
	if _, is := d.step(core.Tick{}).(core.Read); !is {
		t.Fatal("it does not begin to read")
	}
	return d
}

// step returns the statement that the core asks for, nil if there is none; and the facts are in order.
func (d *direct) step(in core.Input) (asked core.Act) {
	d.t.Helper()
	for _, act := range d.core.Step(d.now, in) {
		if _, is := act.(core.Tell); is {
			continue
		}
		if asked != nil {
			d.t.Fatalf("it asks for %+v and %+v at once", asked, act)
		}
		asked = act
	}
	return asked
}

// passes lets time pass, by all clocks.
func (d *direct) passes(wait time.Duration) { d.now.Boot += wait }

// due is when the core wants the time, from now on; -1: it waits for an answer.
func (d *direct) due() time.Duration {
	if at, is := d.core.Due(); is {
		return at - d.now.Boot
	}
	return -1
}

// stored is a cron with its revisions, of which the first is in force.
func stored(cursor, floor time.Duration, all ...core.Revision) core.Cron {
	for i := range all {
		all[i].N = i + 1
	}
	c := core.Cron{ID: 1, Name: "tick", Position: core.Position{Cursor: core.Cursor{At: begins.Add(cursor)}, Adopted: 1, Newest: len(all)}, Revisions: all}
	if floor != 0 {
		c.Floor = begins.Add(floor)
	}
	return c
}

func revision(since time.Duration, c core.Definition) core.Revision {
	return core.Revision{Definition: c, Since: begins.Add(since)}
}

func paused(c core.Definition) core.Definition {
	c.Paused = true
	return c
}

// A core to which nothing can be done does not want the time at once, again and again.
func TestWhatCannotBeDoneIsNotTried(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]core.Cron{
		"a cron that is paused":                         stored(-time.Minute, 0, revision(-time.Hour, paused(cron("* * * * *", core.All)))),
		"a cursor ahead of the clock, and rows deleted": stored(time.Hour, time.Hour, revision(-time.Hour, cron("0 12 * * *", core.All))),
	} {
		d := newDirect(t)
		if asked := d.step(core.Loaded{At: begins, Crons: []core.Cron{c}}); asked != nil || d.due() <= 0 {
			t.Errorf("%s: it asks for %+v, and wants the time after %s", what, asked, d.due())
		}
	}
	d := newDesk(t)
	id := d.revise(0, cron("*/5 * * * *", core.None))
	d.lead()
	d.core = nil
	d.until("23m")
	d.lead() // all was missed, and nothing is run
	d.want(id, "10:05–10:20 late×4")
	if due, _ := d.core.Due(); due <= d.now {
		t.Error("it wants the time at once")
	}
}

// What is passed over is passed by the wall clock too: a node whose rules of the zone are others does not run it either.
func TestTheWallClockPassesOver(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("5 10 * * *", core.None))
	d.lead()
	d.core = nil
	d.until("23m")
	d.lead()
	if wall := d.tables.Cron(id).Cursor.Wall; !wall.Equal(begins.Add(5 * time.Minute)) {
		t.Errorf("it stands at %s", wall)
	}
}

// One statement is under way at a time. After one that has failed the core waits for a second, and reads what it has meant to change.
func TestAStatementFails(t *testing.T) {
	t.Parallel()
	d := newDirect(t)
	failed := core.Failed{Why: errors.New("no answer")}
	again := func(what string) core.Act {
		t.Helper()
		if asked := d.step(core.Tick{}); asked != nil || d.due() != time.Second {
			t.Fatalf("%s: it asks for %+v, and wants the time after %s", what, asked, d.due())
		}
		d.passes(time.Second)
		return d.step(core.Tick{})
	}
	d.step(failed)
	if _, is := again("it has not begun to read").(core.Read); !is {
		t.Fatal("it does not read again")
	}
	if asked := d.step(core.Changed{Crons: []int64{1}}); asked != nil || d.due() != -1 {
		t.Fatalf("while it reads it asks for %+v, and wants the time after %s", asked, d.due())
	}
	d.step(failed)
	for range 2 { // also when that fails
		if r, is := again("it has not read").(core.Read); !is || !slices.Equal(r.Crons, []int64{1}) {
			t.Fatalf("it asks for %+v", r)
		}
		d.step(failed)
	}
	again("it has not read")
	w, is := d.step(core.Loaded{At: begins.Add(time.Minute), Crons: []core.Cron{stored(0, 0, revision(-time.Hour, cron("* * * * *", core.All)))}}).(core.Write)
	if !is || len(w.Moves) != 1 {
		t.Fatalf("it asks for %+v", w)
	}
	d.step(failed)
	if r, is := again("it has not written").(core.Read); !is || !slices.Equal(r.Crons, []int64{1}) {
		t.Fatalf("it asks for %+v", r)
	}
	if w, is := d.step(core.Loaded{At: begins.Add(time.Minute)}).(core.Write); is { // it is no more
		t.Errorf("of a cron that is no more it writes %+v", w)
	}
}

// Rows are deleted in a write of their own. One that fails is read again, and one that is refused changes nothing.
func TestDeletingRowsFails(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]core.Input{"failed": core.Failed{Why: errors.New("no answer")}, "refused": core.Written{At: begins}, "done": core.Written{At: begins, Moved: []int64{1}}} {
		d := newDirect(t)
		rare := stored(-time.Hour, 0, revision(-10*time.Hour, cron("0 12 * * *", core.All)))
		w, is := d.step(core.Loaded{At: begins, Crons: []core.Cron{rare}}).(core.Write)
		if !is || len(w.Prunes) != 1 || len(w.Moves) != 0 {
			t.Fatalf("it asks for %+v", w)
		}
		asked := d.step(answer)
		if wait := d.due(); asked == nil && what == "failed" && wait != time.Second {
			t.Errorf("%s: it wants the time after %s", what, wait)
		}
		d.passes(time.Second)
		if asked == nil {
			asked = d.step(core.Tick{})
		}
		if r, is := asked.(core.Read); is != (what == "failed") || is && !slices.Equal(r.Crons, []int64{1}) {
			t.Errorf("%s: it asks for %+v", what, asked)
		}
		if what == "failed" {
			continue
		}
		d.passes(10 * time.Minute)
		if r, is := d.step(core.Tick{}).(core.Read); !is || r.Known != 1 {
			t.Fatalf("it asks for %+v", r)
		}
		w, is = d.step(core.Loaded{At: begins}).(core.Write)
		if is != (what == "refused") {
			t.Errorf("%s: then it asks for %+v", what, w)
		}
	}
	d := newDirect(t) // of two crons one has a time that is due
	busy, rare := stored(-2*time.Minute, 0, revision(-10*time.Hour, cron("* * * * *", core.All))), stored(-time.Hour, 0, revision(-10*time.Hour, cron("0 12 * * *", core.All)))
	rare.ID = 2
	if w, is := d.step(core.Loaded{At: begins, Crons: []core.Cron{busy, rare}}).(core.Write); !is || len(w.Moves) != 1 || len(w.Prunes) != 0 {
		t.Errorf("it asks for %+v", w)
	}
}

// A revision is adopted when its instant has come, and not before: the one in force owes what is due until then.
func TestARevisionOfALittleLater(t *testing.T) {
	t.Parallel()
	d := newDirect(t)
	w, _ := d.step(core.Loaded{At: begins.Add(65 * time.Second), Crons: []core.Cron{
		stored(0, 0, revision(-time.Hour, cron("* * * * *", core.All)), revision(80*time.Second, cron("0 12 * * *", core.All))),
	}}).(core.Write)
	if len(w.Moves) != 1 || len(w.Moves[0].Runs) != 1 || w.Moves[0].Adopt != 0 {
		t.Errorf("it asks for %+v", w)
	}
}

// A revision of before what was deleted, which a clock that was behind has written, begins where that ends.
func TestARevisionOfBeforeTheFloor(t *testing.T) {
	t.Parallel()
	d := newDirect(t)
	w, _ := d.step(core.Loaded{At: begins, Crons: []core.Cron{
		stored(-5*time.Minute, -10*time.Minute, revision(-9*time.Hour, cron("0 12 * * *", core.All)), revision(-time.Hour, cron("* * * * *", core.All))),
	}}).(core.Write)
	if len(w.Moves) != 1 || w.Moves[0].Adopt != 2 || !w.Moves[0].To.At.Equal(begins.Add(-10*time.Minute)) {
		t.Errorf("it asks for %+v", w)
	}
}

// Spans count from when their revision counts: the next leader goes on with the same ones.
func TestSpansOfTwoLeaders(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, cron("0 12 * * *", core.All))
	d.lead()
	d.wrong = time.Hour
	d.revise(id, cron("@every 7m", core.None))
	d.wrong = 0
	d.until("20m")
	d.lead()
	d.until("40m")
	rows, _ := d.tables.Rows(id)
	for i := 1; i < len(rows); i++ {
		if span := rows[i].Run.At.Sub(rows[i-1].Run.At); span != 7*time.Minute {
			t.Errorf("after %s it is run after %s", rows[i-1].Run.At, span)
		}
	}
	if len(rows) < 5 {
		t.Errorf("%d rows", len(rows))
	}
}

// More is owed than a write has room for: all of it is settled by the revision in force before the next one is adopted.
func TestMuchIsOwed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	many := cron("* * * * * *", core.All)
	many.Limit = 10_000
	id := d.revise(0, many)
	d.lead()
	d.core = nil
	d.until("10m0s")
	d.revise(id, cron("0 12 * * *", core.All))
	d.until("20m0s")
	d.lead()
	if rows, gaps := d.tables.Rows(id); len(rows) != 600 || len(gaps) != 0 {
		t.Errorf("%d rows were written, and %d gaps", len(rows), len(gaps))
	}
	rows, _ := d.tables.Rows(id)
	for _, r := range rows {
		if r.Revision != 1 {
			t.Fatalf("%s is of revision %d", r.Run.At, r.Revision)
		}
	}
}

// A cron that is resumed while the clock is ahead runs at once when that is right again.
func TestAResumptionWhileTheClockIsAhead(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.revise(0, paused(cron("* * * * *", core.All)))
	d.lead()
	d.until("90s")
	d.wrong = time.Hour
	d.revise(id, cron("* * * * *", core.All))
	d.wrong = 0
	d.until("4m")
	d.want(id, "10:03 10:04 10:01–10:02 paused×2")
}

// What is deleted of a retired cron is nobody's business any more: it is asked about no more, also if the answer to its last move was lost.
func TestARetiredCronIsForgotten(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		d := newDesk(t)
		id := d.revise(0, cron("0 * * * *", core.All))
		d.lead()
		d.until("200h")
		d.tables.Revise(core.Change{ID: id, Definition: cron("0 * * * *", core.All), Retired: true}, d.clock())
		d.fails = lost
		d.step(core.Changed{Crons: []int64{id}})
		d.fails = false
		d.until("201h")
		d.writes = nil
		if d.until("2000h"); len(d.writes) != 0 {
			t.Errorf("lost: %v: it writes %+v", lost, d.writes[0])
		}
	}
}

// Users hear of each row, of what is passed over, of a clock that was set back, and of what cannot be read: from each leader, and once.
func TestUsersHearOfIt(t *testing.T) {
	t.Parallel()
	heard := func(d *desk) map[string]int {
		all := map[string]int{}
		for _, f := range d.facts {
			switch f := f.(type) {
			case core.Ran:
				all["row"]++
			case core.PassedOver:
				all["gap of "+f.Why]++
			case core.ClockBack:
				all["clock"]++
			case core.Unreadable:
				all["unreadable"]++
			}
		}
		return all
	}
	d := newDesk(t)
	id := d.revise(0, cron("* * * * *", core.None))
	d.lead()
	d.until("2m")
	d.core = nil
	d.until("10m30s")
	d.lead()
	d.until("11m")
	if all := heard(d); all["row"] != 4 || all["gap of late"] != 1 || all["clock"] != 0 {
		t.Errorf("they hear %v", all)
	}
	d.facts, d.wrong = nil, time.Hour
	d.until("12m")
	d.wrong = 0
	d.revise(id, cron("*/2 * * * *", core.None)) // what was run early stays; that the cursor goes back is said by the revision
	d.step(core.Changed{Crons: []int64{id}})
	if all := heard(d); all["clock"] != 0 {
		t.Errorf("of a revision they hear %v", all)
	}
	d.facts = nil
	mars := cron("* * * * *", core.All)
	mars.Timezone = "Mars/Olympus"
	for range 2 { // the second one in the same instant
		d.revise(id, mars)
	}
	d.until("14m")
	if all := heard(d); all["unreadable"] != 2 || all["gap of unreadable"] != 0 {
		t.Errorf("of what cannot be read they hear %v", all)
	}
	d.facts = nil
	if d.lead(); heard(d)["unreadable"] != 1 {
		t.Errorf("the next leader says %v", heard(d))
	}
}

// Idle crons cost a read of those that are new.
func TestOnlyWhatIsNewIsRead(t *testing.T) {
	t.Parallel()
	d := newDirect(t)
	rare := stored(0, 0, revision(0, cron("0 12 * * *", core.All)))
	rare.ID = 7
	d.step(core.Loaded{At: begins, Crons: []core.Cron{rare}})
	d.passes(30 * time.Second)
	if r, is := d.step(core.Tick{}).(core.Read); !is || r.Known != 7 || len(r.Crons) != 0 {
		t.Errorf("it asks for %+v", r)
	}
}
