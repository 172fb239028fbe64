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

// victimEnv makes this test binary a program that is killed with its server up.
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
		t.Errorf("listens on %q", got)
	}
	if got := query(t, url, "SELECT current_setting('work_mem')"); got != "5MB" {
		t.Errorf("work_mem %s", got)
	}
	if server.TCPAddr() != "" {
		t.Errorf("claims to be at %s", server.TCPAddr())
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
		t.Errorf("the environment is %q, %v", got, err)
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
		t.Skip("the server programs came without psql")
	}
	cmd := exec.Command(psql, "-XAtc", "SELECT current_user", pgtest.Own(t, postmaster.Config{}).URL("postgres"))
	out, err := proctest.Output(t, cmd, patience)
	if err != nil || strings.TrimSpace(out) != postmaster.Superuser {
		t.Fatalf("%s, %v", out, err)
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
		t.Fatalf("error %v", err)
	}
	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	// The same URL leads to it: port and socket are kept.
	if got := query(t, server.TCPURL("postgres"), "SELECT word FROM kept"); got != "here" {
		t.Fatalf("kept %q", got)
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
		t.Error("the same postmaster")
	}
	if err := conn.Ping(t.Context()); !pg.IsLost(err) {
		t.Errorf("the session outlived the restart: %v", err)
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
	if err := errors.Join(server.Stop(), server.Stop()); err != nil { // twice is fine
		t.Fatal(err)
	}
	if _, err := os.Stat(home); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("%s is still there: %v", home, err)
	}
}

// The folder is under TMPDIR's own 0700 parents when tests run as root, so this
// also shows the sentence about them; elsewhere the path is long for a socket.
func TestAFolderOfTheCallers(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := postmaster.Start(t.Context(), postmaster.Config{Dir: full}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Fatalf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(full, "precious")); err != nil {
		t.Fatal(err)
	}

	open, err := os.MkdirTemp("/tmp", "conch-postmaster-test-") //nolint:usetesting // t.TempDir is closed to the server's user
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
		t.Fatalf("error %v", err)
	}
}

func TestAFailedStartSaysWhy(t *testing.T) {
	t.Parallel()
	_, err := postmaster.Start(t.Context(), postmaster.Config{Settings: map[string]string{"wal_level": "nonsense"}})
	var start *postmaster.StartError
	if !errors.As(err, &start) || !strings.Contains(start.Error(), "postgresql.conf") && !strings.Contains(start.Error(), "wal_level") {
		t.Fatalf("error %v", err)
	}
}

// victim starts a server, says where it is, and waits to be killed.
func victim() {
	server, err := postmaster.Start(context.Background(), postmaster.Config{})
	if err != nil {
		_, _ = fmt.Fprintln(os.Stdout, "failed:", err)
		return
	}
	_, _ = fmt.Fprintln(os.Stdout, server.PID(), server.SocketPath())
	select {}
}

func TestTheServerDiesWithItsProgram(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"=1")
	program := proctest.Listen(t, cmd)
	var pid int
	var socket string
	if _, err := fmt.Sscan(program.Says(patience, ""), &pid, &socket); err != nil {
		t.Fatal(err)
	}
	program.Kill()
	program.Wait(patience)
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
	// Whoever starts next clears up what is left: we, or somebody else who is at it already.
	home := filepath.Dir(socket)
	pgtest.Own(t, postmaster.Config{})
	pgtest.Eventually(t, patience, home+" is gone", func() bool {
		_, err := os.Stat(home)
		return errors.Is(err, os.ErrNotExist)
	})
}

// A standby streams what the primary writes, through a link that can be cut; promoted,
// it has a timeline of its own and waits for no standby, though the primary was told to.
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
		t.Error("what was written behind the cut link is there")
	}
	if got := query(t, standby.URL("postgres"), "SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)"); got != "00000002" {
		t.Errorf("timeline %s", got)
	}
	if got := query(t, standby.URL("postgres"), "SHOW synchronous_standby_names"); got != "" {
		t.Errorf("waits for %s", got)
	}
	run("CREATE TABLE three ()") // the old primary knows nothing of it
}
