package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// S32: a page needs no token, since a browser sends none when it opens one, and a link from elsewhere may lead to it. All else
// is as it was: what is no page, and a page for other methods than GET and HEAD.
func TestPagesNeedNoToken(t *testing.T) {
	t.Parallel()
	tokens := webtest.Tokens(t)
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the page") })
	site := webtest.Site(t, &webtest.Log{}, nil, func(c *web.Config) {
		c.Tokens, c.Pages = tokens, map[string]http.Handler{"/": page, "/assets/a.js": page}
	})
	api := site.API()
	for _, x := range []struct {
		ask    string
		path   string
		status int
	}{
		{"GET", "/", 200}, {"HEAD", "/", 200}, {"GET", "/assets/a.js", 200},
		{"POST", "/", 401}, {"GET", "/assets/b.js", 401}, {"GET", "/assets/", 401}, {"GET", "/v1/scopes", 401},
	} {
		r, out := httptest.NewRequestWithContext(t.Context(), x.ask, x.path, http.NoBody), httptest.NewRecorder()
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		api.ServeHTTP(out, r)
		if out.Code != x.status || out.Code == 200 && x.ask == "GET" && out.Body.String() != "the page" {
			t.Errorf("%s %s: %d %s, want %d", x.ask, x.path, out.Code, out.Body, x.status)
		}
	}
}
