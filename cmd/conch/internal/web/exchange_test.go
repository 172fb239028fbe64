package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
)

// Every documented answer of every route is given, and no undocumented one.
func TestAnswers(t *testing.T) {
	s := webtest.Read(t)
	s.Seen("GET /v1/events 200") // by the tests of streams
	webtest.Answers(t, s, slices.Concat(scopeAnswers, gateAnswers, drainAnswers, otherAnswers), func(string) bool { return true },
		newWorld, func(t *testing.T, w *world) http.Handler { return w.site(t).API() })
}

// An address that other machines reach, such as that of the ops listener, allows any host
// name. A loopback address does not, for the sake of browsers on this machine.
func TestNamesOfThisMachine(t *testing.T) {
	t.Parallel()
	site := newWorld().site(t)
	for at, want := range map[net.Addr]int{
		&net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 9090}:  http.StatusOK,
		&net.TCPAddr{IP: net.ParseIP("fd00::7"), Port: 9090}: http.StatusOK,
		&net.UnixAddr{Name: "/run/conch.sock", Net: "unix"}:  http.StatusOK,
		&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7071}: http.StatusMisdirectedRequest,
		&net.TCPAddr{IP: net.IPv6loopback, Port: 7071}:       http.StatusMisdirectedRequest,
		&net.TCPAddr{IP: net.ParseIP("::ffff:127.0.0.1")}:    http.StatusMisdirectedRequest,
	} {
		r, out := exchange{Ask: "GET /metrics", Header: "Host: node-1.example:9090"}.Request(), httptest.NewRecorder()
		site.Ops().ServeHTTP(out, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, at)))
		if out.Code != want {
			t.Errorf("at %s it answers %d, want 421 at loopback addresses and 200 at others", at, out.Code)
		}
	}
}

// Every route is documented, and every documented route exists.
func TestDocumentedRoutes(t *testing.T) {
	served := newWorld().site(t).Routes()
	slices.Sort(served)
	if documented := webtest.Read(t).Operations(); !slices.Equal(served, documented) {
		t.Errorf("served:     %q\ndocumented: %q", served, documented)
	}
}

// F6: the leader is told the actor, timeout and successor of a drain. A drain with a successor
// goes through the database even if this process leads, so that the successor gets ready.
func TestDrainIsToldWhole(t *testing.T) {
	w := newWorld()
	w.protect(t)
	led(w)
	api := w.site(t).API()
	for _, body := range []string{`{"timeout_ms":1500}`, `{"timeout_ms":1500,"to":"node-2"}`} {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: drainPath, Body: body, Header: "Authorization: Bearer " + webtest.OperateSecret}.Request())
		if out.Code != 200 {
			t.Fatalf("%s: %d %s", body, out.Code, out.Body)
		}
	}
	if len(w.asked) != 1 || len(w.put) != 1 {
		t.Fatalf("this elector was asked %+v, and the leader through the database %+v; want one request each", w.asked, w.put)
	}
	got := w.asked[0]
	why := fmt.Sprint(got.Why)
	got.Why = nil
	want := election.StepDown{Scope: "payments", Actor: "ops", Timeout: 1500 * time.Millisecond}
	if got != want || !strings.Contains(why, "asked by ops") {
		t.Errorf("this elector was asked %+v because %s, want a drain of 1.5s asked by ops", got, why)
	}
	if want := (pgops.Request{Scope: "payments", To: "node-2", Actor: "ops", Timeout: 1500 * time.Millisecond}); w.put[0] != want {
		t.Errorf("the leader was asked %+v, want a transfer to node-2 with 1.5s asked by ops", w.put[0])
	}
	if logs := w.logs.String(); !strings.Contains(logs, "actor=ops") || strings.Contains(logs, webtest.OperateSecret) {
		t.Errorf("the log is %s, want actor=ops in it and no token", logs)
	}
}

// S21: while the database is away reads go on and say how old they are; then it is read again.
func TestReadsGoOnStale(t *testing.T) {
	w := newWorld()
	led(w)
	api := w.site(t).API()
	s := webtest.Read(t)
	get := func(path string) (int, map[string]any) {
		r, out := exchange{Ask: "GET " + path}.Request(), httptest.NewRecorder()
		api.ServeHTTP(out, r)
		s.Verify(t, r, out)
		var body map[string]any
		_ = json.Unmarshal(out.Body.Bytes(), &body)
		return out.Code, body
	}
	_, fresh := get("/v1/scopes")
	w.set(func() { w.err = webtest.ErrAway })
	for _, path := range []string{"/v1/scopes", "/v1/scopes/payments"} {
		code, body := get(path)
		if code != 200 || body["stale"] != any(true) || body["as_of"] != fresh["as_of"] {
			t.Errorf("%s with the database away: status %d, stale %v, as_of %v; want 200, true, %v", path, code, body["stale"], body["as_of"], fresh["as_of"])
		}
	}
	if code, _ := get("/v1/scopes/other"); code != 503 {
		t.Errorf("a scope that was never read: status %d, want 503", code)
	}
	w.set(func() { w.err = nil })
	if code, body := get("/v1/scopes"); code != 200 || body["stale"] != nil || body["as_of"] == fresh["as_of"] {
		t.Errorf("with the database back: status %d, body %v; want 200 and a new as_of, not stale", code, body)
	}
	w.set(func() {
		if w.opened != 2 || w.closed != 1 {
			t.Errorf("%d connections opened and %d closed, want 2 and 1", w.opened, w.closed)
		}
	})
}
