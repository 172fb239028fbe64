package pgstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/pgstore"
)

// lonely makes a server with the log, whose commits can be made to wait for a standby that is not there.
func lonely(t *testing.T) (cfg pg.Config, admin *pgx.Conn, standby func(name string)) {
	t.Helper()
	server := pgtest.Own(t, postmaster.Config{})
	cfg = pg.Config{URL: server.URL("postgres")}
	admin = pgtest.Connect(t, cfg)
	run(t, admin, `SET synchronous_commit = local`)
	if err := made(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	created(t, cfg)
	run(t, admin, `ALTER DATABASE postgres SET synchronous_commit = local`) // conch's commits wait all the same
	return cfg, admin, func(name string) {
		t.Helper()
		run(t, admin, `ALTER SYSTEM SET synchronous_standby_names = '`+name+`'`)
		run(t, admin, `SELECT pg_reload_conf()`)
		probe := pgtest.Connect(t, cfg)
		run(t, probe, `SET synchronous_commit = on`)
		pgtest.Eventually(t, patience, "commits wait for the standby "+name, func() bool {
			if asked[string](t, probe, `SHOW synchronous_standby_names`) != name {
				return false
			}
			return name == "" || delays(t, probe, admin)
		})
	}
}

// delays reports whether a commit waits for the standby. The checkpointer sees to that, at a time after the setting can be seen.
func delays(t *testing.T, probe, admin *pgx.Conn) bool {
	t.Helper()
	ended := make(chan struct{})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() {
		defer close(ended)
		_, _ = probe.Exec(ctx, `SELECT pg_logical_emit_message(true, 'test', '')`)
	}()
	for {
		select {
		case <-ended:
			return false
		default:
			if cancels(t, admin) > 0 {
				<-ended
				return true
			}
		}
	}
}

// cancels has the server stop waiting for the standby, where it does, and returns for how many.
func cancels(t *testing.T, admin *pgx.Conn) int {
	t.Helper()
	return asked[int](t, admin, `SELECT count(*) FILTER (WHERE pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
}

func unconfirmed(err error) bool {
	var unknown *pg.UnconfirmedError
	return errors.As(err, &unknown)
}

// A commit for which the server has stopped waiting for its standby is on this server alone, and a failover takes it back. So it
// is told to nobody (committed-only): not to the leader, whose repetition is unconfirmed too, and not to a follower or to
// other readers, although the rows are there.
func TestAnUnconfirmedCommitIsToldToNobody(t *testing.T) {
	t.Parallel()
	cfg, admin, standby := lonely(t)
	leader := follows(t, opened(t, cfg), poll)
	follower := follows(t, opened(t, cfg), often)
	leader.leads(minted(t, admin))
	all := several(t, nil, 2, 2)
	leader.Append(all[0])
	follower.commits(1)
	leader.commits(1)
	standby("nobody")
	leader.Append(all[1])
	gaveUp := func(n *node) func() bool {
		return func() bool { cancels(t, admin); return slices.ContainsFunc(n.troubled(), unconfirmed) }
	}
	pgtest.Eventually(t, patience, "the leader's commit is unconfirmed", gaveUp(leader))
	if stored := asked[int](t, admin, records); stored != 2 {
		t.Fatalf("%d records can be read, want both", stored)
	}
	pgtest.Eventually(t, patience, "the follower's read is unconfirmed", gaveUp(follower))
	before := len(follower.troubled())
	follower.Confirm(1)
	pgtest.Eventually(t, patience, "more reads are unconfirmed", func() bool { cancels(t, admin); return len(follower.troubled()) >= before+2 })
	if told := append(leader.took(), follower.took()...); len(told) > 0 {
		t.Errorf("told %+v, which a failover takes back", told)
	}
	standby("")
	only(t, leader.commits(2), all[1])
	only(t, follower.commits(2), all[1])
	follower.Confirm(2)
	follower.hears("the read", func(f txlog.Fact) bool { return f == txlog.Confirmed{Read: 2, Index: 2} })
}

// A log is made for certain, or its maker hears that nobody knows.
func TestAnUnconfirmedLogIsUnknown(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	cfg, admin, standby := lonely(t)
	d := opened(t, cfg)
	standby("nobody")
	for range 2 { // a repetition too
		ended := make(chan error, 1)
		go func() { ended <- d.Create(t.Context(), genesis, scope) }()
		pgtest.Eventually(t, patience, "it waits for the standby", func() bool { return cancels(t, admin) > 0 })
		if err := receive(t, ended); !unconfirmed(err) {
			t.Errorf("without a confirmation: %v", err)
		}
	}
	standby("")
	if err := d.Create(t.Context(), genesis, scope); err != nil {
		t.Error(err)
	}
}

// A standby may not know the newest entries: nobody reads from it. Once it is promoted without what was committed (replication was
// not synchronous), a node that was told more stops, and one that was not goes on.
func TestAStandbyWithoutTheNewest(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	primary := pgtest.Own(t, postmaster.Config{})
	cfg := pg.Config{URL: primary.URL("postgres")}
	admin := pgtest.Connect(t, cfg)
	if err := made(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	link, _ := pgtest.Proxy(t, primary, "postgres")
	standby := pgtest.Standby(t, primary, postmaster.Config{}, postmaster.Follow{Link: link.Addr()})
	d := created(t, cfg)
	leader := follows(t, d, poll)
	leader.leads(minted(t, admin))
	all := several(t, nil, 2, 2)
	leader.Append(all[0])
	leader.commits(1)
	other := pg.Config{URL: standby.URL("postgres")}
	behind := pgtest.Connect(t, other)
	pgtest.Eventually(t, patience, "the standby has the first entry", func() bool { return asked[int](t, behind, records) == 1 })
	link.Blackhole(tcpproxy.Both)
	leader.Append(all[1])
	leader.commits(2)
	there := opened(t, other)
	knows, lacks := follows(t, there, often, all...), follows(t, there, often, all[0])
	for _, n := range []*node{knows, lacks} {
		pgtest.Eventually(t, patience, "the standby is refused", func() bool {
			return slices.ContainsFunc(n.troubled(), func(err error) bool { return errors.Is(err, pgstore.ErrStandby) })
		})
		if told := n.took(); len(told) > 0 {
			t.Errorf("a standby tells %+v", told)
		}
	}
	primary.Kill9()
	run(t, behind, `SELECT pg_promote(false)`)
	pgtest.Eventually(t, patience, "the standby is promoted", func() bool { return !asked[bool](t, behind, `SELECT pg_is_in_recovery()`) })
	if err := receive(t, knows.ended); !errors.Is(err, pgstore.ErrForked) {
		t.Errorf("a node that was told more ended with %v, want %v", err, pgstore.ErrForked)
	}
	lacks.tries(minted(t, behind))
	lacks.hears("it leads", func(f txlog.Fact) bool { return f == txlog.Leads{Term: 3} })
}
