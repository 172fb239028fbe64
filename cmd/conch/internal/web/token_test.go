package web_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// On every route: no token, a wrong one, one that may read, one that may operate.
func TestTokens(t *testing.T) {
	w := newWorld()
	w.protect(t)
	site := w.site(t)
	s := webtest.Read(t)
	for _, c := range []struct {
		authorization string
		read, operate int
		challenge     string
	}{
		{"", 401, 401, `Bearer realm="conch"`},
		{"Bearer", 401, 401, `Bearer realm="conch", error="invalid_token"`},
		{"Bearer wrong-0123456789abcdef", 401, 401, `Bearer realm="conch", error="invalid_token"`},
		{"Bearer " + webtest.ReadSecret + "x", 401, 401, `Bearer realm="conch", error="invalid_token"`},
		{"Bearer " + webtest.ReadSecret[1:], 401, 401, `Bearer realm="conch", error="invalid_token"`},
		{"Basic " + webtest.ReadSecret, 401, 401, `Bearer realm="conch"`},
		{"Bearer " + webtest.ReadSecret, 200, 403, ""},
		{"bearer  " + webtest.OperateSecret, 200, 200, ""},
	} {
		for _, route := range site.Routes() {
			x := exchange{Ask: strings.ReplaceAll(route, "{scope}", "payments"), Header: "Authorization: " + c.authorization}
			switch route { // what names the scope elsewhere
			case "GET /v1/scope":
				x.Ask += "?scope=payments"
			case "POST /v1/drain":
				x.Body = `{"scope":"payments"}`
			}
			want := c.read
			switch {
			case strings.HasSuffix(route, "/leader/{scope}"):
				want = 503 // needs no token; nobody leads
			case !strings.HasPrefix(route, "GET "):
				want = c.operate
			}
			if want == 200 && (strings.HasSuffix(route, "/gate") || strings.HasSuffix(route, "/events")) {
				continue // 503: nobody leads; and a stream does not end
			}
			r, out := x.Request(), httptest.NewRecorder()
			site.API().ServeHTTP(out, r)
			s.Verify(t, r, out)
			if out.Code != want || want == 401 && out.Header().Get("WWW-Authenticate") != c.challenge {
				t.Errorf("%q at %s: %d (%s), want %d", c.authorization, route, out.Code, out.Header().Get("WWW-Authenticate"), want)
			}
		}
	}
	for _, secret := range []string{webtest.ReadSecret, webtest.OperateSecret, "wrong-0123456789abcdef"} {
		if strings.Contains(w.logs.String(), secret) {
			t.Errorf("the log has the token %q", secret)
		}
	}
	out := httptest.NewRecorder()
	site.API().ServeHTTP(out, exchange{Ask: "GET /v2/secret"}.Request())
	if out.Code != 401 {
		t.Errorf("an unknown path without a token: status %d, want 401", out.Code)
	}
}

// A proxy in front may want Authorization for itself: then the token comes in a header of its own, which counts first.
func TestTokenBesideAuthorization(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.protect(t)
	api := w.site(t).API()
	for _, c := range []struct {
		secret string
		status int
		want   string
	}{
		{webtest.ReadSecret, 200, `"may":"read","tokens":true`},
		{webtest.OperateSecret, 200, `"name":"ops","may":"operate"`},
		{"wrong-0123456789abcdef", 401, "not known"},
		{"", 401, "Conch-Token"},
	} {
		for _, besides := range []string{"", "Basic b3BzOm9wcw==", "Bearer of-the-proxy-0123456789"} {
			r, out := exchange{Ask: "GET /v1/session"}.Request(), httptest.NewRecorder()
			r.Header.Set("Conch-Token", c.secret)
			r.Header.Set("Authorization", besides)
			if c.secret == "" && strings.HasPrefix(besides, "Bearer") {
				continue
			}
			api.ServeHTTP(out, r)
			if out.Code != c.status || !strings.Contains(out.Body.String(), c.want) {
				t.Errorf("Conch-Token %q beside %q: %d %s, want %d and %s", c.secret, besides, out.Code, out.Body, c.status, c.want)
			}
		}
	}
}

// The ops handler needs no token and has four paths only.
func TestOpsHandler(t *testing.T) {
	w := newWorld()
	w.protect(t)
	site := w.site(t)
	for _, route := range append(site.Routes(), "GET /", "POST /metrics") {
		path := strings.Fields(route)[1]
		want := 404
		switch {
		case route == "POST /metrics":
			want = 405
		case path == "/leader/{scope}":
			want = 503 // nobody leads
		case path == "/healthz" || path == "/readyz" || path == "/metrics":
			want = 200
		}
		out := httptest.NewRecorder()
		r := exchange{Ask: strings.ReplaceAll(route, "{scope}", "payments")}.Request()
		r.Host = "node-1.internal" // other machines use its name
		site.Ops().ServeHTTP(out, r)
		if out.Code != want {
			t.Errorf("%s: %d, want %d", route, out.Code, want)
		}
	}
}

// Tokens change while requests are served; a broken file changes nothing.
func TestTokensReload(t *testing.T) {
	w := newWorld()
	file := webtest.TokenFile(t, "operate", webtest.OperateSecret)
	tokens, err := web.LoadTokens("", file)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Tokens = tokens
	api := w.site(t).API()
	ask := func(secret string) int {
		out := httptest.NewRecorder()
		api.ServeHTTP(out, exchange{Ask: drainPath, Header: "Authorization: Bearer " + secret}.Request())
		return out.Code
	}
	rewrite := func(text string) error {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return tokens.Reload()
	}
	const next = "next-0123456789abcdef-0123"
	if got := [2]int{ask(webtest.OperateSecret), ask(next)}; got != [2]int{200, 401} {
		t.Errorf("at first the old and the new token get %v, want 200 and 401", got)
	}
	if err := rewrite("old " + webtest.OperateSecret + "\r\n\nnew " + next + "\n"); err != nil {
		t.Error(err)
	}
	if got := [2]int{ask(webtest.OperateSecret), ask(next)}; got != [2]int{200, 200} {
		t.Errorf("while both are valid, the old and the new token get %v, want 200 and 200", got)
	}
	if err := rewrite(next); err != nil {
		t.Error(err)
	}
	if got := [2]int{ask(webtest.OperateSecret), ask(next)}; got != [2]int{401, 200} {
		t.Errorf("afterwards the old and the new token get %v, want 401 and 200", got)
	}
	if err := rewrite(""); err == nil {
		t.Error("got no error for a file without a token, want one")
	}
	if got := ask(next); got != 200 {
		t.Errorf("after a refused file: status %d, want 200", got)
	}
	if got := w.asked[len(w.asked)-1].Actor; got != "operate" {
		t.Errorf("the actor of a token without a name is %q, want operate", got)
	}
}

func TestTokenFilesThatAreRefused(t *testing.T) {
	for _, c := range []struct{ read, operate, want string }{
		{"", "# only this", "holds no token"},
		{"", "short", "at least 20"},
		{"", "a b " + webtest.OperateSecret, "neither a token nor a name"},
		{"", strings.Repeat("n", 65) + " " + webtest.OperateSecret, "neither a token nor a name"},
		{webtest.OperateSecret, "ops " + webtest.OperateSecret, "in both"},
		{"", strings.Repeat("x", 70_000), "token too long"},
	} {
		read := ""
		if c.read != "" {
			read = webtest.TokenFile(t, "read", c.read)
		}
		tokens, err := web.LoadTokens(read, webtest.TokenFile(t, "operate", c.operate))
		if err == nil || tokens != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("the files %.40q and %.40q: got %v, want an error with the reason", c.read, c.operate, err)
		}
		if strings.Contains(fmt.Sprint(err), webtest.OperateSecret) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
	if _, err := web.LoadTokens("", t.TempDir()+"/missing"); err == nil || !strings.Contains(err.Error(), "operate tokens cannot be read") {
		t.Errorf("a missing file: got %v, want an error that the operate tokens cannot be read", err)
	}
	none, err := web.LoadTokens("", "")
	if err != nil || none.Any() || (*web.Tokens)(nil).Any() {
		t.Errorf("no files: got %v, or tokens; want neither", err)
	}
}
