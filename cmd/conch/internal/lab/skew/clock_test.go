//go:build linux

package skew

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const asTeller = "CONCH_TEST_TELL_TIME"

// The test's own program is also the Go program whose clock is turned: for each line that it gets it says what time it is.
func TestMain(m *testing.M) {
	if os.Getenv(asTeller) != "" {
		begun := time.Now()
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			fmt.Println(time.Now().Unix(), time.Since(begun) < time.Hour)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// A Go program sees another time of day as soon as its clock is turned, and its other clocks go on.
func TestAGoProgramSeesIt(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cc"); err != nil {
		t.Skip(errNoCompiler)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	clock, err := New(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = clock.Remove() }()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if ldd, err := exec.CommandContext(ctx, "ldd", self).CombinedOutput(); err != nil || strings.Contains(string(ldd), "not a dynamic") {
		t.Skip("this program was built without cgo, and loads no library")
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Env = append(os.Environ(), asTeller+"=1")
	cmd.Env = append(cmd.Env, clock.Env()...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	for _, by := range []time.Duration{0, -2 * time.Hour, 365 * 24 * time.Hour, 0} {
		if err := clock.Set(by); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(in, "\n"); err != nil {
			t.Fatal(err)
		}
		var seconds int64
		var steady bool
		if _, err := fmt.Fscan(said, &seconds, &steady); err != nil {
			t.Fatal(err)
		}
		if off := time.Until(time.Unix(seconds, 0)); (off-by).Abs() > 10*time.Minute || !steady {
			t.Errorf("turned by %s, the program's clock is off by %s, and its steady clock goes on: %t", by, off, steady)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}
