//go:build unix

package fleet

import (
	"context"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func launched(t *testing.T, linger time.Duration, script string) (heard []News) {
	t.Helper()
	l := NewLauncher()
	defer l.Close()
	l.Linger = linger
	news := make(chan News)
	p, err := l.Launch(Command{Program: "/bin/sh", Args: []string{"-c", script}, Env: []string{"CONCH_OF=chaos"}, Tell: func(n News) { news <- n }})
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
	heard := launched(t, time.Second, `sleep 60 & echo $!; exit 3`)
	if len(heard) != 2 || heard[1].From.Code() != 3 {
		t.Fatalf("got %+v, want a line and the end with code 3", heard)
	}
	pid, err := strconv.Atoi(string(heard[0].Line))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("the descendant did not live on: %v", err)
	}
}

// Within Linger the end is reported only after the output is closed.
func TestAnEndIsReportedAfterTheOutput(t *testing.T) {
	heard := launched(t, time.Minute, `(while kill -0 $$; do :; done; echo late) & exit 0`)
	if len(heard) != 2 || string(heard[0].Line) != "late" || heard[1].From.Code() != 0 {
		t.Errorf("got %+v, want the late line and the end with code 0", heard)
	}
}

func TestACallersSettingsAreRemoved(t *testing.T) {
	t.Setenv("CONCH_LOCKS", "process")
	t.Setenv("UNCONCH_LOCKS", "mine")
	t.Setenv("PGHOST", "elsewhere")
	heard := launched(t, time.Minute, `echo "$CONCH_LOCKS$CONCH_OF$UNCONCH_LOCKS$PGHOST"`)
	if len(heard) != 2 || string(heard[0].Line) != "chaosmine" {
		t.Errorf("it sees %+v, want its own CONCH_OF and the caller's UNCONCH_LOCKS only", heard)
	}
}

func TestASignalLeavesNoCode(t *testing.T) {
	if heard := launched(t, time.Minute, `kill -9 $$`); len(heard) != 1 || heard[0].From.Code() != -1 {
		t.Errorf("got %+v, want the end with code -1", heard)
	}
}

// All processes end: those that do as they are asked, and also one that is stopped and one that does not listen.
func TestAllEnd(t *testing.T) {
	l := NewLauncher()
	defer l.Close()
	start := func(script string) *Process {
		t.Helper()
		up := make(chan struct{})
		p, err := l.Launch(Command{Program: "/bin/sh", Args: []string{"-c", script}, Tell: func(n News) {
			if !n.Ended {
				close(up)
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		<-up
		return p
	}
	const obeys, deaf = "echo up; exec sleep 60", "trap '' TERM; echo up; while :; do :; done"
	one, stopped := start(obeys), start(obeys)
	stopped.Signal(syscall.SIGSTOP)
	if EndAll(time.Minute, one, stopped) || one.Alive() || stopped.Alive() {
		t.Error("one of two processes that obey was killed, or lives")
	}
	if two := start(deaf); !two.End(20*time.Millisecond) || two.Alive() || two.Code() != -1 {
		t.Error("a process that does not listen was not killed")
	}
	if one.End(time.Minute) {
		t.Error("a process that has ended was killed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if p := start(obeys); p.Wait(ctx) == nil || !p.End(0) && p.Alive() {
		t.Error("a process that lives is said to have ended, or lives after its end")
	}
}

func TestLinesAreWhole(t *testing.T) {
	var said []string
	w := Lines(func(line []byte) { said = append(said, string(line)) })
	for _, part := range []string{"a", "b\nc\n\n", "d", "\n", "rest"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !slices.Equal(said, []string{"ab", "c", "", "d"}) {
		t.Errorf("got the lines %q", said)
	}
	if _, _ = w.Write(make([]byte, longestLine)); w.(*lines).rest != nil {
		t.Error("a line without an end is kept")
	}
}

// What a command prints is returned whole, and one that fails says why.
func TestOutput(t *testing.T) {
	l := NewLauncher()
	defer l.Close()
	out, err := l.Output(t.Context(), "/bin/sh", []string{"-c", "echo one; echo $CONCH_OF; echo aside >&2"}, []string{"CONCH_OF=two"})
	if err != nil || string(out) != "one\ntwo\n" {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := l.Output(t.Context(), "/bin/sh", []string{"-c", "echo no such thing >&2; exit 2"}, nil); err == nil || err.Error() != "no such thing" {
		t.Errorf("got %v, want its last words", err)
	}
	if _, err := l.Output(t.Context(), "/nowhere", nil, nil); err == nil {
		t.Error("a program that is not there has run")
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
