package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
)

// A leader of conch run has little memory of its own: what is linked for a node's services, and not used by a run, starts
// nothing. The rest of what it takes are pages of the program, which all processes of a machine share.
func TestALeaderTakesLittleMemory(t *testing.T) {
	t.Parallel()
	db := migrated(t)
	cmd := prepared(t, "run", "--db", db.URL, "--scope", "s", "--", "sh", "-c", "echo at work; exec sleep 1000")
	cmd.Path = program // the race detector takes many times as much
	p := proctest.Listen(t, cmd)
	p.Says(patience, "at work")
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	kB := map[string]int{}
	for line := range strings.Lines(string(status)) {
		var n int
		if name, rest, is := strings.Cut(line, ":"); is {
			if _, err := fmt.Sscanf(rest, "%d kB", &n); err == nil {
				kB[name] = n
			}
		}
	}
	t.Logf("VmRSS %d kB, RssAnon %d kB, RssFile %d kB", kB["VmRSS"], kB["RssAnon"], kB["RssFile"])
	const most = 12 << 10 // three times what it is: with huge pages, the system rounds up
	if own := kB["RssAnon"]; own == 0 || own > most {
		t.Errorf("a leader has %d kB of its own, want at most %d", own, most)
	}
}
