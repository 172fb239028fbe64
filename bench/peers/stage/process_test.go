//go:build linux

package stage

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What is measured is set up by its part alone.
func TestTheCallersSettingsReachNobody(t *testing.T) {
	t.Parallel()
	kept := foreign([]string{
		"PATH=/bin", "CONCH_LOCKS=process", "CONCH_DB_URL=postgres://elsewhere/", "PGHOST=elsewhere", "PGSSLMODE=require", "UNCONCH_LOCKS=mine", "HOME=/",
	})
	if want := []string{"PATH=/bin", "UNCONCH_LOCKS=mine", "HOME=/"}; !slices.Equal(kept, want) {
		t.Errorf("it sees %v, want %v", kept, want)
	}
}

// A candidate that has ended is over, although something that it has started keeps its stderr.
func TestWhatACandidateLeavesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	number := filepath.Join(t.TempDir(), "pid")
	p, err := launch("/bin/sh", []string{"-c", `sleep 1000 & echo $! >` + number + `; echo why >&2`}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(number)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if err := p.wait(t.Context(), time.Minute); err != nil {
		t.Fatal(err)
	}
	if words, ended := p.over(); !ended || words != "why" {
		t.Errorf("ended: %t, with %q", ended, words)
	}
}
