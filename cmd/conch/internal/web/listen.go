package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/conchhq/conch/internal/pattern"
)

// CheckListen returns an error with a remedy unless the API may be served at addr: on loopback
// and Unix sockets, or elsewhere with TLS and a token. The ops handler needs neither.
func CheckListen(addr string, withTLS, withToken bool) error {
	local, err := isLocal(addr)
	if err != nil || local {
		return err
	}
	var missing []string
	if !withTLS {
		missing = append(missing, "TLS (tls_cert, tls_key)")
	}
	if !withToken {
		missing = append(missing, "a token (token_file, read_token_file)")
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("listen = %q can be reached from other machines and needs %s: set that, or listen on 127.0.0.1", addr, strings.Join(missing, " and "))
}

// isLocal reports whether only this machine can reach an address. Of names it accepts only
// localhost: what others resolve to may change.
func isLocal(addr string) (bool, error) {
	_, isSocket := socketPath(addr)
	if err := CheckAddress("listen", addr); err != nil || isSocket {
		return err == nil, err
	}
	host, _, _ := net.SplitHostPort(addr)
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback(), nil
}

// CheckAddress returns an error for a malformed address. It resolves no host name.
func CheckAddress(key, addr string) error {
	if path, ok := socketPath(addr); ok {
		if most := len(syscall.RawSockaddrUnix{}.Path) - 1; len(path) > most { // a NUL ends it
			return fmt.Errorf("%s = %q has a path of %d bytes, and the system takes %d: use a shorter one", key, addr, len(path), most)
		}
		return nil
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("%s = %q is no address: write host:port, for example 127.0.0.1:7070, or unix:/run/conch.sock", key, addr)
	}
	if _, err := net.DefaultResolver.LookupPort(context.Background(), "tcp", port); err != nil {
		return fmt.Errorf("%s = %q has no port: %q is not a number from 0 to 65535", key, addr, port)
	}
	if _, err := netip.ParseAddr(host); err != nil && fourNumbers().MatchString(host) {
		return fmt.Errorf("%s = %q has no host: %q is not an IP address", key, addr, host)
	}
	return nil
}

// fourNumbers matches a host that is meant as an IPv4 address.
var fourNumbers = pattern.Of(`^\d+(\.\d+){3}$`)

// socketPath returns the path of a Unix socket: of unix:/path, an absolute path or @abstract.
func socketPath(addr string) (path string, ok bool) {
	path, named := strings.CutPrefix(addr, "unix:")
	return path, path != "" && (named || strings.HasPrefix(path, "/") || strings.HasPrefix(path, "@"))
}

// Listen opens a listener, with TLS unless cert is nil. Only this user may use a Unix socket.
func Listen(ctx context.Context, addr string, cert *Certificate) (net.Listener, error) {
	network := "tcp"
	path, isSocket := socketPath(addr)
	if isSocket {
		network, addr = "unix", path
		if err := clearSocket(ctx, path); err != nil {
			return nil, err
		}
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	if isSocket && !strings.HasPrefix(path, "@") {
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
	}
	if cert != nil {
		ln = tls.NewListener(ln, cert.Config())
	}
	return ln, nil
}

// clearSocket removes a socket that a dead process left behind.
func clearSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || strings.HasPrefix(path, "@") {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s is in the way and is no socket", path)
	}
	dialer := net.Dialer{Timeout: time.Second}
	if conn, err := dialer.DialContext(ctx, "unix", path); err == nil {
		_ = conn.Close()
		return fmt.Errorf("%s is served by another process", path)
	}
	return os.Remove(path)
}
