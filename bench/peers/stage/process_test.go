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

// A candidate is configured by its part alone.
func TestTheCallersSettingsReachNoCandidate(t *testing.T) {
	t.Parallel()
	kept := withoutSettings([]string{
		"PATH=/bin", "CONCH_LOCKS=process", "CONCH_DB_URL=postgres://elsewhere/", "PGHOST=elsewhere", "PGSSLMODE=require", "UNCONCH_LOCKS=mine", "HOME=/",
	})
	if want := []string{"PATH=/bin", "UNCONCH_LOCKS=mine", "HOME=/"}; !slices.Equal(kept, want) {
		t.Errorf("got %v, want %v", kept, want)
	}
}

// A candidate is over although a descendant keeps its stderr.
func TestADescendantDoesNotDelayTheEnd(t *testing.T) {
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
		t.Errorf("got ended %t with %q, want the word why", ended, words)
	}
}
