package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// The modes of a PgBouncer.
const (
	SessionMode     = "session"
	TransactionMode = "transaction"
	StatementMode   = "statement"
)

const (
	// bouncerPort is only part of the socket's file name: there is no TCP port.
	bouncerPort = 6432
	// grace is how long PgBouncer may take to end by itself.
	grace = 5 * time.Second
)

// PgBouncer is a private pooler in front of a private server.
type PgBouncer struct {
	dir, file string
	log       locked
}

// PgBouncer starts a pooler in front of the server of this test binary. It stops when the
// test ends. more are further lines of its configuration, such as "server_round_robin = 1".
func (db *DB) PgBouncer(t testing.TB, mode string, more ...string) *PgBouncer {
	t.Helper()
	shared.Lock()
	server := shared.server
	shared.Unlock()
	return StartPgBouncer(t, server, mode, more...)
}

// StartPgBouncer starts a pooler in front of a server made by Own.
func StartPgBouncer(t testing.TB, server *postmaster.Server, mode string, more ...string) *PgBouncer {
	t.Helper()
	program := findPgBouncer(t)
	dir, err := os.MkdirTemp(filepath.Dir(server.SocketPath()), "b-") //nolint:usetesting // the pooler's user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := &PgBouncer{dir: dir, file: filepath.Join(dir, "pgbouncer.ini")}
	text := fmt.Sprintf(`[databases]
* = host=%s port=%s
[pgbouncer]
unix_socket_dir = %s
listen_port = %d
auth_type = trust
auth_file = %s
pool_mode = %s
default_pool_size = 100
max_client_conn = 1000
server_login_retry = 1
`, filepath.Dir(server.SocketPath()), filepath.Ext(server.SocketPath())[1:], dir, bouncerPort, filepath.Join(dir, "users"), mode)
	text += strings.Join(more, "\n") + "\n"
	for path, content := range map[string]string{b.file: text, filepath.Join(dir, "users"): `"` + postmaster.Superuser + `" ""` + "\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := server.Give(path); err != nil {
			t.Fatal(err)
		}
	}
	if err := server.Give(dir); err != nil {
		t.Fatal(err)
	}
	b.run(t, program, server)
	return b
}

// run starts the pooler under a shell, which ends it when its input, and so this process, ends.
func (b *PgBouncer) run(t testing.TB, program string, server *postmaster.Server) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", `"$0" "$1" & read _; kill $!; wait $!`, program, b.file) //nolint:noctx // the cleanup below ends it
	cmd.Dir, cmd.Stdout, cmd.Stderr = "/", &b.log, &b.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: owner(t, server.DataDir())}
	leash, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := proctest.Start(t, cmd)
	t.Cleanup(func() {
		_ = leash.Close()
		select {
		case <-p.Gone():
		case <-time.After(grace): // newer versions wait for their clients, and a test may have left some
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			p.Wait(patience)
		}
		if t.Failed() {
			t.Logf("the log of PgBouncer:\n%s", b.log.String())
		}
	})
	Eventually(t, patience, "PgBouncer is up", func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "unix", b.SocketPath())
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
}

// SocketPath returns the path of its socket, for a proxy to dial.
func (b *PgBouncer) SocketPath() string {
	return filepath.Join(b.dir, ".s.PGSQL."+strconv.Itoa(bouncerPort))
}

// URL returns a URL of the database through the pooler.
func (b *PgBouncer) URL(db string) string {
	query := url.Values{"host": {b.dir}, "port": {strconv.Itoa(bouncerPort)}}
	return (&url.URL{Scheme: "postgres", User: url.User(postmaster.Superuser), Path: "/" + db, RawQuery: query.Encode()}).String()
}

func findPgBouncer(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"pgbouncer", "/usr/sbin/pgbouncer"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	runtest.Missing(t, "there is no pgbouncer here: run scripts/proxies.sh, or install it (Debian: apt-get install pgbouncer)")
	return ""
}

// owner returns the credentials of a folder's owner, or nil if that is the user of this process.
func owner(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) == os.Geteuid() {
		return nil
	}
	return &syscall.Credential{Uid: stat.Uid, Gid: stat.Gid}
}

type locked struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
