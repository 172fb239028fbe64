package schedule

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// tally counts what this node has done while it led. It has the crons and the queues of the node's file from the beginning.
type tally struct {
	mu      sync.Mutex
	there   bool // it has crons
	works   bool // it has workers
	queues  []string
	runs    map[string]int // by outcome
	gaps    map[string]int // by why
	back    int
	ends    map[string]int     // of attempts, by outcome
	skipped map[string]int     // by cron: how many times in a row
	other   string             // the node whose file differs
	stuck   map[[2]string]bool // scopes that this process leads, and what the database does not do for them
	server  pgstore.Server     // that has the rows
}

func newTally() *tally {
	return &tally{runs: map[string]int{}, ends: map[string]int{}, gaps: map[string]int{}, skipped: map[string]int{}, stuck: map[[2]string]bool{}}
}

// know takes over the names of a file.
func (t *tally) know(s *Section) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.there, t.works, t.queues = s.there, len(s.workers) > 0, s.queues()
	was := t.skipped
	t.skipped = map[string]int{}
	for _, c := range s.crons {
		t.skipped[c.Name] = was[c.Name]
	}
}

func (t *tally) count(e schedule.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case schedule.Ran:
		if t.runs[e.Outcome]++; e.Outcome == schedule.Skipped {
			t.skipped[e.Name]++
		} else {
			t.skipped[e.Name] = 0
		}
	case schedule.PassedOver:
		t.gaps[e.Why] += e.Count
	case schedule.ClockBack:
		t.back++
	case schedule.AttemptEnded:
		if !e.Refused {
			t.ends[e.Outcome]++
		}
	case schedule.Trouble:
		if t.stuck[[2]string{e.Scope, e.What}] = true; e.Why == nil {
			delete(t.stuck, [2]string{e.Scope, e.What})
		}
	}
}

// calm forgets what the leader of a scope has waited for.
func (t *tally) calm(scope string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.stuck, func(of [2]string, _ bool) bool { return of[0] == scope })
}

// rest forgets what only the leader of the crons knows.
func (t *tally) rest(scope string) {
	t.calm(scope)
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range t.skipped {
		t.skipped[name] = 0
	}
}

// differ notes the node whose file differs, and reports whether that is news.
func (t *tally) differ(other string) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	news, t.other = t.other != other, other
	return news
}

// found notes what is known of the server, and reports whether its rows have just turned out to be those of a backup.
func (t *tally) found(now pgstore.Server) (news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	news, t.server = now.Restored.After(t.server.Restored), now
	return news
}

// collector counts jobs in the database when the metrics are read, and adds what the node has done. Every process counts the same jobs: take
// the largest number, not the sum.
type collector struct {
	tally *tally
	store *pgstore.Store
}

var _ prometheus.Collector = (*collector)(nil)

// askFor bounds the wait for the database.
const askFor = time.Second

var (
	measured = metric.Table{Of: "schedule_"}

	jobsDesc    = measured.New("jobs", "Jobs of the queue that have not ended, by state, as the database says on every process.", "queue", "state")
	oldestDesc  = measured.New("oldest_ready_seconds", "For how long the queue's first job has been waiting for a worker.", "queue")
	runsDesc    = measured.New("runs_total", "Scheduled times that have got their row while this process led, by outcome.", "outcome")
	passedDesc  = measured.New("passed_over_total", "Scheduled times that were passed over while this process led, by why; 10,000 of one gap stand for more.", "why")
	skippedDesc = measured.New("skipped_in_a_row", "How many times of the cron were skipped one after another, since an earlier job has not ended, on the node that leads; 0 on all others.", "cron")
	backDesc    = measured.New("clock_back_total", "Crons that were set back since the database's clock was, while this process led.")
	endsDesc    = measured.New("attempts_total", "Attempts at jobs that workers of this process have ended, by outcome; one that was over before is not counted.", "outcome")
	stuckDesc   = measured.New("stuck", "1 while the database does not do what this process asks of it for the crons or the jobs that it leads.")
	heldDesc    = measured.New("jobs_held", "1 while no job is taken, since the database was restored and [schedule] on_restore is hold, as each process knows it.")
	differsDesc = measured.New("files_differ", "1 while this process and the node whose crons count have different crons under one version.")
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) { measured.Describe(to) }

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	out := metric.Samples(to)
	t := c.tally
	t.mu.Lock()
	there, works, queues := t.there, t.works, t.queues
	if there {
		for _, outcome := range schedule.Outcomes() {
			out.Count(runsDesc, float64(t.runs[outcome]), outcome)
		}
		for _, why := range schedule.Reasons() {
			out.Count(passedDesc, float64(t.gaps[why]), why)
		}
		for name, n := range t.skipped {
			out.Gauge(skippedDesc, float64(n), name)
		}
		out.Count(backDesc, float64(t.back))
		out.Flag(differsDesc, t.other != "")
	}
	if there || works {
		out.Flag(heldDesc, t.server.Held)
	}
	if works {
		for _, outcome := range schedule.Ends() {
			out.Count(endsDesc, float64(t.ends[outcome]), outcome)
		}
	}
	if there || works {
		out.Flag(stuckDesc, len(t.stuck) > 0)
	}
	t.mu.Unlock()
	if there || works {
		c.depths(out, queues)
	}
}

// depths counts the jobs of each queue. One of the file is there without jobs, too.
func (c *collector) depths(out metric.Samples, queues []string) {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	all, err := c.store.Depths(ctx)
	if err != nil {
		return
	}
	waits, counts := map[string]time.Duration{}, map[[2]string]int{}
	for _, queue := range queues {
		waits[queue] = 0
	}
	for _, d := range all {
		waits[d.Queue] = max(waits[d.Queue], d.Wait)
		counts[[2]string{d.Queue, d.State}] = d.N
	}
	for queue, wait := range waits {
		out.Gauge(oldestDesc, wait.Seconds(), queue)
		for _, state := range pgstore.States() {
			out.Gauge(jobsDesc, float64(counts[[2]string{queue, state}]), queue, state)
		}
	}
}
