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
	"github.com/conchhq/conch/internal/runtest"
)

// The database is killed and comes back under load: nothing is acknowledged meanwhile, and what
// was acknowledged before or after is done once. (S21)
func TestTheDatabaseIsKilledUnderLoad(t *testing.T) {
	runtest.LongRun(t)
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
			died, accepted := time.Now(), false
			body, _ := numbered(round*60 + 59) // asked by this test: the crowd may be done
			pgtest.Eventually(t, patience, "every node rejects intents", func() bool {
				answers := m.answers(body)
				accepted = accepted || slices.Contains(answers, http.StatusAccepted)
				return len(answers) == len(m.nodes) && !slices.ContainsFunc(answers, func(status int) bool { return status != http.StatusServiceUnavailable })
			})
			if accepted || !m.asksInVain(died) {
				t.Error("a node accepted an intent without a database, want none")
			}
			if err := server.StartAgain(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		asking.Wait()
	}
	judge(t, chain, db, m.acknowledged())
}

// answers returns the status of each node's answer to one request.
func (m *team) answers(body string) (statuses []int) {
	for _, api := range m.up() {
		status, _ := ask(api, body)
		statuses = append(statuses, status)
	}
	return statuses
}
