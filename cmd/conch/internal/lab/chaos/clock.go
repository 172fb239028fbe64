//go:build unix

package chaos

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

	"github.com/conchhq/conch/cmd/conch/internal/lab/pgrogue"
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

var errNoCompiler = errors.New("the library that turns the clock of Postgres alone has to be compiled, " +
	"and there is no C compiler here: apt-get install gcc libc6-dev")

// Clock turns the database's clock while it runs: a library that is loaded into Postgres alone
// adds the seconds in a file to the time.
type Clock struct{ dir, library, file string }

// NewClock makes a clock that shows the right time. The caller removes it.
func NewClock(ctx context.Context) (*Clock, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("the clock of Postgres alone can be turned on Linux only")
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
		return fmt.Errorf("compiling the library that turns the clock of Postgres: %w: %s", err, strings.TrimSpace(string(out)))
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

// works checks that a server started with the clock obeys it.
func (c *Clock) works(ctx context.Context, url string) error {
	if err := c.Set(time.Hour); err != nil {
		return err
	}
	now, err := pgrogue.Now(ctx, url)
	if err != nil {
		return err
	}
	if off := time.Until(now); off < 50*time.Minute {
		return fmt.Errorf("the database's clock cannot be turned here: it was turned by an hour and is off by %s", off.Round(time.Millisecond))
	}
	return c.Set(0)
}

// env returns the environment for the server; none for a nil clock.
func (c *Clock) env() []string {
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
