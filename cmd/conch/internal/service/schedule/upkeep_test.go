package schedule

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
)

// F11: jobs that have ended are deleted by whichever leader compacts, a bounded number at a time; what this node's [schedule] keeps for longer stays.
func TestCompactingJobs(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	token, _ := nodetest.Lead(t, base.URL, "n1", "compactor", time.Minute)
	s, _, _ := hosted(t, "n1", base.URL)
	s.start(t, crons(base.URL, "[schedule]\nkeep = \"2400h\"\n[[workers]]\n"))
	pgtest.Exec(t, conn, `SELECT conch.job_add('q', 'work') FROM generate_series(1, 1200)`)
	pgtest.Exec(t, conn, `SELECT conch.job_cancel(j.job, 'no') FROM conch.job_ready j`)
	pgtest.Exec(t, conn, `UPDATE conch.jobs SET created_at = now() - interval '90 days'; UPDATE conch.job_attempts SET ended = now() - interval '90 days'`)
	compact := func(keep time.Duration) (says string) {
		after := ""
		for more := true; more && len(says) < 100; more = after != "" {
			gone, next, err := s.Compact(t.Context(), token, keep, after)
			if err != nil {
				t.Fatal(err)
			}
			says, after = says+fmt.Sprint(gone["jobs"], " "), next
		}
		return says
	}
	if got := compact(24 * time.Hour); got != "0 " {
		t.Errorf("deleted %s that the node is to keep for a hundred days", got)
	}
	s.start(t, crons(base.URL, "[[workers]]\n"))
	if got := compact(24 * time.Hour); got != "1000 200 " {
		t.Errorf("deleted %s", got)
	}
}

// A figure of each kind is read, also with nothing to count, and is not left out when another one is.
func TestFigures(t *testing.T) {
	t.Parallel()
	base := pgtest.New(t)
	conn := base.Connect(t)
	s, _, _ := hosted(t, "n1", base.URL)
	pgtest.Exec(t, conn, `SELECT conch.job_add('mail', 'work', run_at => now() - interval '1 hour')`)
	pgtest.Exec(t, conn, `UPDATE conch.schedule_server SET held = true`)
	read := func() (all []node.Figure, err error) { return s.Figures(t.Context()) }
	all, err := read()
	if err != nil || len(all) != 3+len(schedule.Reasons()) {
		t.Errorf("got %v, %v; want three figures, and one for each reason", all, err)
	}
	for i, want := range []string{"conch_schedule_jobs map[queue:mail state:ready] true", "conch_schedule_oldest_ready_seconds map[queue:mail] false"} {
		if got := fmt.Sprint(all[i].Name, " ", all[i].Labels, " ", all[i].Value == 1); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if held := all[len(all)-1]; held.Name != "conch_schedule_jobs_held" || held.Value != 1 || all[1].Value < 3500 {
		t.Errorf("got %v", all)
	}
	pgtest.Exec(t, conn, `ALTER TABLE conch.cron_gaps RENAME TO gone`)
	if all, err := read(); err == nil || len(all) != 3 {
		t.Errorf("without one table: %v, %v; want the figures of the others, and an error", all, err)
	}
}
