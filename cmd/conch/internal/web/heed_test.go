package web_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

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
		{[]string{"a", "a"}, "", "!is there 2 times"},
		{[]string{"a", "b"}, "a", "!is there 2 times"},
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
			p := web.ProblemOf(err)
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
