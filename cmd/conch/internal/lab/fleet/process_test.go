//go:build unix

package fleet

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func launched(t *testing.T, linger time.Duration, script string) (heard []News) {
	t.Helper()
	l := NewLauncher()
	defer l.Close()
	l.Linger = linger
	news := make(chan News)
	p, err := l.Launch("/bin/sh", []string{"-c", script}, []string{"CONCH_OF=chaos"}, func(n News) { news <- n })
	if err != nil {
		t.Fatal(err)
	}
	defer p.Signal(syscall.SIGKILL)
	timer := time.NewTimer(30 * time.Second)
	defer timer.Stop()
	for {
		select {
		case n := <-news:
			if heard = append(heard, n); n.Ended {
				return heard
			}
		case <-timer.C:
			t.Fatalf("its end was not reported; got %+v", heard)
		}
	}
}

// A descendant that lives on does not delay the report for ever.
func TestAnEndIsReportedThoughADescendantLivesOn(t *testing.T) {
	// The test waits this long; a shorter time might lose output from before the end.
	heard := launched(t, time.Second, `sleep 60 & printf '{"kind":"%s"}\n' $!; exit 3`)
	if len(heard) != 2 || heard[1].Code != 3 {
		t.Fatalf("got %+v, want a report and the end with code 3", heard)
	}
	pid, err := strconv.Atoi(string(heard[0].Report.Kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the descendant did not live on: %v", err)
	}
}

// Within Linger the end is reported only after the output is closed.
func TestAnEndIsReportedAfterTheOutput(t *testing.T) {
	heard := launched(t, time.Minute, `(while kill -0 $$; do :; done; echo '{"kind":"late"}') & exit 0`)
	if len(heard) != 2 || heard[0].Report.Kind != "late" || heard[1].Code != 0 {
		t.Errorf("got %+v, want the late report and the end with code 0", heard)
	}
}

func TestACallersSettingsAreRemoved(t *testing.T) {
	t.Setenv("CONCH_LOCKS", "process")
	t.Setenv("UNCONCH_LOCKS", "mine")
	heard := launched(t, time.Minute, `printf '{"kind":"%s"}\n' "$CONCH_LOCKS$CONCH_OF$UNCONCH_LOCKS"`)
	if len(heard) != 2 || heard[0].Report.Kind != "chaosmine" {
		t.Errorf("it sees %+v, want its own CONCH_OF and the caller's UNCONCH_LOCKS only", heard)
	}
}

func TestASignalLeavesNoCode(t *testing.T) {
	if heard := launched(t, time.Minute, `kill -9 $$`); len(heard) != 1 || heard[0].Code != -1 {
		t.Errorf("got %+v, want the end with code -1", heard)
	}
}

func TestReportsAreSplitByLines(t *testing.T) {
	var said []string
	r := reports{tell: func(w worker.Report) { said = append(said, w.Node) }}
	for _, part := range []string{`{"node"`, ":\"a\"}\n{\"node\":\"b\"}\nno report\n", `{"node":"c"}`, "\n", `{"node":"d"`} {
		if n, err := r.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(said) != 3 || said[0]+said[1]+said[2] != "abc" {
		t.Errorf("got reports of %q, want a, b and c", said)
	}
	if _, _ = r.Write(make([]byte, longestLine)); r.rest != nil {
		t.Errorf("%d bytes without a line end are kept", len(r.rest))
	}
}

func TestLastWords(t *testing.T) {
	var l LastLine
	for _, c := range []struct{ text, want string }{
		{"first\nsecond\n\n", "second"},
		{"\n", "second"},
		{"third", "third"},
		{"panic: no\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: no"},
		{"\t/x/main.go:18 +0x1d\nexit status 2\n", "panic: no"},
	} {
		if _, _ = l.Write([]byte(c.text)); l.String() != c.want {
			t.Errorf("after %q: %q, want %q", c.text, l.String(), c.want)
		}
	}
}
