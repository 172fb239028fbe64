package main_test

import (
	"bytes"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
)

// A signal ends a simulation also within a run, which may have no end: the command says that it was interrupted.
func TestASimulationIsInterrupted(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	cmd := exec.Command(laboratory, "sim", "gossip", "--nodes", "5", "--rounds", "1000000000")
	cmd.Stderr = &said
	p := proctest.Listen(t, cmd)
	p.Says(time.Minute, "leads")
	p.Signal(syscall.SIGTERM)
	if code := p.Wait(time.Minute); code != 1 || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("it ends with code %d and says %q", code, said.String())
	}
}
