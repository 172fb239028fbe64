package pgstore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/pgstore"
)

// lonely starts a server with the log, whose commits wait for nobody yet.
func lonely(t *testing.T) *pgtest.Lonely {
	t.Helper()
	l := pgtest.NewLonely(t, made)
	created(t, l.Config)
	l.EndsWaits()
	return l
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
	l := lonely(t)
	leader := follows(t, opened(t, l.Config), poll)
	follower := follows(t, opened(t, l.Config), often)
	leader.leads(minted(t, l.Admin))
	all := several(t, nil, 2, 2)
	leader.Append(all[0])
	follower.commits(1)
	leader.commits(1)
	l.Waits("nobody")
	leader.Append(all[1])
	gaveUp := func(n *node) func() bool {
		return func() bool { return slices.ContainsFunc(n.troubled(), unconfirmed) }
	}
	pgtest.Eventually(t, patience, "the leader's commit is unconfirmed", gaveUp(leader))
	if stored := asked[int](t, l.Admin, records); stored != 2 {
		t.Fatalf("%d records can be read, want both", stored)
	}
	pgtest.Eventually(t, patience, "the follower's read is unconfirmed", gaveUp(follower))
	follower.Confirm(1)
	pgtest.Eventually(t, patience, "the newest index is unconfirmed", func() bool {
		return slices.ContainsFunc(follower.troubled(), func(err error) bool {
			return unconfirmed(err) && strings.Contains(err.Error(), "newest")
		})
	})
	if told := append(leader.took(), follower.took()...); len(told) > 0 {
		t.Errorf("told %+v, which a failover takes back", told)
	}
	l.Waits("")
	only(t, leader.commits(2), all[1])
	only(t, follower.commits(2), all[1])
	follower.Confirm(2)
	follower.hears("the read", func(f authority.Fact) bool { return f == authority.Confirmed{Read: 2, Index: 2} })
}

// A log is made for certain, or its maker hears that nobody knows.
func TestAnUnconfirmedLogIsUnknown(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	l := lonely(t)
	d := opened(t, l.Config)
	l.Waits("nobody")
	for range 2 { // a repetition too
		if err := d.Create(t.Context(), genesis, scope); !unconfirmed(err) {
			t.Errorf("without a confirmation: %v", err)
		}
	}
	l.Waits("")
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
	lacks.hears("it leads", func(f authority.Fact) bool { return f == authority.Leads{Term: 3} })
}
