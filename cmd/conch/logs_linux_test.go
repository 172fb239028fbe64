package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// sync-first: the disk of a member is full. Its log is closed there, and conch log status says in plain words why and what to do; the node
// and the other members go on. On a good disk it comes back, at the next start of the node, as the member that it was.
func TestAMemberWhoseDiskFails(t *testing.T) {
	t.Parallel()
	s := newSiteWith(t, flags, 3, "n1", "n2", "n3")
	m := s.all[2]
	m.stop(syscall.SIGTERM)
	logs := filepath.Join(m.dir, "data", "logs")
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", logs, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("no file system can be mounted: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(logs, syscall.MNT_DETACH) })
	s.start(m)
	id := s.makes(s.all[0], "n1,n2,n3")
	store := m.logOf().Store
	closed := func() bool { return m.logOf().State == "failed" }
	for i := 0; !closed() && i < 200; i++ {
		s.all[i%2].goal(fmt.Sprintf(`{"op":"put","key":"k%d","value":%q}`, i, strings.Repeat("x", 30_000)))
	}
	pgtest.Eventually(t, longPatience, "its log is closed", closed)
	for _, args := range [][]string{{"log", "status"}, {"log", "status", "flags"}} {
		out := conch(t, append(args, "--node", m.api())...).done(t)
		for _, text := range []string{"failed", "the disk is full", "no space left on device", "make room on the disk of " + filepath.Join(logs, "flags.log"), "start this node again"} {
			if !strings.Contains(out, text) {
				t.Errorf("%s does not say %q: %s", strings.Join(args, " "), text, out)
			}
		}
	}
	m.says("the log is closed on this node until its next start")
	s.all[0].goal(`{"op":"put","key":"end","value":true}`)
	if err := syscall.Mount("tmpfs", logs, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if code := m.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("the node ends with code %d", code)
	}
	s.start(m)
	s.equal()
	if now := m.logOf(); !now.Decides || now.Store != store || now.ID != id {
		t.Errorf("it has come back as %+v", now)
	}
}
