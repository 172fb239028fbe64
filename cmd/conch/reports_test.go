//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// The example of package schedule makes a report at its times, and when it is killed another process goes on.
func TestReportsExample(t *testing.T) {
	t.Parallel()
	runtest.LongRun(t)
	example, err := proctest.Build("reports", "../../examples/reports")
	if err != nil {
		t.Fatal(err)
	}
	db := migrated(t)
	start := func() *proctest.Process {
		cmd := exec.Command(example)
		cmd.Env = append(os.Environ(), "CONCH_DB_URL="+db.URL)
		return proctest.Listen(t, cmd)
	}
	first := start()
	first.Says(patience, "under epoch 1")
	second := start()
	first.Kill()
	second.Says(patience, "under epoch 2")
}
