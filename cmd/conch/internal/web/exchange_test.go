package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Every documented answer of every route is given, and no undocumented one.
func TestAnswers(t *testing.T) {
	s := webtest.Read(t)
	s.Seen("GET /v1/events 200") // by the tests of streams
	webtest.Answers(t, s, slices.Concat(scopeAnswers, pageAnswers, gateAnswers, drainAnswers, namedDrains(drainAnswers), otherAnswers), func(string) bool { return true },
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

// The key of a header is that of the body, in quotes as the IETF's draft has it or without. What could be taken for another key is refused.
func TestKey(t *testing.T) {
	long := strings.Repeat("k", 200)
	for _, c := range []struct {
		header []string
		body   string
		want   string // a part of the refusal, if it begins with !
	}{
		{nil, "", ""},
		{nil, "a", "a"},
		{[]string{"a"}, "", "a"},
		{[]string{`"a"`}, "", "a"},
		{[]string{"a"}, "a", "a"},
		{[]string{`"a"`}, "a", "a"},
		{[]string{`"a, \"b\" \\ c"`}, "", `a, "b" \ c`},
		{[]string{"order 17"}, "", "order 17"},
		{[]string{long}, "", long},
		{[]string{`"` + long + `"`}, "", long},
		{[]string{"a"}, "b", "!are different"},
		{[]string{`"a"`}, `"a"`, "!are different"},
		{[]string{"a", "a"}, "", "!has several values"},
		{[]string{"a", "b"}, "a", "!has several values"},
		{[]string{"a, b"}, "", "!several values"},
		{[]string{`"a", "b"`}, "", "!not one text in quotes"},
		{[]string{`"a";q=1`}, "", "!not one text in quotes"},
		{[]string{`"a`}, "", "!not one text in quotes"},
		{[]string{`"a\b"`}, "", "!not one text in quotes"},
		{[]string{`"a\`}, "", "!not one text in quotes"},
		{[]string{`a"b`}, "", "!several values"},
		{[]string{""}, "", "!is empty"},
		{[]string{`""`}, "a", "!is empty"},
		{[]string{long + "k"}, "", "!201 characters"},
		{[]string{"a\tb"}, "", "!visible ASCII"},
		{[]string{"M\xfcller"}, "", "!visible ASCII"},
		{[]string{`"Müller"`}, "", "!visible ASCII"},
		{[]string{"a\x00b"}, "", "!visible ASCII"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		if c.header != nil {
			r.Header["Idempotency-Key"] = c.header
		}
		got := c.body
		err := web.Key(r, "idempotency_key", &got)
		if want, refused := strings.CutPrefix(c.want, "!"); refused {
			p := web.ProblemOf(t.Context(), err)
			if err == nil || p.Status != 400 || p.Type != "urn:conch:problem:bad-key" || !strings.Contains(p.Detail, want) {
				t.Errorf("header %q, body %q: got %q, %v, want 400 bad-key with %q", c.header, c.body, got, err, want)
			}
		} else if got != want || err != nil {
			t.Errorf("header %q, body %q: got %q, %v, want %q", c.header, c.body, got, err, want)
		}
	}
}

// A header by which a client asks for a safety that it does not get is refused by its name, where something would change.
func TestHeadersWithoutEffectAreRefused(t *testing.T) {
	serve := func(w http.ResponseWriter, _ *http.Request) error { return web.Answer(w, http.StatusOK, 1) }
	api := webtest.Site(t, &webtest.Log{}, []web.Route{
		{Method: http.MethodPost, Path: "/v1/keyed", Needs: web.ToOperate, Keyed: true, Serve: serve},
		{Method: http.MethodPost, Path: "/v1/plain", Needs: web.ToOperate, Serve: serve},
		{Method: http.MethodPost, Path: "/v1/question", Serve: serve},
		{Path: "/v1/peers", Needs: web.ToOperate, Serve: serve},
	}, nil).API()
	for header, statuses := range map[string]string{ // of each of the paths
		"X-Request-Id: 1":                "200 200 200 200",
		"Traceparent: 00-0-0-00":         "200 200 200 200",
		"Prefer: wait=5":                 "200 200 200 200",
		"Content-Encoding: identity":     "200 200 200 200",
		"Idempotency-Key: a":             "200 400 200 200",
		"idempotency-key: ":              "200 400 200 200",
		"X-Idempotency-Key: a":           "400 400 200 200",
		"Idempotency-Token: a":           "400 400 200 200",
		"If-Match: \"1\"":                "400 400 200 200",
		"If-None-Match: *":               "400 400 200 200",
		"X-Idempotency: a":               "400 400 200 200",
		"If-Unmodified-Since: x":         "400 400 200 200",
		"Content-Md5: AA==":              "400 400 200 200",
		"Content-Range: bytes 0-1/2":     "400 400 200 200",
		"Content-Digest: sha-256=:AA==:": "400 400 200 200",
		"X-HTTP-Method-Override: GET":    "400 400 200 200",
		"Content-Encoding: gzip":         "400 400 200 200",
		"Content-Encoding: identity, br": "400 400 200 200",
	} {
		for i, path := range []string{"/v1/keyed", "/v1/plain", "/v1/question", "/v1/peers"} {
			out := httptest.NewRecorder()
			api.ServeHTTP(out, webtest.Exchange[any]{Ask: "POST " + path, Header: header}.Request())
			want := strings.Fields(statuses)[i]
			name, _, _ := strings.Cut(header, ": ")
			named := strings.Contains(out.Body.String(), `"field":"`+http.CanonicalHeaderKey(name)+`"`)
			if strconv.Itoa(out.Code) != want || want != "200" && !named {
				t.Errorf("POST %s with %s: got %d %s, want %s and the header's name", path, header, out.Code, out.Body, want)
			}
		}
	}
}

// Requests of callers that do not act delay no handover. An answer that a caller may act on
// delays it by its validity and a tenth, since the caller's clock may be slower.
func TestOnlyAnAnswerThatIsPromisedCounts(t *testing.T) {
	t.Parallel()
	w := newWorld()
	led(w)
	w.cfg.AnswerMax = 2 * time.Second
	site := w.site(t)
	ask := func(what string) {
		out := httptest.NewRecorder()
		site.API().ServeHTTP(out, exchange{Ask: what}.Request())
		if out.Code >= 400 && out.Code != 404 {
			t.Fatalf("%s: status %d, body %s; want a status below 400, or 404", what, out.Code, out.Body)
		}
	}
	readers := []string{gatePath + "?promise=no", gatePath + "?promise=no&door=fenced", gatePath + "?door=fenced", "HEAD /leader/payments", drainPath}
	for _, route := range site.Routes() {
		if method, path, _ := strings.Cut(route, " "); (method == "GET" || method == "OPTIONS") && !strings.HasSuffix(path, "/gate") && !strings.HasSuffix(path, "/events") {
			readers = append(readers, strings.ReplaceAll(route, "{scope}", "payments")+map[string]string{"/v1/scope": "?scope=payments"}[path])
		}
	}
	for _, what := range readers {
		ask(what)
		if until := w.latches["payments"].Answers(); until != 0 {
			t.Fatalf("a handover waits until %s after %s, want no wait", time.Duration(until), what)
		}
	}
	for what, life := range map[string]time.Duration{gatePath: 500 * time.Millisecond, gatePath + "?for=2s": 2 * time.Second} {
		w.latches["payments"].Shut(nil)
		w.now = w.now.Add(time.Hour)
		w.lead(0, time.Minute)
		ask(what)
		if left := w.latches["payments"].Answers().Sub(w.now); left < life+life/10 || left > life+life/10+50*time.Millisecond {
			t.Errorf("a handover waits %s after %s, want the answer's validity and a tenth", left, what)
		}
	}
}

// A node tells a caller that it may act, and is drained at once. While that caller may act, no
// other gate may allow a caller to act.
func TestNoTwoCallersMayActAcrossADrain(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	a, b := newNode(t, db, "a", nil), newNode(t, db, "b", nil)
	a.campaign(t)
	a.leads(t)
	b.campaign(t)
	from, to := a, b
	for range 4 {
		// A node that has just given the scope up rests until it hears of a successor.
		pgtest.Eventually(t, 20*time.Second, to.ID()+" to follow", func() bool {
			_, body, _ := to.ask(t, gatePath, "")
			return body["holder"] == any(from.ID())
		})
		var until fence.Instant
		pgtest.Eventually(t, 20*time.Second, from.ID()+" to say that a caller may act", func() bool {
			sent := fence.Boottime()
			status, body, _ := from.ask(t, gatePath, "")
			life, _ := body["expires_in_ms"].(float64)
			until = sent.Add(time.Duration(life) * time.Millisecond)
			return status == 200 && life > 0
		})
		drained := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			drained <- from.Drain(ctx, "payments")
		}()
		pgtest.Eventually(t, 20*time.Second, "the successor to be told that it may act", func() bool {
			status, _, _ := to.ask(t, gatePath, "")
			return status == 200
		})
		if early := until.Sub(fence.Boottime()); early > 0 {
			t.Errorf("a caller of %s may act, and one of %s may act for another %s; want one at a time", to.ID(), from.ID(), early)
		}
		if err := <-drained; err != nil {
			t.Error(err)
		}
		from, to = to, from
	}
}
