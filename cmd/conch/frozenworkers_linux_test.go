//go:build linux

package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// What jobs do, with their files in $0.
const (
	// proves has its effect and its end in one transaction, and its first attempt only once it is told to.
	proves = `
echo "began $CONCH_JOB_ID $CONCH_JOB_ATTEMPT" >>"$0/proves"
[ $CONCH_JOB_ATTEMPT != 1 ] || until [ -e "$0/go-$CONCH_JOB_ID" ]; do sleep 0.02; done
"$1" -X -v VERBOSITY=verbose "$CONCH_DB_URL" -c "BEGIN; INSERT INTO effect VALUES ($CONCH_JOB_ID, $CONCH_JOB_ATTEMPT); SELECT conch.job_done($CONCH_JOB_ID, $CONCH_JOB_ATTEMPT); COMMIT" >"$0/psql-$CONCH_JOB_ID-$CONCH_JOB_ATTEMPT" 2>&1
code=$?
echo "ended $CONCH_JOB_ID $CONCH_JOB_ATTEMPT" >>"$0/proves"
exit $code`
	// acts proves nothing, and acts again and again. Its first attempt never ends.
	acts = `
i=0
until [ $i = 20 ]; do
	echo "$CONCH_JOB_ID $CONCH_JOB_ATTEMPT" >>"$0/acts"
	[ $CONCH_JOB_ATTEMPT = 1 ] || i=$((i+1))
	sleep 0.01
done`
)

// frozenSite is nodes that are workers with one post.
type frozenSite struct {
	*testing.T

	dir, psql string
	conn      *pgx.Conn
	nodes     map[string]*daemon
}

func newFrozenSite(t *testing.T) *frozenSite {
	t.Helper()
	db := migrated(t)
	s := &frozenSite{T: t, dir: t.TempDir(), psql: pgtest.Psql(t), conn: db.Connect(t), nodes: map[string]*daemon{}}
	pgtest.Exec(t, s.conn, `CREATE TABLE effect (job bigint, attempt int)`)
	for _, id := range []string{"n1", "n2"} {
		s.nodes[id] = startDaemon(t, id, db.URL, "[election]\nlease = \"2s\"\n[schedule]\nposts = 1\n[[workers]]\nconcurrency = 10\n")
	}
	return s
}

// adds adds a job that is a script.
func (s *frozenSite) adds(script string, fenced bool) (id int64) {
	s.Helper()
	handler, err := json.Marshal(map[string][]string{"command": {"sh", "-c", script, s.dir, s.psql}})
	if err != nil {
		s.Fatal(err)
	}
	const add = `
		WITH j AS (INSERT INTO conch.jobs (queue, handler, args, priority, retries, timeout, fenced) VALUES ('default', $1, '{}', 0, 100, '1h', $2) RETURNING id)
		SELECT id, conch.job_start(id, 1, now(), NULL)::text FROM j`
	if err := s.conn.QueryRow(s.Context(), add, string(handler), fenced).Scan(&id, new(string)); err != nil {
		s.Fatal(err)
	}
	return id
}

// count counts lines of a file.
func (s *frozenSite) count(file, format string, args ...any) int {
	text, _ := os.ReadFile(filepath.Join(s.dir, file))
	return strings.Count("\n"+string(text), "\n"+fmt.Sprintf(format, args...)+"\n")
}

func (s *frozenSite) eventually(what string, is func() bool) {
	s.Helper()
	pgtest.Eventually(s, longPatience, what, is)
}

// one reads one value.
func (s *frozenSite) one(sql string, args ...any) (text string) {
	s.Helper()
	if err := s.conn.QueryRow(s.Context(), sql, args...).Scan(&text); err != nil {
		s.Fatalf("%s: %v", sql, err)
	}
	return text
}

// signals signals processes, of which some may be gone.
func (s *frozenSite) signals(sig syscall.Signal, pids ...int) {
	s.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
			s.Fatal(err)
		}
	}
}

// freezes stops a node and, of two jobs that it has, the one that proves its attempt, with its keeper. It returns what it has stopped: the command and
// what is below it, and what is above it.
func (s *frozenSite) freezes(n *daemon) (command, above []int) {
	s.Helper()
	node := n.cmd.Process.Pid
	for _, p := range descendants(s.T, node) {
		if p.parent == node && strings.Contains(p.command, "psql-") {
			above = append(above, p.pid)
		}
	}
	s.signals(syscall.SIGSTOP, above...) // the keeper, and then what it has started
	if len(above) != 1 {
		s.Fatalf("found the keepers %v, want one", above)
	}
	for seen := -1; seen < len(command); {
		seen, command = len(command), nil
		for _, p := range descendants(s.T, above[0]) {
			command = append(command, p.pid)
		}
		s.signals(syscall.SIGSTOP, command...)
	}
	above = append(above, node)
	s.signals(syscall.SIGSTOP, node)
	return command, above
}

// takeover freezes the node that has the post while it handles two jobs, has the other one take over, and wakes the first, its command before all
// else: that acts once more, although its attempt is over.
func (s *frozenSite) takeover() (proven, acted int64) {
	s.Helper()
	proven, acted = s.adds(proves, true), s.adds(acts, false)
	s.eventually("both jobs are at work", func() bool {
		return s.count("proves", "began %d 1", proven) > 0 && s.count("acts", "%d 1", acted) > 0
	})
	frozen := s.one(`SELECT holder FROM conch.leadership WHERE scope = 'worker/default/1'`)
	command, above := s.freezes(s.nodes[frozen])
	s.Cleanup(func() { s.signals(syscall.SIGCONT, above[1]) }) // or it could not end
	s.eventually("another worker has done what is fenced", func() bool {
		return s.one(`SELECT count(*)::text FROM effect WHERE job = $1`, proven) != "0"
	})
	s.eventually("another worker has done what is not", func() bool {
		return s.one(`SELECT count(*)::text FROM conch.job_attempts WHERE job = $1 AND outcome = 'done'`, acted) == "1"
	})
	if err := os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("go-%d", proven)), nil, 0o600); err != nil {
		s.Fatal(err)
	}
	s.signals(syscall.SIGCONT, command...)
	s.eventually("the command that was frozen has tried to act", func() bool { return s.count("proves", "ended %d 1", proven) == 1 })
	if text, _ := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("psql-%d-1", proven))); !strings.Contains(string(text), "CN021") {
		s.Errorf("job %d: the command that was frozen is told %q, want CN021", proven, text)
	}
	s.signals(syscall.SIGCONT, above...)
	return proven, acted
}

// F13: workers are frozen while they handle jobs, others take over, and the first wake up. A handler that proves its attempt has its effect once,
// although its command acts again when it wakes up. One that does not is never at work beside another: the keeper of the first has ended it before.
func TestWorkersThatAreFrozen(t *testing.T) {
	t.Parallel()
	takeovers := 1
	if runtest.Whole() {
		takeovers = 30
	}
	s := newFrozenSite(t)
	var proven, acted []int64
	for range takeovers {
		p, a := s.takeover()
		proven, acted = append(proven, p), append(acted, a)
	}
	s.eventually("all attempts have ended", func() bool { return s.one(`SELECT count(*)::text FROM conch.job_taken`) == "0" })
	for _, id := range proven {
		if n := s.one(`SELECT count(*)::text FROM effect WHERE job = $1`, id); n != "1" {
			t.Errorf("job %d, which proves its attempts, has had its effect %s times", id, n)
		}
	}
	text, err := os.ReadFile(filepath.Join(s.dir, "acts"))
	if err != nil {
		t.Fatal(err)
	}
	if faults := judgeActs(string(text), acted); len(faults) > 0 {
		t.Error(strings.Join(faults, "\n"))
	}
	t.Logf("%d takeovers from frozen workers: %d effects of jobs that prove their attempts, %d acts of jobs that do not", takeovers, len(proven), strings.Count(string(text), "\n"))
}

// judgeActs judges that of each job a later attempt has acted, and an earlier one never after it. The lines are in the order in which they were written.
func judgeActs(text string, jobs []int64) (faults []string) {
	last := map[int64]int{}
	for line := range strings.Lines(text) {
		var job int64
		var attempt int
		if _, err := fmt.Sscan(line, &job, &attempt); err != nil {
			faults = append(faults, fmt.Sprintf("the line %q: %v", line, err))
			continue
		}
		if attempt < last[job] {
			faults = append(faults, fmt.Sprintf("attempt %d of job %d has acted after attempt %d", attempt, job, last[job]))
		}
		last[job] = max(last[job], attempt)
	}
	for _, job := range jobs {
		if last[job] < 2 {
			faults = append(faults, fmt.Sprintf("no attempt of job %d but the first has acted", job))
		}
	}
	return faults
}

// The judge finds two workers that are at work at one time.
func TestTheJudgeOfActs(t *testing.T) {
	t.Parallel()
	for text, faults := range map[string]int{"1 1\n1 1\n2 1\n1 2\n2 2\n": 0, "1 1\n1 2\n2 1\n2 2\n1 1\n": 1, "1 1\n2 1\n2 3\n": 1, "1 2\n2 2\nx\n": 1} {
		if got := judgeActs(text, []int64{1, 2}); len(got) != faults {
			t.Errorf("of %q it says %q", text, got)
		}
	}
}
