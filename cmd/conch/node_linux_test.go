package main_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Two commands in one node, and the keeper of one is killed: whatever it left is
// gone, and both roles are at work again, here or elsewhere.
func TestAKilledKeeperAmongSeveral(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	roles := "[election]\nlease = \"1s\"\n"
	for _, name := range []string{"a", "b"} {
		roles += fmt.Sprintf("[[roles]]\nname = %q\ncommand = ['sh', '-c', 'echo at work %s $CONCH_EPOCH; exec sleep 1000']\n", name, name)
	}
	n := startDaemon(t, "n1", db.URL, roles)
	n.says("at work a 1")
	n.says("at work b 1")
	killed := 0
	for _, p := range descendants(t, n.cmd.Process.Pid) {
		if strings.Contains(p.command, "keeper") && strings.Contains(p.command, "at work a") {
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			killed++
		}
	}
	if killed != 1 {
		t.Fatalf("%d keepers of a found", killed)
	}
	n.says("leadership draining", "scope", "a", "reason", "the role's function returned: the keeper of the command was killed, and the command with it")
	n.says("at work a 2")
	pgtest.Eventually(t, patience, "b is at work", func() bool {
		for _, p := range descendants(t, n.cmd.Process.Pid) {
			if strings.HasPrefix(p.command, "sleep 1000") && p.alive() {
				return true
			}
		}
		return false
	})
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

// A node that is killed takes its command with it, and another node goes on.
func TestAKilledNodeTakesItsCommandWithIt(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	const role = "[[roles]]\nname = \"a\"\nlease = \"1s\"\ncommand = ['sh', '-c', 'echo at work $CONCH_EPOCH; sleep 1000 & exec sleep 1000']\n"
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
