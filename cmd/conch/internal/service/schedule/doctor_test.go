package schedule

import (
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// Each zone of a cron is compared once, and one whose data differ is told with the instant.
func TestZonesAreJudged(t *testing.T) {
	t.Parallel()
	if names := zonesOf([]schedule.Cron{{Timezone: "UTC"}, {Timezone: "Europe/Berlin"}, {Timezone: "UTC"}}); strings.Join(names, " ") != "Europe/Berlin UTC" {
		t.Errorf("the zones are %v", names)
	}
	if found := judgeZones(nil); len(found) != 1 || found[0].Status != doctor.OK {
		t.Errorf("without a fault: %+v", found)
	}
	at := time.Date(2027, 3, 28, 1, 0, 0, 0, time.UTC)
	found := judgeZones([]pgstore.ZoneFault{
		{Zone: "Europe/Berlin", At: at, Here: 2 * time.Hour, There: time.Hour}, {Zone: "Mars/Olympus", Unknown: "there"}, {Zone: "Asia/Nowhere", Unknown: "here"},
	})
	for i, says := range []string{"Europe/Berlin: from 2027-03-28T01:00:00Z on, its clocks are 2h0m0s ahead of UTC by this machine's data, and 1h0m0s", "the database's server, so", "not in this machine's"} {
		if len(found) != 3 || found[i].Status != doctor.Warn || !strings.Contains(found[i].Detail, says) {
			t.Errorf("the findings are %+v, want %q in that of %d", found, says, i)
		}
	}
}

// Of a queue that nobody serves doctor says which ones the workers of the file do, since one of the names may be wrong.
func TestQueuesAreJudged(t *testing.T) {
	t.Parallel()
	waits := []pgstore.Depth{{Queue: "mial", State: pgstore.Ready, N: 2, Wait: time.Hour}}
	for says, served := range map[string][]string{
		"start a worker for the queue, or cancel the jobs": nil,
		"start a worker for the queue, or cancel the jobs: those of this file serve it, so they may be down, have no handlers for such jobs, or too little concurrency": {"mial"},
		`start a worker for the queue, or cancel the jobs: the workers of this file serve ["mail"]`:                                                                     {"mail"},
	} {
		if found := judgeQueues(waits, served); len(found) != 1 || found[0].Remedy != says {
			t.Errorf("got %+v, want %q", found, says)
		}
	}
	if found := judgeQueues([]pgstore.Depth{{Queue: "q", State: pgstore.Ready, N: 2, Wait: time.Second}}, nil); len(found) != 0 {
		t.Errorf("all is well: %+v", found)
	}
}

// Crons whose times nobody settles are told, as when the last file that had one has neither a cron nor a version any more.
func TestCronsThatNobodyRuns(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 10, 0, 30, 0, time.UTC)
	listed := func(name, plan string, settled time.Duration, change func(*pgstore.Listed)) pgstore.Listed {
		l := pgstore.Listed{Cron: schedule.Cron{Name: name, Schedule: plan, Timezone: "UTC"}, Since: now.Add(-24 * time.Hour), Adopted: true, Settled: now.Add(-settled)}
		if change != nil {
			change(&l)
		}
		return l
	}
	well := []pgstore.Listed{
		listed("it was due a moment ago", "* * * * *", time.Minute, nil),
		listed("it is rare", "@yearly", time.Hour, nil),
		listed("it is paused", "* * * * *", time.Hour, func(l *pgstore.Listed) { l.Paused = true }),
		listed("it has just been declared", "* * * * *", 0, func(l *pgstore.Listed) { l.Adopted, l.Since, l.Settled = false, now.Add(-time.Second), time.Time{} }),
		listed("nobody can read it here", "x", time.Hour, nil),
	}
	if found := judgeCrons(well, now); len(found) != 0 {
		t.Errorf("all is well: %+v", found)
	}
	found := judgeCrons(append(well, listed("late", "*/5 * * * *", 20*time.Minute, nil), listed("new", "@daily", 0, func(l *pgstore.Listed) { l.Adopted = false })), now)
	if len(found) != 1 || found[0].Detail != `2 crons are run by nobody, such as "late", which was due at 2026-03-02T09:45:00Z` || !strings.Contains(found[0].Remedy, "higher [schedule] version") {
		t.Errorf("got %+v", found)
	}
	if found := judgeCrons([]pgstore.Listed{listed("new", "@daily", 0, func(l *pgstore.Listed) { l.Adopted = false })}, now); len(found) != 1 ||
		found[0].Detail != `1 cron is run by nobody, such as "new", which was declared or changed at 2026-03-01T10:00:30Z` {
		t.Errorf("got %+v", found)
	}
}

// A command of conch cron that was cut off is told, and a leader that keeps one from being run; one that goes on is neither.
func TestSlotsAreJudged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	slot := pgstore.LastSlot{Scope: "s", Epoch: 3, Length: time.Hour, Run: pgstore.Run{Holder: "a", Began: now.Add(-30 * time.Minute)}}
	ended := slot
	ended.Ended = now
	for _, c := range []struct {
		name   string
		slot   pgstore.LastSlot
		leader leader
		says   string
	}{
		{"it goes on", slot, leader{"a", 3, now.Add(-2 * time.Hour)}, ""},
		{"it was cut off", slot, leader{}, `the last command of "s" was cut off, which "a" began at 2026-03-02T09:30:00Z`},
		{"and another call leads", slot, leader{"b", 4, now.Add(-time.Minute)}, "was cut off"},
		{"it has ended", ended, leader{}, ""},
		{"another call leads", ended, leader{"b", 4, now.Add(-59 * time.Minute)}, ""},
		{"another program leads", ended, leader{"b", 4, now.Add(-time.Hour)}, `"b" has led the scope "s" since 2026-03-02T09:00:00Z, and is no conch cron`},
	} {
		found := judgeSlots([]pgstore.LastSlot{c.slot}, map[string]leader{"s": c.leader}, now)
		if (len(found) == 0) != (c.says == "") || len(found) > 0 && (found[0].Status != doctor.Warn || !strings.Contains(found[0].Detail, c.says)) {
			t.Errorf("%s: %+v, want %q", c.name, found, c.says)
		}
	}
}

// Without a file, too, doctor finds what the database says of crons, jobs and slots; of one that has no tables for them it says nothing.
func TestDoctorWithoutAFile(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	look := func() (all string) {
		for _, f := range examine(t.Context(), config.Config{Database: pgmint.Config{URL: base.URL}}) {
			all += string(f.Status) + " " + f.Check + " " + f.Detail + "\n"
		}
		return all
	}
	if said := look(); said != "" {
		t.Errorf("of an empty one it says %s", said)
	}
	conn := base.Connect(t)
	pgtest.Exec(t, conn, `INSERT INTO conch.slots (scope, called_at, length, call, holder, epoch, began_at) VALUES ('cut', now(), '1 hour', gen_random_uuid(), 'a', 1, now()), ('led', now(), '1 hour', gen_random_uuid(), 'a', 0, now())`)
	pgtest.Exec(t, conn, `UPDATE conch.schedule_server SET held = true, restored_at = now()`)
	pgtest.Exec(t, conn, `SELECT conch.job_add('mail', 'work', run_at => now() - interval '1 hour')`)
	if err := open(t, base.URL).Declare(t.Context(), schedule.Config{Crons: []schedule.Cron{{Name: "tick", Schedule: "@daily", Job: "work"}}}.WithDefaults().File()); err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, conn, `INSERT INTO conch.jobs (queue, handler, args, priority, retries, timeout) VALUES ('MAIL', '{"job": "work"}', '{}', 1, 1, '1h')`)
	pgtest.Exec(t, conn, `SELECT conch.job_start(max(id), 1, now(), NULL) FROM conch.jobs`)
	pgtest.Exec(t, conn, `UPDATE conch.cron_revisions SET since = since - interval '1 hour'`)
	nodetest.Lead(t, base.URL, "stranger", "led", time.Minute)
	pgtest.Exec(t, conn, `UPDATE conch.leadership SET acquired_at = acquired_at - interval '2 hours'`)
	pgtest.Exec(t, conn, `INSERT INTO conch.sample (at, name, value, epoch) VALUES (now() - interval '16 minutes', 'conch_figure', 1, 1)`)
	said := look()
	for _, want := range []string{`slots the last command of "cut" was cut off`, `slots "stranger" has led the scope "led"`, "queues the database was restored", `queues queue "mail": 1 job is ready`, "samples the newest figures in conch.sample are of 2", `crons 1 cron is run by nobody, such as "tick"`, `names "MAIL" and "mail" look alike, and are the names of two queues`} {
		if !strings.Contains(said, "warn "+want) {
			t.Errorf("it says\n%s, want %q", said, want)
		}
	}
}

// An aggregation that goes on no more is told, and not one that was never there, is between two slots, or whose clock was ahead.
func TestSamplesAreJudged(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	for _, well := range []time.Time{{}, now.Add(-14 * time.Minute), now.Add(time.Hour)} {
		if found := judgeSample(well, now); len(found) != 0 {
			t.Errorf("of %s: %+v", well, found)
		}
	}
	if found := judgeSample(now.Add(-15*time.Minute), now); len(found) != 1 || found[0].Status != doctor.Warn || !strings.Contains(found[0].Detail, "are of 2026-03-02T09:45:00Z: nobody records any") {
		t.Errorf("got %+v", found)
	}
}

// A queue that workers of the file serve, and that nobody fills, is told: one of the names may be wrong.
func TestWorkersWithoutJobs(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	pgtest.Exec(t, conn, `SELECT conch.job_add('added', 'work')`)
	cfg, err := load(t, crons(base.URL, secondly+"queue = \"filled\"\n[[workers]]\nqueues = [\"filled\", \"added\", \"mial\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for _, f := range examine(t.Context(), cfg) {
		said += string(f.Status) + " " + f.Check + " " + f.Detail + "\n"
	}
	if strings.Count(said, "serve it, and neither") != 1 || !strings.Contains(said, `warn queues queue "mial": workers of this file serve it, and neither a cron nor any of the newest 10000 jobs is of it`) {
		t.Errorf("it says\n%s", said)
	}
}
