package pgmint_test

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/fence/pgfence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
)

// replica is a standby and its connection to the primary.
type replica struct {
	*postmaster.Server
	link *tcpproxy.Proxy
}

func replicaOf(t *testing.T, primary *postmaster.Server, name string) replica {
	t.Helper()
	link, _ := pgtest.Proxy(t, primary, "postgres")
	return replica{link: link, Server: pgtest.Standby(t, primary, postmaster.Config{}, postmaster.Follow{Name: name, Link: link.Addr()})}
}

func value(t *testing.T, s *postmaster.Server, sql string) (text string) {
	t.Helper()
	if err := database(s).Connect(t).QueryRow(t.Context(), sql).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return text
}

// catchesUp waits until the replica has replayed all that the other server has written.
func (r replica) catchesUp(t *testing.T, other *postmaster.Server) {
	t.Helper()
	lsn := value(t, other, `SELECT pg_current_wal_lsn()::text`)
	c := database(r.Server).Connect(t)
	pgtest.Eventually(t, 20*time.Second, "the standby to catch up", func() bool {
		var there bool
		err := c.QueryRow(t.Context(), `SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn`, lsn).Scan(&there)
		return err == nil && there
	})
}

func (r replica) promote(t *testing.T) {
	t.Helper()
	if err := r.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// takeovers makes n leaders, one after the other, and ends the session of each.
func takeovers(t *testing.T, s *postmaster.Server, n int) (tokens []fence.Token) {
	t.Helper()
	m := newMint(t, database(s).URL)
	for range n {
		who := candidate(t, m, "n"+strconv.Itoa(len(tokens)), 20*time.Second, mint.Strict)
		r := bid(t, who, mint.Bid{Scope: "s", Lease: 20 * time.Second})
		if r.Outcome != mint.Won {
			t.Fatalf("the bid: got %+v, want Won", r)
		}
		tokens = append(tokens, r.Token)
		unlockAll(t, database(s), who)
	}
	return tokens
}

// growing demands that tokens grow by (timeline, epoch), and by the bare epoch as well.
func growing(t *testing.T, tokens []fence.Token) {
	t.Helper()
	for i, next := range tokens[1:] {
		last := tokens[i]
		if next.Epoch <= last.Epoch || cmp.Or(cmp.Compare(next.Timeline, last.Timeline), cmp.Compare(next.Epoch, last.Epoch)) <= 0 {
			t.Errorf("epoch %d of timeline %d was followed by epoch %d of timeline %d", last.Epoch, last.Timeline, next.Epoch, next.Timeline)
		}
	}
}

func passes(t *testing.T, s *postmaster.Server, token fence.Token) error {
	t.Helper()
	return pgfence.Fence(t.Context(), database(s).Connect(t), token)
}

// refusesAll demands that the fence of a server refuses each of the tokens.
func refusesAll(t *testing.T, s *postmaster.Server, tokens []fence.Token) {
	t.Helper()
	for _, token := range tokens {
		if err := passes(t, s, token); !errors.Is(err, fence.ErrStale) {
			t.Errorf("fence with epoch %d of timeline %d: got %v, want ErrStale", token.Epoch, token.Timeline, err)
		}
	}
}

// A standby that does not know the last two leaders is promoted. It does not mint their epochs again,
// refuses their tokens and that of the leader it knows, and its first leader holds for the longest
// registered lease: even before a checkpoint, until which the control file names the old timeline.
func TestFailoverToALaggingStandby(t *testing.T) {
	t.Parallel()
	bothWays(t, failoverToALaggingStandby)
}

func failoverToALaggingStandby(t *testing.T) {
	t.Helper()
	primary := primaryServer(t)
	const longest = 27 * time.Second
	candidate(t, newMint(t, database(primary).URL), "slow", longest, mint.Strict) // registered, and known to the standby
	tokens := takeovers(t, primary, 1)
	standby := replicaOf(t, primary, "s1")
	standby.catchesUp(t, primary)
	standby.link.Blackhole(tcpproxy.Both)
	tokens = append(tokens, takeovers(t, primary, 2)...)

	pid, err := strconv.Atoi(value(t, standby.Server, `SELECT pid::text FROM pg_stat_activity WHERE backend_type = 'checkpointer'`))
	if err != nil || syscall.Kill(pid, syscall.SIGSTOP) != nil {
		t.Fatal("the checkpointer cannot be stopped")
	}
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	standby.promote(t)
	stale := value(t, standby.Server, `SELECT timeline_id || ' ' || ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int FROM pg_control_checkpoint()`)
	if stale != "1 2" {
		t.Errorf("got the timelines %s by the control file and by the log, want 1 2", stale)
	}
	refusesAll(t, standby.Server, tokens)
	r := bid(t, candidate(t, newMint(t, database(standby.Server).URL), "next", time.Second, mint.Strict), mint.Bid{Scope: "s", Lease: time.Second})
	if r.Outcome != mint.Won || r.Handoff || r.Hold != longest || r.Token.Timeline != 2 || r.Token.System != tokens[0].System {
		t.Errorf("the next bid: got %+v, want Won on timeline 2 with a hold of the longest lease", r)
	}
	refusesAll(t, standby.Server, tokens)
	if err := passes(t, standby.Server, r.Token); err != nil {
		t.Error(err)
	}
	growing(t, append(tokens, r.Token))
}

// The second failover is to a standby that knows no later leader of either timeline before it, and
// only that there was a second timeline.
func TestRepeatedFailovers(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	primary := primaryServer(t)
	tokens := takeovers(t, primary, 1)
	one, two := replicaOf(t, primary, "s1"), replicaOf(t, primary, "s2")
	// Cut off two first, since it could not follow a server that has received less.
	for _, r := range []replica{two, one} {
		r.catchesUp(t, primary)
		r.link.Blackhole(tcpproxy.Both)
	}
	tokens = append(tokens, takeovers(t, primary, 2)...)
	one.promote(t)

	two.link.Retarget(one.SocketPath())
	two.link.Reset()
	two.link.Heal()
	c := database(two.Server).Connect(t)
	pgtest.Eventually(t, 20*time.Second, "the second standby to follow the first", func() bool {
		var timeline int
		return c.QueryRow(t.Context(), `SELECT received_tli FROM pg_stat_wal_receiver WHERE status = 'streaming'`).Scan(&timeline) == nil && timeline == 2
	})
	two.link.Blackhole(tcpproxy.Both)
	tokens = append(tokens, takeovers(t, one.Server, 3)...)
	two.promote(t)
	refusesAll(t, two.Server, tokens)
	tokens = append(tokens, takeovers(t, two.Server, 2)...)
	growing(t, tokens)
	if last := tokens[len(tokens)-1]; last.Timeline != 3 {
		t.Errorf("got timeline %d for the last leader, want 3", last.Timeline)
	}
	if i := slices.IndexFunc(tokens, func(x fence.Token) bool { return x.Timeline == 2 }); tokens[i].Epoch <= 1_000_000 {
		t.Errorf("got epoch %d first on timeline 2, want one above 1000000", tokens[i].Epoch)
	}
}

// The promise that epochs grow does not hold if two standbys of one primary are promoted and the
// second does not know the first: Postgres gives both the same timeline, so epochs repeat. Terms tell
// them apart, in the fence as well; bare epochs do not. An archive of timelines from which every
// standby restores, or a tool that promotes only with the newest timeline, prevents this.
func TestPromotingTwiceUnheardRepeatsEpochs(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	primary := primaryServer(t)
	takeovers(t, primary, 1)
	one, two := replicaOf(t, primary, "s1"), replicaOf(t, primary, "s2")
	var tokens []fence.Token
	for _, r := range []replica{one, two} {
		r.catchesUp(t, primary)
		r.link.Blackhole(tcpproxy.Both)
		r.promote(t)
		m := newMint(t, database(r.Server).URL)
		tokens = append(tokens, lead(t, candidate(t, m, "x", 20*time.Second, mint.Strict), "s", time.Second))
	}
	if tokens[0].Epoch != tokens[1].Epoch || tokens[0].Timeline != tokens[1].Timeline || tokens[0].Same(tokens[1]) {
		t.Errorf("got the tokens %s and %s, want the same epoch in two terms: the documentation is out of date", tokens[0], tokens[1])
	}
	refusesAll(t, two.Server, tokens[:1])
	if _, err := database(two.Server).Connect(t).Exec(t.Context(), `SELECT conch.fence('s', $1)`, tokens[0].Epoch); err != nil {
		t.Errorf("the bare epoch of the other history is refused (%v): the documentation is out of date", pg.Sentence(err))
	}
}
