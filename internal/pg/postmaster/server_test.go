package postmaster_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/proctest"
)

const patience = 20 * time.Second

// victimEnv makes this test binary run victim instead of the tests.
const victimEnv = "POSTMASTER_TEST_VICTIM"

func TestMain(m *testing.M) {
	if os.Getenv(victimEnv) != "" {
		victim()
		return
	}
	pgtest.Main(m)
}

func query(t *testing.T, url, sql string) (got string) {
	t.Helper()
	conn := pgtest.Connect(t, pg.Config{URL: url})
	if err := conn.QueryRow(t.Context(), sql).Scan(&got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestASocketAndNoPort(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{Settings: map[string]string{"work_mem": "5MB"}})
	url := server.URL("postgres")
	if got := query(t, url, "SELECT current_setting('listen_addresses')"); got != "" {
		t.Errorf("listen_addresses is %q, want none", got)
	}
	if got := query(t, url, "SELECT current_setting('work_mem')"); got != "5MB" {
		t.Errorf("work_mem is %s, want 5MB", got)
	}
	if server.TCPAddr() != "" {
		t.Errorf("TCPAddr is %s, want none", server.TCPAddr())
	}
}

func TestTheServersEnvironment(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{Env: []string{"CONCH_TEST_WORD=here"}})
	got, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", server.PID()))
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("no /proc here")
	}
	if err != nil || !strings.Contains(string(got), "CONCH_TEST_WORD=here") {
		t.Errorf("the environment is %q, want CONCH_TEST_WORD in it (error %v)", got, err)
	}
}

func TestPsqlTakesTheURL(t *testing.T) {
	t.Parallel()
	bin, err := postmaster.Binaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	psql := filepath.Join(bin, "psql")
	if _, err := os.Stat(psql); err != nil {
		t.Skip("there is no psql beside the server programs")
	}
	cmd := exec.Command(psql, "-XAtc", "SELECT current_user", pgtest.Own(t, postmaster.Config{}).URL("postgres"))
	out, err := proctest.Output(t, cmd, patience)
	if err != nil || strings.TrimSpace(out) != postmaster.Superuser {
		t.Fatalf("psql printed %s, want %s (error %v)", out, postmaster.Superuser, err)
	}
}

func TestACommitSurvivesKill9(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{Fsync: true, TCP: true})
	conn := pgtest.Connect(t, pg.Config{URL: server.TCPURL("postgres")})
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 'here'::text AS word"); err != nil {
		t.Fatal(err)
	}
	gone := server.Gone()
	server.Kill9()
	select {
	case <-gone:
	default:
		t.Fatal("Kill9 returned before all backends were gone")
	}
	if err := conn.Ping(t.Context()); !pg.IsLost(err) {
		t.Fatalf("after Kill9 the ping returned %v, want a lost connection", err)
	}
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The URL is the same: the server keeps port and socket.
	if got := query(t, server.TCPURL("postgres"), "SELECT word FROM kept"); got != "here" {
		t.Fatalf("the row is %q, want %q", got, "here")
	}
}

func TestRestartFast(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	conn := pgtest.Connect(t, pg.Config{URL: server.URL("postgres")})
	first := server.PID()
	if err := server.RestartFast(t.Context()); err != nil {
		t.Fatal(err)
	}
	if server.PID() == first {
		t.Errorf("the postmaster is %d before and after the restart", first)
	}
	if err := conn.Ping(t.Context()); !pg.IsLost(err) {
		t.Errorf("after the restart the ping returned %v, want a lost connection", err)
	}
	query(t, server.URL("postgres"), "SELECT 'up'")
}

func TestStopRemovesTheFolder(t *testing.T) {
	t.Parallel()
	server, err := postmaster.Start(t.Context(), postmaster.Config{})
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Dir(server.DataDir())
	if err := errors.Join(server.Stop(), server.Stop()); err != nil { // the second call does nothing
		t.Fatal(err)
	}
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s is still there: %v", home, err)
	}
}

// The caller's folder must be empty and may have a long path; the server's user must reach it.
func TestAFolderOfTheCallers(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := postmaster.Start(t.Context(), postmaster.Config{Dir: full}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Fatalf("Start in a full folder returned %v, want an error with %q", err, "not empty")
	}
	if _, err := os.Stat(filepath.Join(full, "precious")); err != nil {
		t.Fatal(err)
	}

	open, err := os.MkdirTemp("/tmp", "conch-postmaster-test-") //nolint:usetesting // the server's user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(open) })
	closed := filepath.Join(open, "closed")
	if err := errors.Join(os.Chmod(open, 0o755), os.Mkdir(closed, 0o700)); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(open, strings.Repeat("long", 30)) // too long for a socket
	query(t, pgtest.Own(t, postmaster.Config{Dir: own}).URL("postgres"), "SELECT 'up'")
	if os.Geteuid() != 0 {
		return
	}
	_, err = postmaster.Start(t.Context(), postmaster.Config{Dir: filepath.Join(closed, "pg")})
	if err == nil || !strings.Contains(err.Error(), "cannot enter "+closed) {
		t.Fatalf("Start in a closed folder returned %v, want an error that names %s", err, closed)
	}
}

func TestAFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := postmaster.Start(t.Context(), postmaster.Config{Settings: map[string]string{"wal_level": "nonsense"}})
	var start *postmaster.StartError
	if !errors.As(err, &start) || !strings.Contains(start.Error(), "postgresql.conf") && !strings.Contains(start.Error(), "wal_level") {
		t.Fatalf("Start returned %v, want a *StartError about wal_level", err)
	}
}

// victim starts a server, prints its pid and socket, and waits to be killed.
func victim() {
	server, err := postmaster.Start(context.Background(), postmaster.Config{})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, "failed:", err)
		return
	}
	_, _ = fmt.Fprintln(os.Stdout, server.PID(), server.SocketPath())
	select {}
}

// killed runs a victim, kills it once its server runs, and returns the server's pid and socket.
func killed(t *testing.T, env ...string) (pid int, socket string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), victimEnv+"=1"), env...)
	program := proctest.Listen(t, cmd)
	if _, err := fmt.Sscan(program.Says(patience, ""), &pid, &socket); err != nil {
		t.Fatal(err)
	}
	program.Kill()
	program.Wait(patience)
	return pid, socket
}

func TestTheServerDiesWithItsProgram(t *testing.T) {
	t.Parallel()
	pid, socket := killed(t)
	if !postmaster.DiesWithProgram {
		_ = syscall.Kill(pid, syscall.SIGQUIT)
	}
	pgtest.Eventually(t, patience, "the server of a killed program ends", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", socket)
		if err == nil {
			_ = conn.Close()
		}
		return err != nil
	})
	// The next Start, here or in another test binary, removes the folder.
	home := filepath.Dir(socket)
	pgtest.Own(t, postmaster.Config{})
	pgtest.Eventually(t, patience, home+" is gone", func() bool {
		_, err := os.Stat(home)
		return errors.Is(err, os.ErrNotExist)
	})
}

// A template outlives its programs, also those that are killed.
func TestProgramsShareATemplate(t *testing.T) {
	t.Parallel()
	dir, err := postmaster.Shared("conch-template-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if postmaster.SharedEnv != proctest.SharedEnv {
		t.Errorf("%s is not %s: a run of the tests has one folder", postmaster.SharedEnv, proctest.SharedEnv)
	}
	version := func() os.FileInfo {
		t.Helper()
		_, socket := killed(t, postmaster.SharedEnv+"="+dir)
		found, _ := filepath.Glob(filepath.Join(dir, "postgres", "*", "data", "PG_VERSION"))
		if len(found) != 1 {
			t.Fatalf("the folder of the template holds %q, want one cluster", found)
		}
		info, err := os.Stat(found[0])
		if err != nil || filepath.Dir(socket) == dir {
			t.Fatalf("%v, and the server's socket is %s, want it elsewhere", err, socket)
		}
		return info
	}
	if first, second := version(), version(); !os.SameFile(first, second) {
		t.Errorf("the second program made a cluster at %v, want that of the first, made at %v", second.ModTime(), first.ModTime())
	}
}

// A standby streams from the primary through a link that can be cut. After its promotion it
// has a new timeline and waits for no standby, although the primary is set to.
func TestAStandbyFollowsAndIsPromoted(t *testing.T) {
	t.Parallel()
	primary := pgtest.Own(t, postmaster.Config{MaxConnections: 40})
	conn := pgtest.Connect(t, pg.Config{URL: primary.URL("postgres")})
	link, _ := pgtest.Proxy(t, primary, "postgres")
	run := func(sql string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run("ALTER SYSTEM SET synchronous_standby_names = 'two'")
	standby := pgtest.Standby(t, primary, postmaster.Config{}, postmaster.Follow{Name: "two", Link: link.Addr()})
	read := pgtest.Connect(t, pg.Config{URL: standby.URL("postgres")})
	count := func() (n int) {
		if read.QueryRow(t.Context(), "SELECT count(*) FROM pg_tables WHERE tablename IN ('one', 'two')").Scan(&n) != nil {
			return -1
		}
		return n
	}
	run("CREATE TABLE one ()")
	pgtest.Eventually(t, patience, "the standby has the table", func() bool { return count() == 1 })
	link.Blackhole(tcpproxy.Both)
	run("CREATE TABLE two ()")
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	if count() != 1 {
		t.Errorf("the standby has %d tables, want only the one from before the cut", count())
	}
	if got := query(t, standby.URL("postgres"), "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"); got != "00000002" {
		t.Errorf("the timeline is %s, want 00000002", got)
	}
	if got := query(t, standby.URL("postgres"), "SHOW synchronous_standby_names"); got != "" {
		t.Errorf("synchronous_standby_names is %s, want none", got)
	}
	run("CREATE TABLE three ()") // the old primary does not know of the promotion
}
