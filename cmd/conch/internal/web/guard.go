package web

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"
)

// maxBody is the limit for a body if its route has none.
const maxBody = 64 << 10

// recorder remembers the status of the answer.
type recorder struct {
	http.ResponseWriter
	status int
	zips   bool // the caller takes an answer that is compressed
}

func (w *recorder) WriteHeader(status int) {
	w.status = cmp.Or(w.status, status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(b []byte) (int, error) {
	w.status = cmp.Or(w.status, http.StatusOK)
	return w.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController access to deadlines and flushing.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// guard wraps every handler: it checks the host, logs, and answers a panic with a problem.
func (s *Site) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w := &recorder{ResponseWriter: out, zips: takesGzip(r.Header)}
		began := time.Now()
		defer func() {
			if what := recover(); what != nil {
				s.panicked(w, r, what)
			}
			s.log(r, w.status, time.Since(began))
		}()
		// A cached answer of a gate would let a caller act that no longer may.
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err := s.checkHost(r); err != nil {
			ProblemOf(r.Context(), err).write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ofNoOtherSite refuses what a browser asks for a page of another site. A GET counts as much as a POST here: an answer of the
// gate is a promise that a handover waits for, and a stream takes one of few places. Callers that are no browsers say nothing
// of a site.
func (s *Site) ofNoOtherSite(r *http.Request) error {
	asked := *r
	asked.Method = http.MethodPost // a GET would pass
	own := http.NewCrossOriginProtection()
	if s.origin != "" { // a proxy may replace the host that the page's origin is compared with
		_ = own.AddTrustedOrigin(s.origin) // New has tried it
	}
	if own.Check(&asked) != nil {
		return Failf(http.StatusForbidden, "a page of another site may not ask for this")
	}
	return nil
}

// bound limits a body; see Route.Body.
func bound(w http.ResponseWriter, r *http.Request, most int64) {
	switch {
	case most < 0:
		return
	case most == 0:
		most = maxBody
	}
	if inner, ok := w.(*recorder); ok {
		w = inner.ResponseWriter // it can close the connection if the body is too large
	}
	r.Body = http.MaxBytesReader(w, r.Body, most)
}

// checkHost refuses any host name but localhost on a loopback address without tokens. A web
// page could make its own name resolve to this address (DNS rebinding), and the browser would
// treat its requests as same-site. Addresses that other machines reach allow any name.
func (s *Site) checkHost(r *http.Request) error {
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	tcp, ok := local.(*net.TCPAddr)
	if s.cfg.Tokens.Any() || local != nil && (!ok || !tcp.IP.IsLoopback()) {
		return nil
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil || host == "localhost" || s.host != "" && strings.EqualFold(host, s.host) {
		return nil
	}
	return Failf(http.StatusMisdirectedRequest, "without tokens only requests to an address or to localhost are answered, not to %q", host)
}

func (s *Site) panicked(w *recorder, r *http.Request, what any) {
	if what == http.ErrAbortHandler { //nolint:errorlint // the very value, as net/http compares it
		panic(what) //nolint:forbidigo // the way in which a handler tells net/http to cut the connection
	}
	s.cfg.Logger.ErrorContext(r.Context(), "a handler panicked",
		slog.String("path", r.URL.Path), slog.String("panic", fmt.Sprint(what)), slog.String("stack", string(debug.Stack())))
	if w.status != 0 {
		// Part of an answer was sent. Cut the connection, or it would look complete.
		panic(http.ErrAbortHandler) //nolint:forbidigo // see above
	}
	Failf(http.StatusInternalServerError, "a fault in conch; its log says more").write(w)
}

// log omits headers and queries: they may hold a token.
func (s *Site) log(r *http.Request, status int, took time.Duration) {
	level := slog.LevelDebug
	no := strings.HasSuffix(r.Pattern, "/gate") || strings.HasSuffix(r.Pattern, pathLeader) // a gate says no by 503
	if status >= http.StatusInternalServerError && !no {
		level = slog.LevelWarn
	}
	s.cfg.Logger.LogAttrs(context.WithoutCancel(r.Context()), level, "http",
		slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status),
		slog.Duration("took", took), slog.String("from", r.RemoteAddr))
}
