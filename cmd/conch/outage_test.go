//go:build unix

package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
	"github.com/conchhq/conch/internal/runtest"
)

// runner starts conch run with a command that does nothing, and keeps its log.
func runner(t *testing.T, id, url, scope string) *daemon {
	t.Helper()
	d := &daemon{t: t, id: id}
	return d.launch("run", "--db", url, "--scope", scope, "--lease", "1s", "--log-level", "info", "--", "sh", "-c", "echo at work; exec sleep 1000")
}

// conch run logs an outage of the database as a node does: once in ten seconds however often it
// tries, on one line, with the reason, and once more when it is over.
func TestARunWithoutItsDatabase(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	db := migrated(t)
	proxy, url := db.Proxy(t)
	where, err := pgx.ParseConfig(db.URL)
	if err != nil {
		t.Fatal(err)
	}
	n := runner(t, "one", url, "s")
	n.says("at work")
	before := len(proxy.Trips())
	proxy.Retarget(filepath.Join(t.TempDir(), "nobody"))
	proxy.Reset()
	n.says("DATABASE UNREACHABLE", "role", "FOLLOWER", "level", "ERROR")
	pgtest.Eventually(t, patience, "it tries many times", func() bool { return len(proxy.Trips()) > before+20 })
	proxy.Retarget(filepath.Join(where.Host, fmt.Sprintf(".s.PGSQL.%d", where.Port)))
	n.says("database recovered", "level", "WARN")

	n.mu.Lock()
	defer n.mu.Unlock()
	var last time.Time
	for _, line := range n.log {
		for key, value := range line {
			if text, _ := value.(string); strings.Contains(text, "\n") {
				t.Errorf("%s is %q, want one line", key, text)
			}
		}
		if msg, _ := line["msg"].(string); line["level"] != "ERROR" || !strings.Contains(msg, "DATABASE UNREACHABLE") {
			continue
		}
		said, err := time.Parse(time.RFC3339Nano, line["time"].(string))
		if err != nil || said.Sub(last) < 9*time.Second {
			t.Errorf("the outage was logged again after %s, error %v; want 9s or more", said.Sub(last), err)
		}
		last = said
		if why, _ := line["error"].(string); !strings.HasPrefix(why, "the connection to ") || !strings.Contains(why, " is gone") {
			t.Errorf("the log says %q, want that the connection is gone", why)
		}
	}
}

// A process that was stopped for longer than its lease finds its session ended, and does not
// blame the database.
func TestAFrozenFollowerBlamesNobodyElse(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{TCP: true})
	conch(t, "--db", server.URL("postgres"), "migrate", "up").done(t)
	for scope, url := range map[string]string{"socket": server.URL("postgres"), "tcp": server.TCPURL("postgres")} {
		t.Run(scope, func(t *testing.T) {
			t.Parallel()
			runner(t, "one", url, scope).says("at work")
			two := runner(t, "two", url, scope)
			campaigns := func() bool {
				s := decode[[]map[string]any](t, conch(t, "--db", url, "status", "--json", "--scope", scope).done(t))
				return len(s[0]["candidates"].([]any)) == 2
			}
			two.says("leadership following")
			pgtest.Eventually(t, patience, "two campaigns", campaigns)
			if err := two.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			pgtest.Eventually(t, patience, "two has no session", func() bool { return !campaigns() })
			if err := two.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			two.says("SESSION LOST: this process was silent for longer than its lease", "level", "WARN")
			pgtest.Eventually(t, patience, "two campaigns again", campaigns)
			if two.count("DATABASE") > 0 || two.count("UNREACHABLE") > 0 {
				t.Error("the log blames the database, want only the lost session")
			}
		})
	}
}

// A run that never leads says so, or it would wait silently for ever.
func TestARunThatNeverLeads(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	d := &daemon{t: t, id: "never", env: []string{"CONCH_LEADER_ENABLED=false"}}
	d.launch("run", "--db", db.URL, "--scope", "s", "--", "true").says("CONCH_LEADER_ENABLED=false: this process never leads", "scope", "s")
	if code := d.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
}

// door is an address that leads to a server once the door is open.
type door struct {
	t       testing.TB
	address string
	to      string
	socket  *os.File // bound to the address; listens once it is open
}

// newDoor reserves an address at which nothing answers: a bound socket keeps the port, and
// refuses connections until it listens.
func newDoor(t testing.TB, to string) *door {
	t.Helper()
	syscall.ForkLock.RLock() // a process that starts now must not inherit the socket
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	d := &door{t: t, to: to, socket: os.NewFile(uintptr(fd), "door")}
	t.Cleanup(func() { _ = d.socket.Close() })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	d.address = fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
	return d
}

func (d *door) open() {
	d.t.Helper()
	if err := unix.Listen(int(d.socket.Fd()), unix.SOMAXCONN); err != nil {
		d.t.Fatal(err)
	}
	ln, err := net.FileListener(d.socket)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			in, err := ln.Accept()
			if err != nil {
				return
			}
			go d.pass(in)
		}
	}()
}

func (d *door) pass(in net.Conn) {
	defer func() { _ = in.Close() }()
	out, err := net.Dial("tcp", d.to)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	go func() { _, _ = io.Copy(out, in); _ = out.Close() }()
	_, _ = io.Copy(in, out)
}
