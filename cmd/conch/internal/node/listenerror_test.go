package node

import (
	"errors"
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
		{"127.0.0.1:80", failing("tcp", os.NewSyscallError("bind", syscall.EACCES)), "this user may not listen on 127.0.0.1:80: choose another listen address, with a port of 1024 or more"},
		{"unix:/r/s", failing("unix", os.NewSyscallError("bind", syscall.EACCES)), "unix:/r/s cannot be made, since this user may not write to its folder"},
		{"unix:/r/s", &fs.PathError{Op: "lstat", Path: "/r/s", Err: syscall.ENOTDIR}, "unix:/r/s cannot be listened on (not a directory): choose another listen address"},
		{"x:99999", failing("tcp", errors.New("odd")), "x:99999 cannot be listened on (odd): choose another listen address"},
	} {
		if got := listenError("listen", c.addr, c.err).Error(); !strings.Contains(got, c.says) {
			t.Errorf("%v: got %q, want it to say %q", c.err, got, c.says)
		}
	}
}
