//go:build unix

package main_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// A process keeps as many connections as docs/operations.md and doctor say. An application
// name in the URL is that of all of them.
func TestConnectionsOfANode(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	const api = "listen = \"127.0.0.1:0\"\n[election]\nlease = \"3s\"\n[[roles]]\nname = \"payments\"\n[[roles]]\nname = \"crons\"\n"
	conn := db.Connect(t)
	// of counts the connections with an application name.
	of := func(name string) (n int) {
		_ = conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = $1`, name).Scan(&n)
		return n
	}
	leads := startDaemon(t, "one", db.URL+"&application_name=one", api)
	leads.says("leadership acquired")
	follows := startDaemon(t, "two", db.URL+"&application_name=two", api)
	for _, d := range []*daemon{leads, follows} {
		answer, err := http.Get("http://" + fmt.Sprint(d.value("serving the API", "address")) + "/v1/scopes")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	http.DefaultClient.CloseIdleConnections()
	// A lock session, a listener for changes, a listener for commands and the connection that
	// answers them, and the API's reader. A follower waits for its leader on one more.
	pgtest.Eventually(t, patience, "a leader has five and a follower six", func() bool { return of("one") == 5 && of("two") == 6 })
	if doctor.NodeConnections < 6 {
		t.Errorf("doctor expects %d connections, want 6 or more", doctor.NodeConnections)
	}
}
