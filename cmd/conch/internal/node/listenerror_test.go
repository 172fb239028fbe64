package node

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
)

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
