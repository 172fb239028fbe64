//go:build unix

// Package skew turns the wall clock of one program while it runs: a library that is compiled here and loaded into that
// program alone adds the seconds in a file to the time. The other clocks of the program go on, as when somebody sets the
// time of a machine.
//
// It turns the clock of C programs, such as Postgres, and of Go programs that were built with cgo. Whether it does is for
// the caller to see in what the program says.
package skew

import (
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/conchhq/conch/internal/pg/postmaster"
)

// skewSource replaces libfaketime, which was tried: while a process waits in epoll, libfaketime
// gives the true time to its signal handlers. Postgres reads the time in the handler of its
// timeouts, so a clock "one hour back" ended every session after a lease and one "ahead" ended
// none, unlike a clock that is really set.
//
//go:embed skew.c.txt
var skewSource string

// skewEnv names the file that holds the skew.
const skewEnv = "CONCH_CLOCK_SKEW"

// lastMoment is how long the compiler may keep its output open.
const lastMoment = 10 * time.Second

var errNoCompiler = errors.New("the library that turns the clock of one program has to be compiled, " +
	"and there is no C compiler here: apt-get install gcc libc6-dev")

// Clock is that of the programs that were started with its environment.
type Clock struct{ dir, library, file string }

// New makes a clock that shows the right time. The caller removes it.
func New(ctx context.Context) (*Clock, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("the clock of one program can be turned on Linux only")
	}
	compiler, err := exec.LookPath("cc")
	if err != nil {
		if compiler, err = exec.LookPath("gcc"); err != nil {
			return nil, errNoCompiler
		}
	}
	dir, err := postmaster.Shared("conch-clock-*")
	if err != nil {
		return nil, err
	}
	c := &Clock{dir: dir, library: filepath.Join(dir, "skew.so"), file: filepath.Join(dir, "skew")}
	if err := c.build(ctx, compiler); err != nil {
		return nil, errors.Join(err, c.Remove())
	}
	return c, nil
}

// build makes both files, readable by the user of the server.
func (c *Clock) build(ctx context.Context, compiler string) error {
	cmd := exec.CommandContext(ctx, compiler, "-shared", "-fPIC", "-O2", "-o", c.library, "-x", "c", "-")
	cmd.Stdin = strings.NewReader(skewSource)
	cmd.WaitDelay = lastMoment // the compiler's children share its output
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling the library that turns the clock: %w: %s", err, strings.TrimSpace(string(out)))
	}
	if err := os.WriteFile(c.file, make([]byte, 8), 0o600); err != nil {
		return err
	}
	return errors.Join(os.Chmod(c.library, 0o755), os.Chmod(c.file, 0o644)) //nolint:gosec // the server is another user
}

// Remove removes the files. A nil clock has none.
func (c *Clock) Remove() error {
	if c == nil {
		return nil
	}
	return os.RemoveAll(c.dir)
}

// Env returns what the environment of a program has to have; nothing for a nil clock.
func (c *Clock) Env() []string {
	if c == nil {
		return nil
	}
	return []string{"LD_PRELOAD=" + c.library, skewEnv + "=" + c.file}
}

// Set turns the clock from the right time. The eight bytes of the file are overwritten at once,
// since servers have mapped them.
func (c *Clock) Set(off time.Duration) error {
	file, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(int64(off/time.Second))), 0)
	return errors.Join(err, file.Close())
}
