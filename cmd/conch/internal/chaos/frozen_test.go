//go:build linux

package chaos

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

func exec1(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, sql)
	return err
}

// frozenEnv makes the test binary a client that fences and then waits to commit.
const frozenEnv = "CONCH_TEST_FROZEN_SCOPE"

// frozenClient is its life: it inserts a row that must never be seen, fences it
// under the current epoch, says so, and commits when told to.
func frozenClient() {
	ctx := context.Background()
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	conn, err := pgx.Connect(ctx, os.Getenv("CONCH_DB_URL"))
	if err != nil {
		say("failed: %v", err)
		return
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		say("failed: %v", err)
		return
	}
	_, err = tx.Exec(ctx, `INSERT INTO ledger (seq, epoch, term, node) SELECT 0, epoch, term, 'frozen' FROM conch.leadership WHERE scope = $1`, os.Getenv(frozenEnv))
	if err == nil {
		_, err = tx.Exec(ctx, `SELECT conch.fence(scope, epoch, term) FROM conch.leadership WHERE scope = $1`, os.Getenv(frozenEnv))
	}
	if err != nil {
		say("failed: %v", err)
		return
	}
	say("fenced")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := tx.Commit(ctx); err != nil {
		say("refused: %v", err)
		return
	}
	say("committed")
}

type frozen struct {
	*testing.T
	cmd   *exec.Cmd
	stdin interface{ Write([]byte) (int, error) }
	lines chan string
}

func startFrozen(t *testing.T, url, scope string) *frozen {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), frozenEnv+"="+scope, "CONCH_DB_URL="+url)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := &frozen{T: t, cmd: cmd, stdin: stdin, lines: make(chan string, 10)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := bufio.NewScanner(stdout); s.Scan(); {
			f.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-done
		_ = cmd.Wait()
	})
	return f
}

func (f *frozen) await(prefix string) {
	f.Helper()
	select {
	case line := <-f.lines:
		if !strings.HasPrefix(line, prefix) {
			f.Fatalf("the client says %q, want %q", line, prefix)
		}
	case <-time.After(30 * time.Second):
		f.Fatalf("the client does not say %q", prefix)
	}
}

func (f *frozen) signal(sig syscall.Signal) { _ = f.cmd.Process.Signal(sig) }

func (f *frozen) commit() {
	f.Helper()
	if _, err := f.stdin.Write([]byte("\n")); err != nil {
		f.Fatal(err)
	}
}
