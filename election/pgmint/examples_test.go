package pgmint_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
)

// Each example compiles, does its work, and hands over to a second copy of itself when it is stopped.
func TestExamples(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	for name, says := range map[string]string{"ledger": "paid ", "mailer": "mailed "} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), name)
			if out, err := exec.Command("go", "build", "-o", program, "github.com/conchhq/conch/examples/"+name).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			url := pgtest.New(t).URL
			first, heard := runExample(t, program, url)
			expect(t, heard, says, "epoch 1")
			_, heard2 := runExample(t, program, url)
			if err := first.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			expect(t, heard2, says, "epoch 2")
		})
	}
}

func runExample(t *testing.T, program, url string) (*exec.Cmd, <-chan string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "CONCH_DB_URL="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 1000)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-done
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", filepath.Base(program), err)
		}
	})
	return cmd, lines
}

func expect(t *testing.T, lines <-chan string, parts ...string) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		select {
		case line := <-lines:
			found := true
			for _, p := range parts {
				found = found && strings.Contains(line, p)
			}
			if found {
				return
			}
		case <-deadline:
			t.Fatalf("got no line with %q, want one", parts)
		}
	}
}
