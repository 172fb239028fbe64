//go:build unix

package devnode

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Find prefers a program beside this one to one on the PATH.
func TestFind(t *testing.T) {
	put := func(mode os.FileMode) string {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	t.Setenv(EnvProgram, "")
	beside, onPath, text, empty := put(0o700), put(0o700), put(0o600), t.TempDir()
	for _, c := range []struct{ dir, path, want string }{
		{beside, onPath, beside}, {empty, onPath, onPath}, {text, onPath, onPath}, {text, text, ""}, {empty, empty, ""},
	} {
		t.Setenv("PATH", c.path)
		want := c.want
		if want != "" {
			want = filepath.Join(want, Name)
		}
		if got := Find(filepath.Join(c.dir, "conch")); got != want {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	t.Setenv(EnvProgram, "named")
	if got := Find(filepath.Join(beside, "conch")); got != "named" {
		t.Errorf("got %q, want the named program", got)
	}
}

// A program that is no devnode gives an error with its own words, and no process is left.
func TestAProgramThatIsNoDevnode(t *testing.T) {
	dir := t.TempDir()
	for script, says := range map[string]string{
		"echo no such flag >&2; exit 1":                  "no such flag",
		`echo '{"private_key":"SECRET"}'; exec sleep 60`: "does not say where it listens",
	} {
		program := filepath.Join(dir, Name)
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := Start(t.Context(), program)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("error %v, want one with %q", err, says)
		}
	}
	if _, err := Start(t.Context(), filepath.Join(dir, "none")); err == nil {
		t.Error("a program that is not there was started")
	}
}

// No text of ours contains the key.
func TestANodeKeepsItsKey(t *testing.T) {
	n := &Node{HTTP: "http://127.0.0.1:1", PrivateKey: "SECRET"}
	if text := fmt.Sprintf("%v %+v %#v %s", n, n, n, n); strings.Contains(text, "SECRET") {
		t.Error(text)
	}
}

// Start does not wait for a descendant that keeps the output of an ended program.
func TestADevnodeThatLeavesSomethingBehind(t *testing.T) {
	program, number := filepath.Join(t.TempDir(), Name), filepath.Join(t.TempDir(), "pid")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nsleep 1000 & echo $! >"+number+"; echo no chain >&2; exit 1\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := Start(t.Context(), program)
		ended <- err
	}()
	t.Cleanup(func() {
		text, _ := os.ReadFile(number)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "no chain") {
			t.Errorf("error %v, want one with the program's words", err)
		}
	case <-time.After(patience + 2*endGrace):
		t.Fatal("Start waits for the descendant")
	}
}
