package metric_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a collector with the gate of one scope, on a clock that tests move.
type bench struct {
	*metric.Collector
	election.Events
	now   fence.Instant
	latch *fence.Latch
}

func newBench(scopes ...string) *bench {
	b := &bench{}
	clock := func() fence.Instant { return b.now }
	gate, latch := fence.New("s", clock)
	gate, b.latch = gate.Outside(), latch // as an elector hands it out
	b.Collector = metric.New(scopes, func(scope string) *fence.Gate {
		if scope == "s" {
			return gate
		}
		return nil
	}, clock)
	b.Events = b.Collector.Events()
	return b
}

// golden compares all metrics with a file of testdata.
func (b *bench) golden(t *testing.T, name string) {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := testutil.CollectAndCompare(b.Collector, f); err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

func at(d time.Duration) fence.Instant { return fence.Instant(d) }

// won reports a bid that was sent now, took some time and won.
func (b *bench) won(epoch int64, handoff bool, took time.Duration) {
	token := fence.Token{Scope: "s", Holder: "a", Epoch: epoch}
	b.Attempt(election.Bidding{
		Scopes: []string{"s"}, Sent: b.now, Took: took,
		Results: []mint.Result{{Scope: "s", Outcome: mint.Won, Holder: "a", Token: token}},
	})
	sent := b.now
	b.now = b.now.Add(took)
	b.latch.Open(token, b.now, sent.Add(2700*time.Millisecond))
	b.Fact(election.Fact{Kind: election.Acquired, Scope: "s", Token: token, Handoff: handoff})
}

func (b *bench) beat(took time.Duration, renewed bool) {
	b.Beat(election.Heartbeat{Scopes: []string{"s"}, Sent: b.now, Took: took, Renewed: []bool{renewed}})
}

// S30, S31, F7: each metric of a known scope is exported from the start, as 0, with every reason.
func TestZeros(t *testing.T) {
	newBench("s").golden(t, "zeros.prom")
}

// S30, S31, F7: acquired, two heartbeats, lost.
func TestAcquiredAndLost(t *testing.T) {
	b := newBench("s")
	b.now = at(10 * time.Second)
	b.won(7, true, 4*time.Millisecond)
	b.now = at(11 * time.Second)
	b.beat(2*time.Millisecond, true)
	b.now = at(11500 * time.Millisecond)
	b.Blocked("s")
	b.golden(t, "acquired.prom")

	b.latch.Shut(election.ErrDeposed)
	b.Fact(election.Fact{Kind: election.Lost, Scope: "s", Err: election.ErrDeposed})
	b.golden(t, "lost.prom")
}

func (b *bench) value(t *testing.T, series string) float64 {
	t.Helper()
	w := httptest.NewRecorder()
	metric.Page(b.Collector).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if rest, ok := strings.CutPrefix(line, "conch_"+series+" "); ok {
			var v float64
			if _, err := fmt.Sscan(rest, &v); err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Fatalf("no %s on the page:\n%s", series, w.Body)
	return math.NaN()
}

func (b *bench) wants(t *testing.T, when string, want map[string]float64) {
	t.Helper()
	for series, v := range want {
		name, labels, _ := strings.Cut(series, "{")
		if labels != "" {
			labels = strings.TrimSuffix(labels, "}") + ","
		}
		got := b.value(t, name+"{"+labels+`scope="s"}`)
		if math.Abs(got-v) > 1e-9 {
			t.Errorf("%s: %s is %v, want %v", when, series, got, v)
		}
	}
}

// S31: gauges are computed at each scrape. The gate shuts by the clock, and is_leader needs no event
// to show it.
func TestGaugesFollowTheClock(t *testing.T) {
	b := newBench("s")
	b.now = at(10 * time.Second)
	b.won(3, true, 0)
	b.now = at(12 * time.Second)
	b.wants(t, "leading", map[string]float64{"is_leader": 1, "leader_epoch": 3, "leader_tenure_seconds": 2, "heartbeat_age_ms": 2000})
	b.now = at(13 * time.Second)
	if b.latch.Answers() != 0 {
		t.Error("the scrape counts as a caller of the gate, for which a handover waits")
	}
	b.wants(t, "late", map[string]float64{"is_leader": 0, "leader_epoch": 3, "leader_tenure_seconds": 3, "heartbeat_age_ms": 3000})
	b.beat(time.Millisecond, true)
	b.latch.Extend(at(15700 * time.Millisecond))
	b.wants(t, "resumed", map[string]float64{"is_leader": 1, "heartbeat_age_ms": 0})
	b.now = at(14 * time.Second)
	b.beat(time.Millisecond, false)
	b.Beat(election.Heartbeat{Scopes: []string{"s"}, Sent: b.now, Err: errors.New("no answer")})
	b.wants(t, "after heartbeats that failed", map[string]float64{"heartbeat_age_ms": 1000})
	b.latch.Shut(nil)
	b.Fact(election.Fact{Kind: election.Draining, Scope: "s", Err: election.ErrStepDown})
	b.Fact(election.Fact{Kind: election.Released, Scope: "s"})
	b.wants(t, "drained", map[string]float64{
		"is_leader": 0, "leader_epoch": 0, "leader_tenure_seconds": 0, "heartbeat_age_ms": 1000,
		`leadership_lost_total{reason="stepped_down"}`: 1,
	})
}

// S31: a leadership is lost once. If it is deposed while it drains, two facts report its end, and it
// counts under the reason for the drain.
func TestALeadershipIsLostOnce(t *testing.T) {
	t.Parallel()
	b := newBench("s")
	for epoch := range int64(2) {
		b.won(epoch+1, false, 0)
		b.Fact(election.Fact{Kind: election.Draining, Scope: "s", Err: election.ErrStepDown})
		b.Fact(election.Fact{Kind: election.Lost, Scope: "s", Err: election.ErrDeposed})
		b.Fact(election.Fact{Kind: election.Abandoned, Scope: "s"})
		b.wants(t, "deposed while it drains", map[string]float64{
			"leader_acquired_total": float64(epoch + 1), `leadership_lost_total{reason="stepped_down"}`: float64(epoch + 1),
			`leadership_lost_total{reason="deposed"}`: 0,
		})
	}
}

// A process is no leader while its predecessor's gate may be open: the sum over all processes is
// never above 1.
func TestNotLeaderWhileHolding(t *testing.T) {
	b := newBench("s")
	b.now = at(10 * time.Second)
	b.won(3, false, 0)
	b.latch.Open(fence.Token{Scope: "s", Epoch: 3}, at(11*time.Second), at(13*time.Second))
	b.wants(t, "holding", map[string]float64{"is_leader": 0, "leader_epoch": 3})
	b.now = at(11 * time.Second)
	b.wants(t, "entered", map[string]float64{"is_leader": 1})
}

// S31: a follower shows how old the holder's heartbeat was at its last bid, and goes on counting.
func TestHeartbeatAgeOfAFollower(t *testing.T) {
	b := newBench("s")
	b.now = at(20 * time.Second)
	b.Attempt(election.Bidding{
		Scopes: []string{"s"}, Sent: b.now, Took: time.Millisecond,
		Results: []mint.Result{{Scope: "s", Outcome: mint.Held, Holder: "b", Age: 300 * time.Millisecond}},
	})
	b.now = at(21 * time.Second)
	b.wants(t, "following", map[string]float64{"heartbeat_age_ms": 1300, "acquire_attempts_total": 1, "is_leader": 0})
	b.Attempt(election.Bidding{Scopes: []string{"s"}, Sent: b.now, Err: errors.New("away")})
	b.now = at(22 * time.Second)
	b.wants(t, "the database is away", map[string]float64{"heartbeat_age_ms": 2300, "acquire_attempts_total": 2})
}

// S31: the latency counts from the first bid that found no other holder.
func TestAcquireLatency(t *testing.T) {
	b := newBench("s")
	bid := func(at time.Duration, o mint.Outcome) {
		b.now = fence.Instant(at)
		b.Attempt(election.Bidding{Scopes: []string{"s"}, Sent: b.now, Took: time.Millisecond, Results: []mint.Result{{Scope: "s", Outcome: o, Holder: "b"}}})
	}
	bid(1*time.Second, mint.Held)
	bid(2*time.Second, mint.Busy)
	bid(3*time.Second, mint.Held)
	bid(4*time.Second, mint.Busy)
	bid(5*time.Second, mint.Busy)
	b.now = at(6 * time.Second)
	b.won(9, false, 10*time.Millisecond)
	b.wants(t, "won", map[string]float64{"acquire_latency_ms_sum": 2010, "acquire_latency_ms_count": 1, "leader_failovers_total": 1})
	b.now = at(7 * time.Second)
	b.won(10, true, 10*time.Millisecond)
	b.wants(t, "won at once", map[string]float64{"acquire_latency_ms_sum": 2020, "acquire_latency_ms_count": 2, "leader_failovers_total": 1})
}

// Each way in which a leadership ends has its own reason.
func TestReasons(t *testing.T) {
	for _, c := range []struct {
		kind election.Kind
		err  error
		want string
	}{
		{election.Lost, election.ErrDeposed, metric.Deposed},
		{election.Lost, fmt.Errorf("heartbeat: %w", mint.ErrSessionLost), metric.SessionLost},
		{election.Lost, nil, metric.SessionLost},
		{election.Draining, fmt.Errorf("%w for 3s", election.ErrStalled), metric.Stalled},
		{election.Draining, fmt.Errorf("%w: %w", election.ErrResigned, election.ErrStalled), metric.Resigned},
		{election.Draining, election.ErrOverdue, metric.Overdue},
		{election.Draining, fmt.Errorf("%w in favour of b", election.ErrStepDown), metric.SteppedDown},
		{election.Draining, nil, metric.SteppedDown},
	} {
		b := newBench("s")
		b.won(1, false, 0)
		b.Fact(election.Fact{Kind: c.kind, Scope: "s", Err: c.err})
		for _, r := range metric.Reasons {
			want := map[bool]float64{true: 1}[r == c.want]
			b.wants(t, fmt.Sprintf("%s: %v", c.kind, c.err), map[string]float64{`leadership_lost_total{reason="` + r + `"}`: want})
		}
	}
}

// A role's failure is counted with its reason, and its error text makes no series.
func TestRoleFailures(t *testing.T) {
	t.Parallel()
	b := newBench("s")
	for _, err := range []error{
		fmt.Errorf("%w: the command ended with code 3", election.ErrResigned), errors.New("x"), fmt.Errorf("%w for 3s", election.ErrStalled),
	} {
		b.Fact(election.Fact{Kind: election.Failing, Scope: "s", Err: err})
		b.Fact(election.Fact{Kind: election.Failing, Scope: "other", Err: err})
	}
	b.wants(t, "failed twice, stalled once", map[string]float64{`role_failures_total{reason="failed"}`: 2, `role_failures_total{reason="stalled"}`: 1})
}

// leaderless_seconds begins with a fact, grows until a process leads, and is 0 while the database is
// away.
func TestLeaderless(t *testing.T) {
	t.Parallel()
	b := newBench("s")
	unled := func(now, since time.Duration) {
		b.now = at(now)
		b.Fact(election.Fact{Kind: election.Unled, Scope: "s", Took: since})
	}
	wants := func(when string, seconds float64) {
		t.Helper()
		b.wants(t, when, map[string]float64{"leaderless_seconds": seconds})
	}
	bid := func(r mint.Result) {
		b.Attempt(election.Bidding{Scopes: []string{"s"}, Sent: b.now, Results: []mint.Result{r}})
	}
	unled(100*time.Second, 9*time.Second)
	wants("told", 9)
	b.now = at(103 * time.Second)
	bid(mint.Result{Scope: "s", Outcome: mint.Locked})
	wants("later", 12)
	bid(mint.Result{Scope: "s", Outcome: mint.Held, Holder: "b", Process: 7})
	wants("another leads", 0)
	unled(200*time.Second, 9*time.Second)
	b.Fact(election.Fact{Kind: election.Retrying, Scope: "s"})
	wants("a bid failed", 9)
	b.Fact(election.Fact{Kind: election.Retrying})
	wants("the database is away", 0)
	unled(300*time.Second, 9*time.Second)
	b.won(3, false, 0)
	wants("this one leads", 0)
}

// The first epoch of a scope has no predecessor, so it is no failover.
func TestTheFirstIsNoFailover(t *testing.T) {
	t.Parallel()
	b := newBench("s")
	b.won(1, false, 0)
	b.wants(t, "the first", map[string]float64{"leader_failovers_total": 0, "leader_elections_total": 1})
	b.won(2, false, 0)
	b.wants(t, "the second", map[string]float64{"leader_failovers_total": 1})
}

func TestBaseAndBuild(t *testing.T) {
	t.Parallel()
	for _, up := range []bool{true, false} {
		w := httptest.NewRecorder()
		base := metric.NewBase(func(context.Context) (map[string]int, bool) { return map[string]int{"led": 2, "alone": 0}, up })
		metric.Page(base, metric.Build("v1.2.3")).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, line := range []string{
			fmt.Sprintf("conch_database_up %d", map[bool]int{true: 1}[up]), `conch_candidates{scope="led"} 2`, `conch_candidates{scope="alone"} 0`,
			`conch_build_info{goversion="` + runtime.Version() + `",version="v1.2.3"} 1`,
		} {
			if !strings.Contains(w.Body.String(), "\n"+line+"\n") {
				t.Errorf("no %s on the page", line)
			}
		}
	}
}

// An unknown scope makes no series, whatever facts name it.
func TestUnknownScopesAreNotCounted(t *testing.T) {
	b := newBench("s", "s")
	for _, scope := range []string{"", "x"} {
		b.Blocked(scope)
		b.Fact(election.Fact{Kind: election.Acquired, Scope: scope})
		b.Fact(election.Fact{Kind: election.Lost, Scope: scope})
		b.Beat(election.Heartbeat{Scopes: []string{scope}, Renewed: []bool{true}})
		b.Attempt(election.Bidding{Scopes: []string{scope}, Results: []mint.Result{{Outcome: mint.Won}}})
	}
	b.golden(t, "zeros.prom")
}

// A scope that a reload adds is known from then on, and the others go on.
func TestAdd(t *testing.T) {
	b := newBench("other")
	b.Add("s", "other")
	b.Blocked("s")
	b.Blocked("s")
	b.Add("s")
	b.wants(t, "added", map[string]float64{"extrinsic_blocked_not_leader_total": 2, "leader_acquired_total": 0})
}

// The linter of Prometheus complains only about names in _ms, which the requirements prescribe.
func TestLint(t *testing.T) {
	problems, err := testutil.CollectAndLint(newBench("s", "other").Collector)
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{"conch_heartbeat_age_ms": true, "conch_acquire_latency_ms": true, "conch_heartbeat_update_ms": true}
	for _, p := range problems {
		if !given[p.Metric] || p.Text != "metric names should not contain abbreviated units" {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// With the gauges alone by scope, what is counted is counted for all scopes together, and the page has a tenth of the lines.
func TestSummedMetrics(t *testing.T) {
	t.Parallel()
	lines := func(made func([]string, func(string) *fence.Gate, fence.Clock) *metric.Collector) (all int, text string) {
		var scopes []string
		for i := range 100 {
			scopes = append(scopes, fmt.Sprintf("tenant-%d/billing", i))
		}
		c := made(scopes, func(string) *fence.Gate { return nil }, nil)
		for _, scope := range scopes {
			c.Events().Fact(election.Fact{Kind: election.Acquired, Scope: scope, Token: fence.Token{Epoch: 2}})
			c.Blocked(scope)
		}
		c.Blocked("unknown")
		out := httptest.NewRecorder()
		metric.Page(c).ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
		return strings.Count(out.Body.String(), "\nconch_"), out.Body.String()
	}
	full, _ := lines(metric.New)
	few, text := lines(metric.NewSummed)
	if few*9 > full {
		t.Errorf("%d lines instead of %d, want a ninth at most", few, full)
	}
	for _, want := range []string{
		"\nconch_leader_acquired_total{scope=\"\"} 100\n", "\nconch_extrinsic_blocked_not_leader_total{scope=\"\"} 100\n", "\nconch_leader_epoch{scope=\"tenant-7/billing\"} 2\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

func BenchmarkPage(b *testing.B) {
	for name, made := range map[string]func([]string, func(string) *fence.Gate, fence.Clock) *metric.Collector{"full": metric.New, "gauges": metric.NewSummed} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprint(name, "-", n), func(b *testing.B) {
				var scopes []string
				for i := range n {
					scopes = append(scopes, fmt.Sprintf("tenant-%d/billing", i))
				}
				page := metric.Page(made(scopes, func(string) *fence.Gate { return nil }, nil))
				for b.Loop() {
					page.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/metrics", nil))
				}
			})
		}
	}
}
