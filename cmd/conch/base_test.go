//go:build unix

package main_test

import (
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// The database is killed and comes back while transactions are asked for: nothing is
// acknowledged meanwhile, and what was before or after is done once. (S21)
func TestTheDatabaseIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	server, chain := pgtest.Own(t, postmaster.Config{}), startDevnode(t)
	db := server.URL("postgres")
	conch(t, "--db", db, "migrate", "up").done(t)
	m := newTeam(t, db, chain, "n1", "n2")
	for round, gone := range []func(){
		func() { server.Kill9() },
		func() { _ = server.RestartFast(t.Context()) },
		func() { // and the leader with it
			leader, _ := m.leader(0)
			server.Kill9()
			m.down(leader, syscall.SIGKILL)
			m.back(leader)
		},
	} {
		m.leader(0)
		var asking sync.WaitGroup
		t.Cleanup(asking.Wait)
		asking.Go(func() { m.wants(round*60, round*60+60) })
		pgtest.Eventually(t, patience, "some are acknowledged", func() bool { return len(m.acknowledged()) >= round*60+20 })
		gone()
		if round != 1 {
			// Not what is counted from here on: an answer given before may be on its way.
			died, rejected := time.Now(), m.refusals(http.StatusServiceUnavailable)
			pgtest.Eventually(t, patience, "intents are rejected", func() bool { return m.refusals(http.StatusServiceUnavailable) > rejected })
			if body, _ := numbered(round*60 + 59); m.asksAll(body) || !m.asksInVain(died) {
				t.Error("accepted without a database")
			}
			if err := server.StartAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		asking.Wait()
	}
	judge(t, chain, db, m.acknowledged())
}

// asksAll tells whether any node takes it.
func (m *team) asksAll(body string) bool {
	return slices.ContainsFunc(m.up(), func(api string) bool {
		status, _ := ask(api, body)
		return status == http.StatusAccepted
	})
}
