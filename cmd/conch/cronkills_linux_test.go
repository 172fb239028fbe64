//go:build linux

package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// outside is what crons' handlers are: an HTTP server, and a file to which commands append.
type outside struct {
	*httptest.Server

	file string
	mu   sync.Mutex
	got  []cronCall
	odd  []string
}

func newOutside(t *testing.T) *outside {
	o := &outside{file: filepath.Join(t.TempDir(), "calls")}
	o.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		o.hear(strings.TrimPrefix(r.URL.Path, "/"), r.Header.Get("Conch-Job-Scheduled-At"), strings.TrimPrefix(r.Header.Get("Webhook-Id"), "job_"), r.Header.Get("Conch-Job-Attempt"))
	}))
	t.Cleanup(o.Close)
	return o
}

func (o *outside) hear(cron, at, job, attempt string) {
	c := cronCall{Cron: cron}
	var errs [3]error
	c.At, errs[0] = time.Parse(time.RFC3339Nano, at)
	c.Job, errs[1] = strconv.ParseInt(job, 10, 64)
	c.Attempt, errs[2] = strconv.Atoi(attempt)
	o.mu.Lock()
	defer o.mu.Unlock()
	if errs != [3]error{} {
		o.odd = append(o.odd, fmt.Sprintf("%q for %q, job %q, attempt %q", cron, at, job, attempt))
	}
	o.got = append(o.got, c)
}

// calls returns all calls, those by commands after the others.
func (o *outside) calls(t *testing.T) []cronCall {
	text, err := os.ReadFile(o.file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		f = append(f, "", "", "", "")
		o.hear(f[0], f[1], f[2], f[3])
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.odd) > 0 {
		t.Errorf("calls that cannot be read: %q", o.odd)
	}
	return o.got
}

// cronSite is three nodes with the same crons, which are their workers, too.
type cronSite struct {
	*testing.T

	conn  *pgx.Conn
	nodes map[string]*daemon
	out   *outside
	rand  *rand.Rand
	since time.Time
}

const cronKillsLease = "[election]\nlease = \"2s\"\n"

func newCronSite(t *testing.T, crons int) *cronSite {
	t.Helper()
	db, seed := migrated(t), uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	s := &cronSite{T: t, conn: db.Connect(t), nodes: map[string]*daemon{}, out: newOutside(t), rand: rand.New(rand.NewPCG(seed, 46))}
	key := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(key, []byte(strings.Repeat("k", 24)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const cron = "[[crons]]\nname = \"c%d\"\nschedule = \"@every 1s\"\noverlap = \"allow\"\ncatch_up = \"all\"\nlimit = 10000\nlate = \"1h\"\nretries = 1000\n%s\n"
	workers := fmt.Sprintf("[[workers]]\nconcurrency = 20\nhosts = [%q]\nkey_file = %q\n", strings.TrimPrefix(s.out.URL, "http://"), key)
	file := cronKillsLease + workers
	for i := range crons {
		handler := fmt.Sprintf("http = \"%s/c%d\"", s.out.URL, i)
		if i == 0 {
			handler = fmt.Sprintf(`command = ["sh", "-c", 'echo "$CONCH_JOB_CRON $CONCH_JOB_SCHEDULED_AT $CONCH_JOB_ID $CONCH_JOB_ATTEMPT" >>"$0"', %q]`, s.out.file)
		}
		file += fmt.Sprintf(cron, i, handler)
	}
	for _, id := range []string{"n1", "n2", "n3"} {
		s.nodes[id] = startDaemon(t, id, db.URL, file)
	}
	s.nodes["rest"] = prepareDaemon(t, "rest", db.URL, cronKillsLease+workers) // has no crons, and does what is left
	return s
}

// scan reads one row.
func (s *cronSite) scan(sql string, into ...any) {
	s.Helper()
	if err := s.conn.QueryRow(s.Context(), sql).Scan(into...); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
}

// leader returns the node that leads the scheduler, and its epoch; 0: nobody has yet.
func (s *cronSite) leader() (holder string, epoch int64) {
	s.Helper()
	s.scan(`SELECT coalesce(max(holder), ''), coalesce(max(epoch), 0) FROM conch.leadership WHERE scope = 'scheduler' AND NOT released`, &holder, &epoch)
	return holder, epoch
}

// kill kills the leader at a moment of which half are close to that at which all crons are due, and starts it again once another one leads.
// It reports whether the one that it killed led until then.
func (s *cronSite) kill() bool {
	s.Helper()
	due := time.Duration(s.rand.Int64N(int64(time.Second)))
	if s.rand.IntN(2) == 0 {
		due = time.Duration(s.rand.Int64N(int64(20 * time.Millisecond)))
	}
	sinceDue := time.Since(s.since) % time.Second
	timer := time.NewTimer((due - sinceDue + time.Second) % time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.Context().Done():
	}
	killed, epoch := s.leader()
	n := s.nodes[killed]
	if n == nil {
		return false
	}
	n.stop(syscall.SIGKILL)
	var next int64
	pgtest.Eventually(s, patience, "another one leads after "+killed, func() bool {
		_, next = s.leader()
		return next > epoch
	})
	n.start()
	pgtest.Eventually(s, patience, "the next leader runs crons", func() bool {
		var runs int
		s.scan(fmt.Sprintf(`SELECT count(*) FROM conch.cron_runs WHERE epoch >= %d`, next), &runs)
		return runs > 0
	})
	return next == epoch+1
}

// ends has the crons run up to now, ends the nodes, and has another one do what is left.
func (s *cronSite) ends(until time.Time, crons int) {
	s.Helper()
	pgtest.Eventually(s, longPatience, "all crons have run up to now", func() bool {
		var n int
		s.scan(fmt.Sprintf(`SELECT count(*) FROM conch.crons c WHERE EXISTS (SELECT FROM conch.cron_runs r WHERE r.cron = c.id AND r.at >= '%s')`, until.UTC().Format(time.RFC3339Nano)), &n)
		return n == crons
	})
	for _, id := range []string{"n1", "n2", "n3"} {
		if code := s.nodes[id].stop(syscall.SIGTERM); code != 0 {
			s.Errorf("%s ended with exit code %d", id, code)
		}
	}
	s.nodes["rest"].start()
	pgtest.Eventually(s, longPatience, "all jobs have ended", func() bool {
		var n int
		s.scan(`SELECT (SELECT count(*) FROM conch.job_ready) + (SELECT count(*) FROM conch.job_later) + (SELECT count(*) FROM conch.job_waiting) + (SELECT count(*) FROM conch.job_taken)`, &n)
		return n == 0
	})
	s.nodes["rest"].stop(syscall.SIGTERM)
}

// record reads what is judged.
func (s *cronSite) record(until time.Time) cronRecord {
	s.Helper()
	r := cronRecord{Until: until, Since: map[string]time.Time{}, Calls: s.out.calls(s.T)}
	s.scan(`SELECT count(*) FROM conch.cron_gaps`, &r.Gaps)
	for _, row := range readAll[cronRow](s, `SELECT c.name AS cron, v.since AS at, 0 AS job, '' AS outcome FROM conch.crons c JOIN conch.cron_revisions v ON v.cron = c.id AND v.n = 1`) {
		r.Since[row.Cron] = row.At
	}
	r.Rows = readAll[cronRow](s, `SELECT c.name AS cron, r.at, r.job, r.outcome FROM conch.cron_runs r JOIN conch.crons c ON c.id = r.cron ORDER BY r.at`)
	r.Jobs = readAll[cronRow](s, `SELECT c.name AS cron, j.at, j.id AS job, '' AS outcome FROM conch.jobs j JOIN conch.crons c ON c.id = j.cron`)
	r.Attempts = readAll[cronAttempt](s, `SELECT job, attempt, outcome FROM conch.job_attempts`)
	return r
}

func readAll[T any](s *cronSite, sql string) []T {
	s.Helper()
	rows, err := s.conn.Query(s.Context(), sql)
	if err != nil {
		s.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	if err != nil {
		s.Fatal(err)
	}
	return all
}

// F11, F12, F13: of three nodes the one that leads is killed, fifty times while five hundred scheduled times come and go: each has one row and one job,
// and the outside was called for this job, and for no other.
func TestCronsOfLeadersThatAreKilled(t *testing.T) {
	t.Parallel()
	kills, times := 3, 30
	if runtest.Whole() {
		kills, times = 50, 500
	}
	const crons = 6
	s := newCronSite(t, crons)
	pgtest.Eventually(t, longPatience, "all crons have run", func() bool {
		var n int
		s.scan(`SELECT count(DISTINCT cron) FROM conch.cron_runs`, &n)
		return n == crons
	})
	s.scan(`SELECT min(since) FROM conch.cron_revisions`, &s.since)
	killed := 0
	for tries := 0; killed < kills && tries < 2*kills; tries++ {
		if s.kill() {
			killed++
		}
	}
	pgtest.Eventually(t, 5*longPatience, "the times have come", func() bool {
		var n int
		s.scan(`SELECT count(*) FROM conch.cron_runs`, &n)
		return n >= times
	})
	until := time.Now()
	s.ends(until, crons)
	v := judgeCrons(s.record(until))
	t.Logf("%d leaders killed: %d times with a row, %d jobs, %d calls outside, of which %d for a later attempt", killed, v.Times, v.Jobs, v.Calls, v.Repeated)
	if len(v.Faults) > 0 {
		t.Errorf("%d faults:\n%s", len(v.Faults), strings.Join(v.Faults[:min(len(v.Faults), 20)], "\n"))
	}
	if killed < kills || v.Times < times {
		t.Errorf("%d leaders killed over %d times, want %d and %d", killed, v.Times, kills, times)
	}
}
