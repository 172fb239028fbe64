package pgmint_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
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

// Each Do runs its function once, one at a time, under a new epoch, and returns its error.
func TestDo(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	var inside, ran atomic.Int32
	epochs := make(chan int64, 4)
	var all sync.WaitGroup
	for range cap(epochs) {
		all.Go(func() {
			err := pgmint.Do(t.Context(), m, "s", func(_ context.Context, l election.Leadership) error {
				if inside.Add(1) > 1 {
					t.Error("two functions run at once")
				}
				defer inside.Add(-1)
				ran.Add(1)
				epochs <- l.Token.Epoch
				return l.Gate.Do(t.Context(), fence.Act, time.Second, func(context.Context, fence.Token) error { return nil })
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	pgtest.Within(t, 2*time.Minute, "all have run", all.Wait)
	close(epochs)
	seen := map[int64]bool{}
	for e := range epochs {
		seen[e] = true
	}
	if ran.Load() != 4 || len(seen) != 4 {
		t.Errorf("got %d runs under the epochs %v, want 4 of each", ran.Load(), seen)
	}
	broken := errors.New("broken")
	if err := pgmint.Do(t.Context(), m, "s", func(context.Context, election.Leadership) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("f failed: Do returned %v, want its error", err)
	}
}

// TryDo names the leader without waiting, and Do waits until its context ends. Neither runs f then.
func TestTryDo(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	m := newMint(t, db.URL)
	never := func(context.Context, election.Leadership) error { t.Error("the function ran"); return nil }
	leads, over := make(chan struct{}), make(chan error, 1)
	ctx, end := context.WithCancel(t.Context())
	go func() {
		over <- pgmint.TryDo(ctx, m, "s", func(ctx context.Context, _ election.Leadership) error {
			close(leads)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	pgtest.Within(t, time.Minute, "the first leads", func() { <-leads })
	if err := pgmint.TryDo(t.Context(), m, "s", never); !errors.Is(err, pgmint.ErrHeld) || !strings.Contains(err.Error(), `"s" is led by `) {
		t.Errorf("another process leads: TryDo returned %v, want ErrHeld with the leader", err)
	}
	brief, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := pgmint.Do(brief, m, "s", never); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the context ended: Do returned %v, want DeadlineExceeded", err)
	}
	end()
	pgtest.Within(t, time.Minute, "the first ends", func() {
		if err := <-over; !errors.Is(err, context.Canceled) {
			t.Errorf("the first TryDo returned %v, want Canceled", err)
		}
	})
}

// Do returns an error if the leadership ends before f does, although f returns none.
func TestDoThatIsDeposed(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	c := db.Connect(t)
	err := pgmint.Do(t.Context(), newMint(t, db.URL), "s", func(ctx context.Context, _ election.Leadership) error {
		if _, err := c.Exec(ctx, `SELECT conch.advance('s', 500, 'ops')`); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return nil
	})
	if !errors.Is(err, election.ErrDeposed) {
		t.Errorf("got %v, want ErrDeposed", err)
	}
}
