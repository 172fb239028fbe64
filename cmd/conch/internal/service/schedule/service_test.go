package schedule

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

func crons(url, more string) string {
	return "[node]\ninstance_id = \"n1\"\nlisten = \"off\"\n[database]\nurl = \"" + url + "\"\n" + more
}

const secondly = "[[crons]]\nname = \"tick\"\nschedule = \"* * * * * *\"\njob = \"work\"\noverlap = \"allow\"\n"

// F11, F12: a node that leads gives each time of its crons one row and one job, also after a reload that changes them, and those that the file
// has no more are retired.
func TestANodeRunsItsCrons(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	cfg, err := load(t, crons(base.URL, "[[crons]]\nname = \"old\"\nschedule = \"@daily\"\njob = \"work\"\n"+secondly))
	if err != nil {
		t.Fatal(err)
	}
	next, err := load(t, crons(base.URL, "[schedule]\n"+secondly+"queue = \"other\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	log, reload := &nodetest.Log{}, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{
			Config: cfg, Load: func() (config.Config, error) { return next, nil }, Reload: reload, Kinds: kinds, Log: slog.New(slog.NewTextHandler(log, nil)),
		})
	}()
	log.Says(t, "running crons", "scope=scheduler")
	rows := func(queue string) int {
		return scan[int](t, conn, `SELECT count(*) FROM conch.cron_runs r JOIN conch.jobs j ON j.id = r.job AND j.at = r.at WHERE j.queue = $1`, queue)
	}
	pgtest.Eventually(t, patience, "two rows", func() bool { return rows("default") >= 2 })
	nodetest.Rereads(t, reload)
	pgtest.Eventually(t, patience, "the changed cron has two rows", func() bool { return rows("other") >= 2 })
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.crons WHERE name = 'old' AND retired`); n != 1 {
		t.Error("a cron that is in the file no more is not retired")
	}
	cancel()
	nodetest.Ends(t, ended)
	if n := scan[int](t, conn, `SELECT count(*) FROM conch.cron_runs WHERE decided_at < at OR epoch <> 1`); n != 0 {
		t.Errorf("%d rows are early, or of nobody who leads", n)
	}
}

// hosted is a service as a node has it, and what ends it.
func hosted(t *testing.T, id, url string) (*service, *nodetest.Log, func()) {
	t.Helper()
	log := &nodetest.Log{}
	ctx, cancel := context.WithCancel(t.Context())
	var busy sync.WaitGroup
	s := newService(node.Frame{ID: id, Log: slog.New(slog.NewTextHandler(log, nil)), Over: ctx, Go: busy.Go, Board: web.NewBoard(), Database: &pgmint.Config{URL: url}})
	end := sync.OnceFunc(func() {
		cancel()
		pgtest.Within(t, patience, "the service ends", busy.Wait)
		s.Close()
	})
	t.Cleanup(end)
	return s, log, end
}

func (s *service) start(t *testing.T, text string) {
	t.Helper()
	cfg, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	apply, err := s.Prepare(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	apply()
}

// Two files of one version with different crons are named on both nodes, until one of them changes.
func TestTwoFilesOfOneVersion(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	one, logOne, _ := hosted(t, "n1", base.URL)
	two, logTwo, _ := hosted(t, "n2", base.URL)
	one.start(t, crons(base.URL, secondly))
	logOne.Says(t, "are declared")
	two.start(t, crons(base.URL, secondly+"queue = \"other\"\n"))
	logTwo.Says(t, "are declared")
	logTwo.Says(t, "two files of one [schedule] version", "other=n1")
	one.look <- struct{}{}
	logOne.Says(t, "two files of one [schedule] version", "other=n2")
	const differ = "# HELP conch_schedule_files_differ 1 while this process and the node whose crons count have different crons under one version.\n# TYPE conch_schedule_files_differ gauge\nconch_schedule_files_differ "
	if err := testutil.CollectAndCompare(one.Collectors()[0], strings.NewReader(differ+"1\n"), "conch_schedule_files_differ"); err != nil {
		t.Error(err)
	}
	one.start(t, crons(base.URL, "[schedule]\nversion = 1\n"+secondly))
	pgtest.Eventually(t, patience, "the higher version counts", func() bool {
		return testutil.CollectAndCompare(one.Collectors()[0], strings.NewReader(differ+"0\n"), "conch_schedule_files_differ") == nil &&
			scan[int](t, base.Connect(t), `SELECT version FROM conch.cron_file`) == 1
	})
}

// A file that loses its last cron, and has no version, retires none: the node says so. With a version it does. A restore of the database is told, once.
func TestAFileWithoutCronsOrVersion(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	one, log, _ := hosted(t, "n1", base.URL)
	one.start(t, crons(base.URL, secondly+"[[workers]]\n"))
	log.Says(t, "are declared")
	one.start(t, crons(base.URL, "[[workers]]\n"))
	log.Says(t, "level=WARN", "neither a cron nor a [schedule] version any more: it retires none")
	one.start(t, crons(base.URL, "[[workers]]\n"))
	retired := func() int { return scan[int](t, conn, `SELECT count(*) FROM conch.crons WHERE retired`) }
	if n := strings.Count(strings.Join(log.Lines(), "\n"), "retires none"); n != 1 || retired() != 0 {
		t.Errorf("it says so %d times, and %d are retired", n, retired())
	}
	one.start(t, crons(base.URL, "[schedule]\nversion = 1\non_restore = \"hold\"\n"))
	pgtest.Eventually(t, patience, "it is retired", func() bool { return retired() == 1 })
	pgtest.Exec(t, conn, `UPDATE conch.schedule_server SET server = '7/1', seen_at = now() - interval '1 hour'`)
	one.look <- struct{}{}
	log.Says(t, "level=WARN", "jobs are held: look at them, then say conch jobs release", "found_at=2")
	const held = "# HELP conch_schedule_jobs_held 1 while no job is taken, since the database was restored and [schedule] on_restore is hold, as each process knows it.\n# TYPE conch_schedule_jobs_held gauge\nconch_schedule_jobs_held 1\n"
	if err := testutil.CollectAndCompare(one.Collectors()[0], strings.NewReader(held), "conch_schedule_jobs_held"); err != nil {
		t.Error(err)
	}
}

// A node without the tables does not start; one whose database is away does, and declares its crons later.
func TestTablesAreChecked(t *testing.T) {
	t.Parallel()
	empty := pgtest.Empty(t, "UTF8")
	s, _, end := hosted(t, "n1", empty.URL)
	cfg, err := load(t, crons(empty.URL, secondly))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prepare(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "conch migrate up") {
		t.Errorf("without tables: %v", err)
	}
	end()
	away, log, _ := hosted(t, "n1", "postgres://127.0.0.1:1/none")
	away.start(t, crons(empty.URL, secondly))
	log.Says(t, "not declared yet")
}

// What is counted is what has happened; a cron that was run again is skipped no more.
func TestMetrics(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	s, _, _ := hosted(t, "n1", base.URL)
	pgtest.Exec(t, base.Connect(t), `SELECT conch.job_add('mail', 'work', priority => 0)`)
	c := s.Collectors()[0]
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("a node without crons has %d samples", n)
	}
	s.start(t, crons(base.URL, secondly))
	for _, outcome := range []string{schedule.Skipped, schedule.Skipped, "enqueued", schedule.Skipped} {
		var e schedule.Ran
		e.Name, e.Outcome = "tick", outcome
		s.tell(e)
	}
	var gap schedule.PassedOver
	gap.Count, gap.Why = 7, "late"
	s.tell(gap)
	s.tell(schedule.ClockBack{})
	s.tell(schedule.Unreadable{})
	const want = `# HELP conch_schedule_clock_back_total Crons that were set back since the database's clock was, while this process led.
# TYPE conch_schedule_clock_back_total counter
conch_schedule_clock_back_total 1
# HELP conch_schedule_jobs Jobs of the queue that have not ended, by state, as the database says on every process.
# TYPE conch_schedule_jobs gauge
conch_schedule_jobs{queue="default",state="dead"} 0
conch_schedule_jobs{queue="default",state="later"} 0
conch_schedule_jobs{queue="default",state="ready"} 0
conch_schedule_jobs{queue="default",state="taken"} 0
conch_schedule_jobs{queue="default",state="waiting"} 0
conch_schedule_jobs{queue="mail",state="dead"} 0
conch_schedule_jobs{queue="mail",state="later"} 0
conch_schedule_jobs{queue="mail",state="ready"} 1
conch_schedule_jobs{queue="mail",state="taken"} 0
conch_schedule_jobs{queue="mail",state="waiting"} 0
# HELP conch_schedule_passed_over_total Scheduled times that were passed over while this process led, by why; 10,000 of one gap stand for more.
# TYPE conch_schedule_passed_over_total counter
conch_schedule_passed_over_total{why="late"} 7
conch_schedule_passed_over_total{why="limit"} 0
conch_schedule_passed_over_total{why="paused"} 0
conch_schedule_passed_over_total{why="restored"} 0
conch_schedule_passed_over_total{why="unreadable"} 0
# HELP conch_schedule_runs_total Scheduled times that have got their row while this process led, by outcome.
# TYPE conch_schedule_runs_total counter
conch_schedule_runs_total{outcome="enqueued"} 1
conch_schedule_runs_total{outcome="existing"} 0
conch_schedule_runs_total{outcome="skipped"} 3
# HELP conch_schedule_skipped_in_a_row How many times of the cron were skipped one after another, since an earlier job has not ended, on the node that leads; 0 on all others.
# TYPE conch_schedule_skipped_in_a_row gauge
conch_schedule_skipped_in_a_row{cron="tick"} 1
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want), "conch_schedule_clock_back_total", "conch_schedule_jobs", "conch_schedule_passed_over_total",
		"conch_schedule_runs_total", "conch_schedule_skipped_in_a_row"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(c, "conch_schedule_oldest_ready_seconds"); n != 2 {
		t.Errorf("%d queues have an oldest job, want 2", n)
	}
	s.tally.rest("scheduler")
	if err := testutil.CollectAndCompare(c, strings.NewReader(strings.Replace(want[strings.Index(want, "# HELP conch_schedule_skipped"):], "} 1", "} 0", 1)), "conch_schedule_skipped_in_a_row"); err != nil {
		t.Error(err)
	}
}

// Crons and jobs that wait for a locked table are no secret: the log names who holds it, and a metric stands until it is free.
func TestALockThatStopsCronsIsNamed(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	cfg, err := load(t, crons(base.URL, secondly+"[[workers]]\n"))
	if err != nil {
		t.Fatal(err)
	}
	log, hosted := &nodetest.Log{}, Kind()
	services := make(chan *service, 1)
	hosted.Open = func(f node.Frame) node.Service {
		s := newService(f)
		services <- s
		return s
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- node.Run(ctx, node.Options{Config: cfg, Kinds: []node.Kind{hosted}, Log: slog.New(slog.NewTextHandler(log, nil))})
	}()
	s := <-services
	stuck := func(want string) bool {
		const is = "# HELP conch_schedule_stuck 1 while the database does not do what this process asks of it for the crons or the jobs that it leads.\n# TYPE conch_schedule_stuck gauge\nconch_schedule_stuck "
		return testutil.CollectAndCompare(s.Collectors()[0], strings.NewReader(is+want+"\n"), "conch_schedule_stuck") == nil
	}
	conn := base.Connect(t)
	pgtest.Eventually(t, patience, "a time has its row", func() bool { return scan[int](t, conn, `SELECT count(*) FROM conch.cron_runs`) > 0 && stuck("0") })
	if _, err := conn.Exec(t.Context(), `BEGIN; LOCK TABLE conch.jobs, conch.crons`); err != nil {
		t.Fatal(err)
	}
	log.Says(t, "CRONS OR JOBS WAIT", "what=\"write runs\"", fmt.Sprintf("pid %d", conn.PgConn().PID()))
	log.Says(t, "CRONS OR JOBS WAIT", "scope=worker/default/1", "jobs\"", fmt.Sprintf("pid %d", conn.PgConn().PID()))
	pgtest.Eventually(t, patience, "the metric says so", func() bool { return stuck("1") })
	if _, err := conn.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	log.Says(t, "the database does again", "what=\"write runs\"")
	pgtest.Eventually(t, patience, "the metric is at rest", func() bool { return stuck("0") })
	cancel()
	nodetest.Ends(t, ended)
}

// Doctor finds a queue from which nobody takes, dead jobs, and another file of the same version.
func TestDoctor(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	cfg, err := load(t, crons(base.URL, secondly))
	if err != nil {
		t.Fatal(err)
	}
	says := func(want ...string) {
		t.Helper()
		found := Kind().Examine(t.Context(), cfg)
		if len(found) != len(want) {
			t.Errorf("got %+v, want %q", found, want)
			return
		}
		for i, f := range found {
			if text := f.Check + " " + string(f.Status) + " " + f.Detail; !strings.Contains(text, want[i]) {
				t.Errorf("got %q, want %q", text, want[i])
			}
		}
	}
	says("crons ok", "zones ok", "queues ok")
	pgtest.Exec(t, conn, `SELECT conch.job_add('mail', 'work', run_at => now() - interval '5 minutes', priority => 0)`)
	pgtest.Exec(t, conn, `SELECT conch.job_add('q', 'work')`)
	kill(t, conn, "q", 9)
	if err := open(t, base.URL).Declare(t.Context(), schedule.File{Node: "n2"}); err != nil {
		t.Fatal(err)
	}
	says(`crons warn node "n2" has a file`, "zones ok", `queues warn queue "mail": 1 job is ready`, `queues warn queue "q": 1 job is dead`)
	if none, err := load(t, db+"[[roles]]\nname = \"a\"\n"); err != nil || len(Kind().Examine(t.Context(), none)) != 0 {
		t.Errorf("without crons: %v", err)
	}
	pgtest.Exec(t, conn, `BEGIN; LOCK TABLE conch.jobs`)
	says("crons warn could not be looked at: tables of conch are locked, so this waited in vain: pid ")
	pgtest.Exec(t, conn, `ROLLBACK; DROP TABLE conch.job_ready`)
	says("crons warn could not be looked at: the schema of conch is missing or old")
	if found := judge(facts{here: true, depths: []pgstore.Depth{{Queue: "a", State: pgstore.Ready, N: 9, Wait: 59 * time.Second}}}); len(found) != 1 || found[0].Status != "ok" {
		t.Errorf("got %+v", found)
	}
}

// F11, F13: a node that may lead has connections ready before it does, of one role for all; when that is removed, another role sees to it.
func TestAStandbyKeepsConnectionsReady(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	s, _, _ := hosted(t, "n1", base.URL)
	s.start(t, crons(base.URL, secondly+"[[workers]]\n"))
	var ends []func()
	for _, r := range s.section.Roles()[:2] {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		_, background := s.Work(r, nil)
		go func() { defer close(ended); background(ctx) }()
		end := sync.OnceFunc(func() { cancel(); pgtest.Within(t, patience, "the role's background ends", func() { <-ended }) })
		t.Cleanup(end)
		ends = append(ends, end)
		pgtest.Eventually(t, patience, "two connections are ready", func() bool { return s.store.Warm() == 2 })
	}
	ends[0]()
	pgtest.Eventually(t, patience, "another role keeps them", func() bool { return len(s.warms) == 1 })
	ends[1]()
	if len(s.warms) != 0 {
		t.Error("somebody keeps connections for a role that is gone")
	}
}
