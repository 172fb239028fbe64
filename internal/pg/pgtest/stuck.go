package pgtest

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

const (
	// reporting is the time before the limit of the go command at which tests that still run count as stuck.
	reporting = 20 * time.Second
	// asking limits the questions to one server, which may be what hangs.
	asking = 3 * time.Second
)

// running has the servers of this test binary.
var running struct {
	sync.Mutex
	servers []*postmaster.Server
}

func started(s *postmaster.Server) {
	running.Lock()
	defer running.Unlock()
	running.servers = append(running.servers, s)
}

func gone(s *postmaster.Server) {
	running.Lock()
	defer running.Unlock()
	running.servers = slices.DeleteFunc(running.servers, func(other *postmaster.Server) bool { return other == s })
}

// watch ends a test binary whose tests are stuck, shortly before the go command would (-timeout), and says why: the go
// command prints the stacks of all goroutines, and nothing of the servers, for which most of them wait.
func watch() (stop func()) {
	if !flag.Parsed() {
		flag.Parse()
	}
	limit, ok := flag.Lookup("test.timeout").Value.(flag.Getter).Get().(time.Duration)
	if !ok || limit <= 2*reporting {
		return func() {}
	}
	timer := time.AfterFunc(limit-reporting, func() {
		report(os.Stderr)
		os.Exit(1) // the servers end with this program
	})
	return func() { timer.Stop() }
}

// report writes where the tests are, and what the servers do for them.
func report(to io.Writer) {
	stacks := make([]byte, 16<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	_, _ = fmt.Fprintln(to, "pgtest: the tests are stuck. They are at:")
	for stack := range bytes.SplitSeq(stacks, []byte("\n\n")) {
		if bytes.Contains(stack, []byte("_test.go:")) && !bytes.Contains(stack, []byte("testing.(*T).Parallel(")) {
			_, _ = fmt.Fprintf(to, "\n%s\n", stack)
		}
	}
	running.Lock()
	servers := slices.Clone(running.servers)
	running.Unlock()
	for _, s := range servers {
		sessions, err := activity(s)
		_, _ = fmt.Fprintf(to, "\npgtest: the sessions of the server in %s, error %v:\n", s.DataDir(), err)
		for _, line := range sessions {
			_, _ = fmt.Fprintln(to, line)
		}
	}
}

func activity(s *postmaster.Server) (lines []string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), asking)
	defer cancel()
	conn, err := connect(ctx, pg.Config{URL: s.URL("postgres")})
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	rows, _ := conn.Query(ctx, `
		SELECT concat_ws(' ', pid, datname, backend_type, state, 'for', date_trunc('milliseconds', clock_timestamp() - state_change), 'waits for', wait_event_type, wait_event,
		                 'held by', nullif(pg_blocking_pids(pid), '{}'), 'xid', backend_xid, '|', left(regexp_replace(query, '\s+', ' ', 'g'), 300))
		  FROM pg_stat_activity WHERE pid <> pg_backend_pid() ORDER BY pid`) // they have its error
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
