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

// sync-first: the disk of a member is full. Its process ends with code 1 and one sentence that says which log and why, since nobody
// knows what is on the disk; the others go on, and on a good disk it comes back as the member that it was.
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
	ended := func() bool {
		select {
		case <-m.over:
			return true
		default:
			return false
		}
	}
	for i := 0; !ended() && i < 200; i++ {
		s.all[i%2].goal(fmt.Sprintf(`{"op":"put","key":"k%d","value":%q}`, i, strings.Repeat("x", 30_000)))
	}
	pgtest.Eventually(t, longPatience, "its process ends", ended)
	if code := m.cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("it ended with code %d, want 1", code)
	}
	m.says("log flags: the disk has failed to write")
	m.says("no space left on device")
	s.all[0].goal(`{"op":"put","key":"end","value":true}`)
	if err := syscall.Mount("tmpfs", logs, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	s.start(m)
	s.equal()
	if now := m.logOf(); !now.Decides || now.Store != store || now.ID != id {
		t.Errorf("it has come back as %+v", now)
	}
}
