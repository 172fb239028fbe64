package pgmint_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
)

// synchronous makes the commits of a server wait for the named standbys.
func synchronous(t *testing.T, s *postmaster.Server, names string) {
	t.Helper()
	c := database(s).Connect(t)
	run(t, c, `SET synchronous_commit = local`)
	run(t, c, `ALTER SYSTEM SET synchronous_standby_names = '`+names+`'`)
	run(t, c, `SELECT pg_reload_conf()`)
	pgtest.Eventually(t, 20*time.Second, "a synchronous standby", func() bool {
		var n int
		err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')`).Scan(&n)
		return err == nil && n > 0
	})
}

// until waits for an instant of the gate's clock.
func until(t *testing.T, at fence.Instant) {
	t.Helper()
	timer := time.NewTimer(at.Sub(fence.Boottime()))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

func shut(t *testing.T, when string, all ...*facts) {
	t.Helper()
	for _, f := range all {
		for _, door := range []fence.Door{fence.Fenced, fence.Act} {
			if f.Gate("s").IsOpen(door) {
				t.Errorf("%s: the %s door of %s is open", when, door, f.ID())
			}
		}
	}
}

func follows(t *testing.T, all ...*facts) {
	t.Helper()
	for _, f := range all {
		f.await(t, election.Following)
	}
}

// isolated makes a primary with a leader and a follower, and silences its synchronous standby.
func isolated(t *testing.T, lease time.Duration) (primary *postmaster.Server, standby replica, leader, follower *facts, cut fence.Instant) {
	t.Helper()
	primary = primaryServer(t)
	standby = replicaOf(t, primary, "s1")
	synchronous(t, primary, "s1")
	leader = campaign(t, database(primary).URL, lease, nil)
	wait(t, leader.Elector, fence.Act)
	follower = campaign(t, database(primary).URL, lease, nil)
	follows(t, follower)
	standby.link.Blackhole(tcpproxy.Both)
	return primary, standby, leader, follower, fence.Boottime()
}

// S10, S11: a primary without its synchronous standby still answers, and makes writes that need not be
// synchronous. It renews no term: a heartbeat waits for the standby, so both doors shut within a
// lease, and no other candidate leads. Leadership goes on once the standby is back.
func TestIsolatedPrimaryRenewsNothing(t *testing.T) {
	t.Parallel()
	bothWays(t, isolatedPrimaryRenewsNothing)
}

func isolatedPrimaryRenewsNothing(t *testing.T) {
	t.Helper()
	const lease = 2 * time.Second
	primary, standby, leader, follower, cut := isolated(t, lease)
	until(t, cut.Add(lease))
	shut(t, "a lease after the standby was cut off", leader)
	c := database(primary).Connect(t)
	run(t, c, `SELECT 1`)
	run(t, c, `SET synchronous_commit = local`)
	run(t, c, `CREATE TABLE mine AS SELECT 1`)
	until(t, cut.Add(3*lease))
	shut(t, "three leases after it", leader, follower)
	standby.link.Heal()
	pgtest.Eventually(t, 30*time.Second, "an act door to open again", func() bool {
		return leader.Gate("s").IsOpen(fence.Act) || follower.Gate("s").IsOpen(fence.Act)
	})
}

// A heartbeat whose wait is cancelled commits on this server alone, with a warning, and has failed.
func TestCancelledWaitsRenewNothing(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const lease = 2 * time.Second
	primary, standby, leader, follower, cut := isolated(t, lease)
	c := database(primary).Connect(t)
	var cancelled atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	defer func() { stop(); <-done }()
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			var n int64
			if err := c.QueryRow(ctx, `SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&n); err != nil {
				return
			}
			cancelled.Add(n)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	late := leader.await(t, election.Late)
	if !strings.Contains(late.Err.Error(), "on this server only") {
		t.Errorf("late because of %v, want a commit on this server only", late.Err)
	}
	for _, after := range []time.Duration{lease, 2 * lease, 3 * lease} {
		until(t, cut.Add(after))
		shut(t, "while waits are cancelled", leader, follower)
	}
	if cancelled.Load() < 3 {
		t.Errorf("got only %d cancelled waits, want at least 3", cancelled.Load())
	}
	standby.link.Heal()
	pgtest.Eventually(t, 30*time.Second, "an act door to open again", func() bool {
		return leader.Gate("s").IsOpen(fence.Act) || follower.Gate("s").IsOpen(fence.Act)
	})
}

// With synchronous replication at most one process acts, even if the old primary is not stopped: the
// gates there have shut by their own clock before the act door opens on the promoted standby.
func TestSynchronousFailoverHasOne(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	_, standby, leader, follower, _ := isolated(t, lease)
	standby.promote(t)
	old := leader.await(t, election.Acquired)
	var together atomic.Bool
	next := campaign(t, database(standby.Server).URL, lease, func(f election.Fact) {
		if f.Kind == election.Entered {
			together.Store(leader.Gate("s").IsOpen(fence.Act) || follower.Gate("s").IsOpen(fence.Act))
		}
	})
	entered := next.await(t, election.Entered)
	if together.Load() {
		t.Error("two act doors were open")
	}
	growing(t, []fence.Token{old.Token, entered.Token})
	refusesAll(t, standby.Server, []fence.Token{old.Token})
}

// With asynchronous replication two processes can act: a standby is promoted while the old primary still
// has clients. Each server has a leader with an open act door until the old primary is stopped. Each
// fence accepts only the leader of its server, and what the old primary commits is lost.
func TestAsyncReplicaCanHaveTwo(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	const lease = 3 * time.Second // long, since a session that is lost between the checks has another term
	primary := primaryServer(t)
	standby := replicaOf(t, primary, "s1")
	old := campaign(t, database(primary).URL, lease, nil)
	wait(t, old.Elector, fence.Act)
	standby.catchesUp(t, primary)
	standby.link.Blackhole(tcpproxy.Both)
	standby.promote(t)
	next := campaign(t, database(standby.Server).URL, lease, nil)
	wait(t, next.Elector, fence.Act)
	pgtest.Eventually(t, 20*time.Second, "two act doors to be open at once, as the documentation says", func() bool {
		return old.Gate("s").IsOpen(fence.Act) && next.Gate("s").IsOpen(fence.Act)
	})
	theirs, ours := wait(t, old.Elector, fence.Fenced), wait(t, next.Elector, fence.Fenced)
	growing(t, []fence.Token{theirs, ours})
	refusesAll(t, standby.Server, []fence.Token{theirs})
	refusesAll(t, primary, []fence.Token{ours})
	if err := errors.Join(passes(t, primary, theirs), passes(t, standby.Server, ours)); err != nil {
		t.Errorf("a fence refuses the leader of its own history: %v", err)
	}
}

// Two can act too if one of two synchronous standbys is promoted and the other one goes on confirming
// the heartbeats of the old primary. Before a promotion, cut off as many standbys as it takes for the
// old primary to get no confirmation.
func TestStandInsCanHaveTwo(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	for _, names := range []string{"ANY 1 (s1, s2)", "FIRST 1 (s1, s2)"} {
		t.Run(names, func(t *testing.T) {
			t.Parallel()
			primary := primaryServer(t)
			one, two := replicaOf(t, primary, "s1"), replicaOf(t, primary, "s2")
			synchronous(t, primary, names)
			old := campaign(t, database(primary).URL, lease, nil)
			wait(t, old.Elector, fence.Act)
			one.link.Refuse()
			one.link.Reset() // with silence alone, FIRST would wait until the sender gives up
			one.promote(t)
			next := campaign(t, database(one.Server).URL, lease, nil)
			pgtest.Eventually(t, 30*time.Second, "two act doors to be open at once, as the documentation says", func() bool {
				return old.Gate("s").IsOpen(fence.Act) && next.Gate("s").IsOpen(fence.Act)
			})
			two.link.Blackhole(tcpproxy.Both) // now no standby confirms
			until(t, fence.Boottime().Add(lease))
			shut(t, "without any standby", old)
		})
	}
}

// S4, S9: after the primary dies, electors find the promoted standby by an address that moves or a URL
// with both hosts. One leads with a higher epoch, and its act door stays shut for the hold.
func TestElectorsFollowAPromotion(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	for _, moved := range []bool{true, false} {
		name := map[bool]string{true: "the address moves", false: "both hosts are named"}[moved]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			primary := primaryServer(t)
			standby := replicaOf(t, primary, "s1")
			door, address := pgtest.Proxy(t, primary, "postgres")
			if !moved {
				address = bothHosts(primary, standby.Server)
			}
			all := []*facts{campaign(t, address, lease, nil), campaign(t, address, lease, nil)}
			leader, first := among(t, all, "an act door to open", func(f told) bool { return f.Kind == election.Entered })
			standby.catchesUp(t, primary)
			primary.Kill9()
			standby.promote(t)
			door.Retarget(standby.SocketPath())
			door.Reset()

			who, won := among(t, all, "a leader on the promoted standby", func(f told) bool {
				return f.Kind == election.Acquired && f.Token.Timeline == 2
			})
			entered := who.find(t, "its act door", func(f told) bool { return f.Kind == election.Entered && f.Token.Same(won.Token) })
			growing(t, []fence.Token{first.Token, won.Token})
			// Measured from when the bid was sent, which is before the mint.
			if waited := entered.at.Sub(who.won[won.Token.Epoch]); won.Hold < lease || waited < won.Hold {
				t.Errorf("the act door opened after %s, want at least the hold of %s", waited, won.Hold)
			}
			if leader != who && leader.Gate("s").IsOpen(fence.Fenced) {
				t.Error("the old leader has an open gate")
			}
			refusesAll(t, standby.Server, []fence.Token{first.Token})
		})
	}
}

// bothHosts returns a URL that connects to the server that takes writes.
func bothHosts(a, b *postmaster.Server) string {
	var hosts, ports []string
	for _, s := range []*postmaster.Server{a, b} {
		dir, port, _ := strings.Cut(s.SocketPath(), "/.s.PGSQL.")
		hosts, ports = append(hosts, dir), append(ports, port)
	}
	return "postgres:///postgres?user=" + postmaster.Superuser + "&host=" + strings.Join(hosts, ",") + "&port=" + strings.Join(ports, ",") + "&target_session_attrs=read-write"
}
