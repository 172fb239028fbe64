package main_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
)

// Two commands in one node, and the keeper of one is killed: whatever it left is
// gone, its role is campaigned for again, and the other command does not notice.
func TestAKilledKeeperAmongSeveral(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	roles := "[election]\nlease = \"3s\"\n" // a busy machine may be late with a heartbeat
	for _, name := range []string{"a", "b"} {
		roles += fmt.Sprintf("[[roles]]\nname = %q\ncommand = ['sh', '-c', 'setsid sleep 1000 & echo at work %s $CONCH_EPOCH; exec sleep 1000']\n", name, name)
	}
	n := startDaemon(t, "n1", db.URL, roles)
	n.says("at work a 1")
	n.says("at work b 1")
	killed := below(t, n, "at work a")
	others := below(t, n, "at work b")
	if len(killed) < 3 || len(others) < 3 {
		t.Fatalf("only %+v and %+v: this test is blind", killed, others)
	}
	if err := syscall.Kill(killed[0].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n.says("leadership released", "scope", "a")
	for _, p := range killed {
		if p.alive() {
			t.Errorf("its keeper was killed and the scope is released, but it lives: %+v", p)
		}
	}
	n.says("leadership draining", "scope", "a", "reason", "the role ended: the keeper of the command was killed, and the command with it")
	n.says("at work a 2")
	for _, p := range others {
		if !p.alive() {
			t.Errorf("the keeper of a was killed, and this of b is dead: %+v", p)
		}
	}
	if n.count("leadership draining", "scope", "b") > 0 {
		t.Error("b was given up")
	}
	family := descendants(t, n.cmd.Process.Pid)
	if code := n.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for _, p := range family {
		if p.alive() {
			t.Errorf("it survived its node: %+v", p)
		}
	}
}

// below is the keeper of a command that has such arguments, and all below it.
func below(t *testing.T, n *daemon, arguments string) (found []relative) {
	t.Helper()
	for _, p := range descendants(t, n.cmd.Process.Pid) {
		if p.parent == n.cmd.Process.Pid && strings.Contains(p.command, arguments) {
			found = append([]relative{p}, descendants(t, p.pid)...)
		}
	}
	return found
}

// A node that is asked to end during a drain that was given an hour gives its command the time
// that it has itself, and still releases.
func TestStopDuringALongDrain(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	n := startDaemon(t, "n1", db.URL, `[[roles]]
name = "a"
lease = "2s"
drain_timeout = "2s"
command = ["sh", "-c", "trap '' TERM; echo at work; while :; do sleep 0.05; done"]
`)
	n.says("at work")
	drain := prepared(t, "--db", db.URL, "drain", "--scope", "a", "--timeout", "1h")
	proctest.Start(t, drain)
	n.says("leadership draining", "scope", "a")
	if err := n.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	happens(t, "the node ends", n.over)
	if code := n.cmd.ProcessState.ExitCode(); code != 0 || n.count("leadership released", "scope", "a") != 1 {
		t.Errorf("exit code %d, and it says:\n%s", code, n.text())
	}
}

// A node that is killed takes its command with it, and another node goes on.
func TestAKilledNodeTakesItsCommandWithIt(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	const role = "[[roles]]\nname = \"a\"\nlease = \"3s\"\ncommand = ['sh', '-c', 'echo at work $CONCH_EPOCH; sleep 1000 & exec sleep 1000']\n"
	one := startDaemon(t, "n1", db.URL, role)
	one.says("at work 1")
	two := startDaemon(t, "n2", db.URL, role)
	two.says("leadership following")
	family := descendants(t, one.cmd.Process.Pid)
	if len(family) < 3 {
		t.Fatalf("only %+v: this test is blind", family)
	}
	one.stop(syscall.SIGKILL)
	two.says("at work 2")
	for _, p := range family {
		if p.alive() {
			t.Errorf("it is still there while another works: %+v", p)
		}
	}
}
