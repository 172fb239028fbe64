//go:build unix

package stage_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/internal/fleet"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// actor is part of nothing but a play.
type actor struct{ stage.Player }

func played(t *testing.T, names ...string) *stage.Cast[*actor] {
	t.Helper()
	c := stage.NewCast[*actor](10)
	t.Cleanup(func() { c.End(0) })
	for _, name := range names {
		c.All = append(c.All, &actor{stage.Player{Name: name}})
	}
	return c
}

func start(t *testing.T, c *stage.Cast[*actor], a *actor, script string) {
	t.Helper()
	if err := c.Start(a, fleet.Command{Program: "/bin/sh", Args: []string{"-c", script}}); err != nil {
		t.Fatal(err)
	}
}

// hear waits for the next news.
func hear(t *testing.T, c *stage.Cast[*actor]) fleet.News {
	t.Helper()
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	select {
	case n := <-c.News:
		return n
	case <-timer.C:
		t.Fatal("nothing is heard")
		return fleet.News{}
	}
}

// A player that was killed is dead until it is due, and lives again with another process. The one before is nobody's.
func TestAPlayerComesBack(t *testing.T) {
	t.Parallel()
	c := played(t, "one", "two")
	one := c.Named("one")
	start(t, c, one, "echo no luck >&2; echo up; exec sleep 60")
	if n := hear(t, c); string(n.Line) != "up" || c.Of(n.From) != one || !one.Runs() {
		t.Fatalf("heard %+v, want the line of one, which runs", n)
	}
	first := one.Process
	if one.Kill(); one.Runs() || one.Process == nil {
		t.Error("it runs after its kill, or is dead before its end was heard")
	}
	if n := hear(t, c); !n.Ended || c.Of(n.From) != one {
		t.Fatalf("heard %+v, want the end of one", n)
	}
	one.Bury()
	now := time.Now()
	if one.Back = now.Add(time.Second); len(c.Due(now)) != 0 || one.PID() != "-" || one.Dead(now) != "dead, back in 1.0s" || c.Said() != "; one says: no luck" {
		t.Errorf("it is due, or is shown as %s, %q, %q", one.PID(), one.Dead(now), c.Said())
	}
	if due := c.Due(one.Back); len(due) != 1 || due[0] != one { // two was never started, and nobody asks for it
		t.Errorf("%v are due, want one", due)
	}
	start(t, c, one, "exec sleep 60")
	if !one.Runs() || !one.Back.IsZero() || c.Of(first) != nil || c.Named("three") != nil {
		t.Error("it does not run again, or a process of the past is somebody's")
	}
	if err := c.Start(c.Named("two"), fleet.Command{Program: "/nowhere"}); err == nil || !strings.HasPrefix(err.Error(), "starting two: ") {
		t.Errorf("got %v, want that two cannot be started", err)
	}
}

// All end, though nobody hears their news any more.
func TestACastEnds(t *testing.T) {
	t.Parallel()
	c := played(t, "one", "two")
	for _, a := range c.All {
		start(t, c, a, "trap '' TERM; while :; do echo news; done")
	}
	hear(t, c)
	c.End(20 * time.Millisecond)
	for _, a := range c.All {
		if a.Process != nil {
			t.Errorf("%s lives", a.Name)
		}
	}
	c.End(0)
}

// What is made last is cleared first, and each fault is told.
func TestASiteIsCleared(t *testing.T) {
	t.Parallel()
	var s stage.Site
	var done []string
	full := errors.New("the disk is full")
	for _, what := range []string{"server", "folder"} {
		s.Afterwards(func() error { done = append(done, what); return full })
	}
	if s.Fallen() != nil {
		t.Error("a server that is not there has fallen")
	}
	if err := s.Clear(); !errors.Is(err, full) || !strings.HasPrefix(err.Error(), "clearing up: ") || strings.Join(done, " ") != "folder server" {
		t.Errorf("got %v after %v", err, done)
	}
	if err := s.Clear(); err != nil {
		t.Error(err)
	}
	if got := stage.TOML("a \"b\"\\"); got != `"a \"b\"\\"` {
		t.Error(got)
	}
}
