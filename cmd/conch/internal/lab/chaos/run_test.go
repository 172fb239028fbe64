//go:build linux

package chaos

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/cmd/conch/internal/lab/skew"
	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
)

// session runs a test's faults and logs the progress if it fails.
func session(t *testing.T, cfg Config) Report {
	t.Helper()
	var said bytes.Buffer
	cfg.Program, cfg.Conch, cfg.Nodes, cfg.Lease, cfg.Screen.Out = program, conch, 3, lease, &said
	report, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	t.Logf("%d acts by %d leaderships, no row for %v ms, no act for %v ms, %d frozen writes",
		report.Acts, report.Leaders, report.Unavailable, report.ActDoor, report.Frozen)
	if t.Failed() || len(report.Violations) > 0 {
		t.Log(said.String())
	}
	return report
}

// S4, F4: every kind of fault once, in the order of the seed, some of them in pairs; half of the kinds on machines of their own beside
// the other half. The night's conch-lab chaos has each a hundred times.
func TestEveryKindOnce(t *testing.T) {
	t.Parallel()
	for half := range 2 {
		if half > 0 && !runtest.Whole() {
			break
		}
		var kinds []Kind
		for i, kind := range ordinary() {
			if i%2 == half {
				kinds = append(kinds, kind)
			}
		}
		t.Run(fmt.Sprint(half), func(t *testing.T) {
			t.Parallel()
			everyKindOnce(t, kinds)
		})
	}
}

func everyKindOnce(t *testing.T, kinds []Kind) {
	t.Helper()
	report := session(t, Config{Faults: len(kinds), Kinds: kinds, Seed: 1, Takeover: mint.Strict, KeepGoing: true})
	for _, v := range report.Violations {
		if v.Invariant != Led { // how long nobody leads is a matter of this machine's load
			t.Errorf("%s, after fault %d: %s\n%s", v.Invariant, v.Fault, v.Detail, v.Replay)
		}
	}
	for _, kind := range kinds {
		came := report.Faults[kind]
		if kind == Backend || kind == Deaf || kind == LogUnread { // they may miss between two leaders; TestLeadersAreHit shows that they hit
			came += report.Missed[kind]
		}
		if came != 1 {
			t.Errorf("%s came %d times, want once; missed: %v; left out: %v", kind, came, report.Missed, report.LeftOut)
		}
	}
	if report.Acts < 500 || report.Leaders < 3 || len(report.Unavailable) == 0 {
		t.Errorf("too little happened: %+v", report)
	}
}

// With a queue of notifications that is really full leaders drain and are followed, and the doctor says who keeps it full. By night alone:
// before Postgres 17 the queue takes 8 GB and minutes.
func TestAFullQueueOfNotifications(t *testing.T) {
	runtest.NightRun(t)
	t.Parallel()
	everyKindOnce(t, []Kind{NotifyFull})
}

// deafLeader ends the leader's session while its line is silent, before a heartbeat has failed, so
// that another leader is elected while it still trusts its lease.
func deafLeader() []Fault {
	return slices.Repeat([]Fault{{Kind: Deaf, Target: Leader, Leases: 0.6}}, 3)
}

// The checker can find overlaps: fast opens the act door at once, is documented to overlap, and
// does so under the same faults.
func TestFastOverlapsAtTheActDoor(t *testing.T) {
	runtest.NightRun(t) // by day TestEveryKindOnce injects this fault
	t.Parallel()
	report := session(t, Config{Faults: 3, Takeover: mint.Fast, script: deafLeader()})
	acts, children := 0, 0
	for _, v := range report.Violations {
		switch {
		case v.Invariant == OneChild:
			children++
		case v.Invariant == OneActor && strings.HasPrefix(v.Detail, "row"): // the fenced door is safe under every takeover
			t.Errorf("%s: %s", v.Invariant, v.Detail)
		case v.Invariant == OneActor:
			acts++
		default:
			t.Errorf("%s: %s", v.Invariant, v.Detail)
		}
	}
	if acts == 0 || children == 0 {
		t.Errorf("found %d overlapping acts and %d of children, want some of each", acts, children)
	}
}

// A workload that does not recover in time is a violation and ends the run.
func TestNoRecoveryIsAViolation(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	slow := Fault{Kind: Latency, Target: Leader, Leases: 0.1}
	many := []Fault{slow, slow, slow, slow, slow, slow} // sometimes everything goes on before the first look
	report := session(t, Config{Faults: len(many), Takeover: mint.Strict, script: many, testPatience: time.Nanosecond})
	if len(report.Violations) != 1 || report.Violations[0].Invariant != Recovers ||
		report.Violations[0].Fault != report.Faults[Latency] || report.Faults[Latency] == len(many) {
		t.Errorf("got %+v, want one violation and an early end", report)
	}
}

// A process that ends unexpectedly is reported and started again.
func TestAProcessThatEndsUnexpectedly(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	x := begin(t, ClusterConfig{Children: true})
	x.mu.Lock()
	x.leader.work.process.Signal(syscall.SIGKILL) // not Node.Signal, which the nemesis uses
	x.mu.Unlock()
	x.next(true)
	n := &nemesis{Cluster: x.Cluster, cfg: Config{Lease: lease}, w: newWitness(x.cfg.Dir), screen: screen.New(screen.Config{Out: io.Discard})}
	if !n.until(x.ctx, func() bool { return n.campaigning() == len(n.Nodes) }) {
		t.Fatal("the process was not started again")
	}
	n.observer.Close()
	n.unexpectedDeaths(x.ctx, Evidence{})
	if len(n.violations) != 1 || n.violations[0].Invariant != Alive || !strings.Contains(n.violations[0].Detail, "demo-node") {
		t.Errorf("got violations %+v, want one of the demo-node", n.violations)
	}
	x.proven(2)
	if len(x.deaths) != 1 {
		t.Errorf("got deaths %+v, want the first only", x.deaths)
	}
}

// Postgres measures its timeouts by the wall clock. If the clock is set back while a leader is
// silent, Postgres frees the leader's lock an hour late: nobody leads until the line heals, and at
// no time do two act. A machine that is really gone is detected by TCP.
func TestAClockSetBackWhileTheLeaderIsSilent(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	clock, err := skew.New(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = clock.Remove() })
	x := begin(t, ClusterConfig{Clock: clock})
	if err := obeys(x.ctx, x.URL, clock); err != nil {
		t.Fatal(err)
	}
	x.epoch = 0
	x.next(true) // setting the clock forward may have cost the leadership
	x.leader.Proxy.Blackhole(tcpproxy.Both)
	if err := clock.Set(-time.Hour); err != nil {
		t.Fatal(err)
	}
	x.pass(3 * lease)
	x.mu.Lock()
	for _, n := range x.Nodes {
		t.Logf("three leases later %s leads with epoch %d", n.ID, n.Epoch)
	}
	x.mu.Unlock()
	if err := clock.Set(0); err != nil {
		t.Fatal(err)
	}
	x.leader.Proxy.Heal()
	x.next(true)
	x.works()
	x.proven(1)
}

func TestEveryKindIsDescribedAndDone(t *testing.T) {
	t.Parallel()
	for _, k := range Kinds() {
		if Describe(k) == "" {
			t.Errorf("%s has no description", k)
		}
		if procedures[k] == nil {
			t.Errorf("%s has no procedure", k)
		}
	}
	if len(procedures) != len(Kinds()) {
		t.Error("kinds and procedures differ")
	}
}

// F8, S32: pages, feed and routes hold while machines, their lines and their database are hurt: of 20 viewers none is told as the present
// what is past, none is told an event twice on one stream, and none misses one.
func TestPagesUnderFaults(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	hurts := []Fault{
		{Kind: PGKill, Target: Everybody, Leases: 6}, {Kind: Kill9, Target: Leader, Leases: 1}, {Kind: Silent, Target: Leader, Leases: 6}, {Kind: StopLong, Target: Everybody, Leases: 2},
	}
	report := session(t, Config{Faults: len(hurts), Takeover: mint.Strict, Viewers: 20, script: hurts})
	for _, v := range report.Violations {
		if v.Invariant != Led { // how long nobody leads is a matter of this machine's load
			t.Errorf("%s, after fault %d: %s", v.Invariant, v.Fault, v.Detail)
		}
	}
	if report.Told < 200 || report.Streams < 40 {
		t.Errorf("viewers were told %d times, on %d streams: too little happened", report.Told, report.Streams)
	}
}
