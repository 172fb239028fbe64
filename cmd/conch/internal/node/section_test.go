package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/election"
)

func given(roles ...config.Role) []config.Section {
	return []config.Section{configtest.Plain("made", roles...)}
}

// Faults that a test cannot cause as an ordinary user: each message has its key and a remedy.
func TestUnheard(t *testing.T) {
	t.Parallel()
	failing := func(network string, why error) error { return &net.OpError{Op: "listen", Net: network, Err: why} }
	for _, c := range []struct {
		addr string
		err  error
		says string
	}{
		{"127.0.0.1:80", failing("tcp", os.NewSyscallError("bind", syscall.EACCES)), "this user may not listen on 127.0.0.1:80: choose another address with listen in [node], or --listen, with a port of 1024 or more"},
		{"unix:/r/s", failing("unix", os.NewSyscallError("bind", syscall.EACCES)), "unix:/r/s cannot be made, since this user may not write to its folder"},
		{"unix:/r/s", &fs.PathError{Op: "lstat", Path: "/r/s", Err: syscall.ENOTDIR}, "unix:/r/s cannot be listened on (not a directory): choose another address with listen in [node], or --listen"},
		{"x:99999", failing("tcp", errors.New("odd")), "x:99999 cannot be listened on (odd): choose another address with listen in [node], or --listen"},
	} {
		if got := listenError(ofAPI, c.addr, c.err).Error(); !strings.Contains(got, c.says) {
			t.Errorf("%v: got %q, want it to say %q", c.err, got, c.says)
		}
	}
	odd := fmt.Errorf("mtls: %w", failing("tcp", os.NewSyscallError("bind", syscall.EADDRINUSE)))
	if got := PeersUnheard("127.0.0.1:7443", odd).Error(); !strings.HasPrefix(got, "127.0.0.1:7443 is in use: ") || !strings.HasSuffix(got, " with listen in [identity]") {
		t.Errorf("of the peers' port it says %q", got)
	}
	if key := errors.New("the key cannot be read"); PeersUnheard("127.0.0.1:7443", key) != key { //nolint:errorlint // it is the same one
		t.Error("a key that cannot be read is taken for a port in use")
	}
}

// On a standalone node, a role that reloads remove and add again starts only when its
// previous run has ended, and the node's own end waits for a run that is ending.
func TestAStandaloneRoleThatComesBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var running, begun atomic.Int32
		a := newStandalone(&Node{id: "n1", log: slog.New(slog.DiscardHandler), over: t.Context()})
		a.work = func(r config.Role, _ func(error)) (Work, func(context.Context)) {
			return func(ctx context.Context, _ election.Leadership) error {
				if r.Scope == "stays" {
					<-ctx.Done()
					return nil
				}
				begun.Add(1)
				if running.Add(1) > 1 {
					t.Error("two runs of the role at the same time, want one")
				}
				defer running.Add(-1)
				<-ctx.Done()
				<-time.NewTimer(time.Minute).C // it takes its time to end
				return nil
			}, nil
		}
		stays := config.Role{Scope: "stays", DrainTimeout: time.Second}
		without := config.Config{Sections: given(stays)}
		with := config.Config{Sections: given(stays, config.Role{Scope: "leaves", DrainTimeout: 2 * time.Minute})}
		for _, c := range []config.Config{with, without, with, without, with} {
			if err := a.assign(c); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if n := begun.Load(); n != 1 {
				t.Errorf("the role began %d times before its first run had ended, want 1", n)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if b, r := begun.Load(), running.Load(); b != 2 || r != 1 {
			t.Errorf("the role began %d times and %d runs go on, want 2 and 1", b, r)
		}
		if err := a.assign(without); err != nil {
			t.Fatal(err)
		}
		if err := a.end(t.Context(), nil); err != nil || running.Load() != 0 {
			t.Errorf("got %v from the end of the node, or a run that goes on; want nil and no run", err)
		}
		if n := len(a.ending); n != 0 {
			t.Errorf("%d ended roles are still in ending, want 0", n)
		}
	})
}
