package web_test

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

func listen(t testing.TB, cert *web.Certificate) net.Listener {
	t.Helper()
	ln, err := web.Listen(t.Context(), "127.0.0.1:0", cert)
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// A panic is logged and answered with a problem. In the middle of an answer it cuts the
// connection, so that the part does not look complete.
func TestPanics(t *testing.T) {
	w := newWorld()
	w.step = func(election.StepDown) error { panic("at the disco") }
	w.cfg.Metrics = http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(out, "half")
		panic("in the middle")
	})
	site := w.site(t)
	r, out := exchange{Ask: drainPath}.Request(), httptest.NewRecorder()
	site.API().ServeHTTP(out, r)
	webtest.Read(t).Verify(t, r, out)
	if out.Code != 500 || strings.Contains(out.Body.String(), "disco") {
		t.Errorf("answered %d %s, want 500 without the text of the panic", out.Code, out.Body)
	}
	if logs := w.logs.String(); !strings.Contains(logs, "at the disco") || !strings.Contains(logs, "goroutine") {
		t.Errorf("the log is %s, want the text of the panic and a stack", logs)
	}

	ln := listen(t, nil)
	webtest.Serve(t, site, ln)
	answer, err := webtest.Client(t, &http.Transport{}).Get("http://" + ln.Addr().String() + "/metrics")
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		_ = answer.Body.Close()
	}
	if err == nil {
		t.Error("half an answer looks complete, want an error")
	}
}

// A server that ends lets a drain finish.
func TestServeLetsADrainFinish(t *testing.T) {
	w := newWorld()
	begun, finish := make(chan struct{}), make(chan struct{})
	w.step = func(election.StepDown) error { close(begun); <-finish; return nil }
	ln := listen(t, nil)
	stop := webtest.Serve(t, w.site(t), ln)
	got := make(chan int, 1)
	go func() {
		answer, err := webtest.Client(t, &http.Transport{}).Post("http://"+ln.Addr().String()+"/v1/scopes/payments/drain", "", nil)
		if err != nil {
			t.Error(err)
			got <- 0
			return
		}
		_ = answer.Body.Close()
		got <- answer.StatusCode
	}()
	pgtest.Within(t, time.Minute, "the drain begins", func() { <-begun })
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	// Shutdown closes the listener first: once it is closed, the server is ending.
	for {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			break
		}
		_ = conn.Close()
	}
	close(finish)
	var code int
	var err error
	pgtest.Within(t, time.Minute, "both end", func() { code, err = <-got, <-stopped })
	if code != 200 || err != nil {
		t.Errorf("the drain was answered %d, and the server ended with %v; want 200 and no error", code, err)
	}
}

// A header that is too large is refused before a handler runs.
func TestHeaderLimit(t *testing.T) {
	ln := listen(t, nil)
	webtest.Serve(t, newWorld().site(t), ln)
	r, err := http.NewRequest(http.MethodGet, "http://"+ln.Addr().String()+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Much", strings.Repeat("x", 32<<10))
	answer, err := webtest.Client(t, &http.Transport{}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("answered %d, want 431", answer.StatusCode)
	}
}

// On a Unix socket any host name is allowed: browsers cannot reach it.
func TestServeOnASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := web.Listen(t.Context(), "unix:"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	webtest.Serve(t, newWorld().site(t), ln)
	c := webtest.Client(t, &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}})
	answer, err := c.Get("http://conch/healthz")
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("answered %d, want 200", answer.StatusCode)
	}
}

// A certificate is read again on request and by itself; a broken file changes nothing.
func TestCertificateReload(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	if c, err := web.LoadCertificate(cert, key, slog.New(slog.DiscardHandler)); err == nil || c != nil || !strings.Contains(err.Error(), "cannot be used") {
		t.Errorf("no files: got %v, want an error that they cannot be used", err)
	}
	webtest.Pair(t, dir, 1)
	for mode, says := range map[os.FileMode]string{0o644: "chmod 600", 0o600: ""} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := web.LoadCertificate(cert, key, slog.New(slog.DiscardHandler)); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("a key of mode %04o: got %v, want %q", mode, err, says)
		}
	}
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := web.LoadCertificate(cert, key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ln := listen(t, c)
	webtest.Serve(t, newWorld().site(t), ln)
	serial := func() int64 {
		var d tls.Dialer
		d.Config = &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}
		conn, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		state := conn.(*tls.Conn).ConnectionState()
		if state.NegotiatedProtocol != "h2" {
			t.Errorf("negotiated %q, want h2", state.NegotiatedProtocol)
		}
		return state.PeerCertificates[0].SerialNumber.Int64()
	}
	if n := serial(); n != 1 {
		t.Errorf("certificate %d is served, want 1", n)
	}
	webtest.Pair(t, dir, 2)
	if err := c.Reload(); err != nil || serial() != 2 {
		t.Errorf("after the reload: error %v, or not certificate 2", err)
	}
	if err := os.WriteFile(key, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Reload(); err == nil || serial() != 2 {
		t.Errorf("after a broken file: got %v, or not certificate 2; want an error and certificate 2", err)
	}
	webtest.Pair(t, dir, 3)
	for deadline := time.Now().Add(20 * time.Second); serial() != 3; {
		if time.Now().After(deadline) {
			t.Fatal("certificate 3 is not served within 20 s of the change")
		}
	}
}

// The error names everything that is missing or wrong.
func TestConfigFaults(t *testing.T) {
	_, err := web.New(web.Config{Patience: -1})
	for _, word := range []string{"ID", "Electors", "Observe", "Metrics", "Patience"} {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s is not named in the error %v", word, err)
		}
	}
}

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
