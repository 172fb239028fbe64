//go:build unix

package main_test

import (
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// again kills the chain's node, as a power cut does, and starts it with an older head from disk.
func (d *devnode) again(args ...string) {
	d.t.Helper()
	var before uint64
	pgtest.Eventually(d.t, patience, "there are blocks to lose", func() bool {
		before = number(d.t, d.call("eth_blockNumber"))
		return before > 2
	})
	d.life.Kill()
	d.life.Wait(patience)
	next := startDevnode(d.t, append(args, "--listen", strings.TrimPrefix(d.url, "http://"))...)
	d.life = next.life
	if now := number(d.t, d.call("eth_blockNumber")); now >= before {
		d.t.Errorf("after the restart the head is block %d, want one below %d", now, before)
	}
}

// settles waits until all acknowledged intents have ended.
func (m *team) settles() {
	m.t.Helper()
	tables := readTables(m.t, m.db)
	pgtest.Eventually(m.t, patience, "everything is final", func() bool { return openIntents(m.t, tables) == 0 })
}

// The chain's node and the leader are killed. The chain comes back shorter, with or without its
// pool. The successor sends the stored bytes of what is missing again, even of final ones. (S20)
func TestLeaderAndChainKilled(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, journal := range map[string]string{"the pool is lost": "--journal=false", "the pool comes back": "--journal=true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"--datadir", t.TempDir(), journal}
			db, chain := migrated(t), startDevnode(t, args...)
			m := newTeam(t, db.URL, chain, "n1", "n2")
			each := runtest.ByDay(20, 60)
			for round := range 3 {
				leader, epoch := m.leader(0)
				if round == 2 {
					m.settles()
				}
				var asking sync.WaitGroup
				t.Cleanup(asking.Wait)
				asking.Go(func() { m.wants(round*each, round*each+each) })
				pgtest.Eventually(t, patience, "some are acknowledged", func() bool { return len(m.acknowledged()) >= round*each+each/2 })
				if round == 1 {
					m.down(leader, syscall.SIGKILL)
					chain.again(args...)
				} else {
					chain.again(args...)
					m.down(leader, syscall.SIGKILL)
				}
				m.leader(epoch)
				m.back(leader)
				asking.Wait()
			}
			judge(t, chain, db.URL, m.acknowledged())
		})
	}
}
