package web_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

// Loopback and Unix sockets need neither TLS nor a token; every other address needs both.
func TestCheckListen(t *testing.T) {
	const local, exposed, bad, noPort, noHost, long = "", "can be reached from other machines", "is no address", "has no port", "has no host", "use a shorter one"
	for addr, want := range map[string]string{
		"127.0.0.1:7070": local, "127.8.9.1:0": local, "localhost:7070": local, "LocalHost:http": local, "[::1]:7070": local,
		"[::ffff:127.0.0.1]:7070": local, "unix:/run/conch.sock": local, "/run/conch.sock": local, "@conch": local, "unix:conch.sock": local,

		":7070": exposed, "0.0.0.0:7070": exposed, "[::]:7070": exposed, "192.0.2.1:7070": exposed, "[2001:db8::1]:7070": exposed,
		"[fe80::1%eth0]:7070": exposed, "node-1.internal:7070": exposed, "localhost.example:7070": exposed, "127.1:7070": exposed,

		"127.0.0.1:99999": noPort, "localhost:abc": noPort, "localhost:-1": noPort, ":7070x": noPort, "256.0.0.1:7070": noHost,

		"unix:/" + strings.Repeat("x", 106): local, "unix:/" + strings.Repeat("x", 107): long, "@" + strings.Repeat("x", 107): long,

		"": bad, "7070": bad, "127.0.0.1": bad, "::1:7070": bad, "localhost": bad, "unix:": bad, "127.0.0.1:": bad,
	} {
		for _, withTLS := range []bool{false, true} {
			for _, withToken := range []bool{false, true} {
				err := web.CheckListen(addr, withTLS, withToken)
				if want == local || want == exposed && withTLS && withToken {
					if err != nil {
						t.Errorf("%q, TLS %v, token %v: %v", addr, withTLS, withToken, err)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%q, TLS %v, token %v: %v", addr, withTLS, withToken, err)
					continue
				}
				if want == exposed && (strings.Contains(err.Error(), "TLS") == withTLS || strings.Contains(err.Error(), "a token") == withToken) {
					t.Errorf("%q, TLS %v, token %v: the sentence does not name what is missing: %v", addr, withTLS, withToken, err)
				}
			}
		}
	}
}

// Only this user may use a socket, and a socket that a dead process left is replaced.
func TestListenOnASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	_ = left.Close()

	ln, err := web.Listen(t.Context(), "unix:"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket's mode is %v, %v; want 0600", info.Mode(), err)
	}
	if second, err := web.Listen(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "served by another process") {
		t.Errorf("a second listener: got %v, %v; want an error that another process serves the socket", second, err)
	}
	_ = ln.Close()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := web.Listen(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "is no socket") {
		t.Errorf("a file in the way: got %v, want an error that it is no socket", err)
	}
}
