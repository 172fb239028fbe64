package files

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// made is fake file data, which tests prepare.
type made struct {
	catalog Catalog
	scopes  []string
	broken  error // of reads, at their first byte
	half    bool  // reads fail after two bytes
	err     error // of writes
	copies  []int
	wrote   string
	large   *strings.Reader // the content of a large file; nil: none
	busy    func()          // called before each read of a write's content
}

func newMade() *made {
	return &made{scopes: []string{"data"}, catalog: Catalog{
		Version: Version{Epoch: 7, Seq: 3}, Leading: true, Holder: "node-1", AsOf: time.Unix(9, 0),
		Files: []Entry{{Name: "b", Size: 2}, {Name: "a/c", Size: 5}}, Peers: map[string]Version{"node-2": {Epoch: 7, Seq: 2}},
	}}
}

func (c *made) Scopes() []string { return c.scopes }

func (c *made) Scope(scope string) data {
	if scope != "data" {
		return nil
	}
	return c
}

func (c *made) Peers(string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, "peer "+r.URL.Path) })
}

func (c *made) Catalog() Catalog { return c.catalog }

func (c *made) Open(name string) (*Content, error) {
	switch name {
	case "a/c":
		if c.large != nil {
			return &Content{ReadCloser: io.NopCloser(c.large), Size: c.large.Size()}, nil
		}
		return &Content{ReadCloser: io.NopCloser(c.reader("hello")), Size: 5, Version: c.catalog.Version, AsOf: c.catalog.AsOf}, nil
	case "bad\x01name":
		return nil, &web.FieldError{Field: "name", Text: "has a control character"}
	}
	return nil, errUnknown
}

func (c *made) reader(text string) io.Reader {
	if c.broken != nil {
		return failing{c.broken}
	}
	if c.half {
		return io.MultiReader(strings.NewReader(text[:2]), failing{webtest.ErrAway})
	}
	return strings.NewReader(text)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func (c *made) Write(_ context.Context, name string, content io.Reader, copies int) (Written, error) {
	if name == "bad\x01name" {
		return Written{}, &web.FieldError{Field: "name", Text: "has a control character"}
	}
	c.copies = append(c.copies, copies)
	written := Written{Version: c.catalog.Version, Copies: 1}
	if content != nil {
		if c.busy != nil {
			content = slow{content, c.busy}
		}
		text, err := io.ReadAll(content)
		if err != nil {
			return written, err
		}
		c.wrote, written.Size = string(text), int64(len(text))
	}
	return written, c.err
}

// slow calls busy before each read.
type slow struct {
	io.Reader
	busy func()
}

func (s slow) Read(to []byte) (int, error) {
	s.busy()
	return s.Reader.Read(to)
}

// world is an API over fake files.
type world struct {
	files *made
	logs  *webtest.Log
	more  func(*web.Config)
}

func newWorld() *world { return &world{files: newMade(), logs: &webtest.Log{}} }

func (w *world) site(t testing.TB) *web.Site {
	t.Helper()
	one := &api{files: w.files, log: slog.New(slog.NewTextHandler(w.logs, nil))}
	return webtest.Site(t, w.logs, one.routes(), w.more)
}

func worldAndSite(t *testing.T) (*world, *web.Site) {
	w := newWorld()
	return w, w.site(t)
}

type exchange = webtest.Exchange[*world]

// Each route gives each of its documented answers, and no other.
func TestAnswers(t *testing.T) {
	ours := func(operation string) bool {
		return strings.Contains(operation, "/v1/files") || strings.Contains(operation, "/v1/catalog")
	}
	webtest.Answers(t, webtest.Read(t, openAPI), fileAnswers, ours, newWorld, func(t *testing.T, w *world) http.Handler { return w.site(t).API() })
}

func refuses(err error) func(*world) { return func(w *world) { w.files.err = err } }

const toCatalog = "GET /v1/catalog?scope=data"

var fileAnswers = []exchange{
	{Name: "all scopes", Ask: "GET /v1/files", Status: 200, Want: `{"scopes":[{"scope":"data","version":{"epoch":7,"seq":3},"leading":true,"holder":"node-1","as_of":"1970-01-01T00:00:09Z","files":2,"bytes":7,"peers":{"node-2":{"epoch":7,"seq":2}}}]}`},
	{Name: "no scope", Given: func(w *world) { w.files.scopes = nil }, Ask: "GET /v1/files", Status: 200, Want: `{"scopes":[]}`},
	{Name: "a scope that a reload has removed", Given: func(w *world) { w.files.scopes = []string{"data", "gone"} }, Ask: "GET /v1/files", Status: 200, Want: `"scopes":[{"scope":"data"`},
	{Name: "a catalog", Ask: toCatalog, Status: 200, Want: `{"scope":"data","version":{"epoch":7,"seq":3},"leading":true,"holder":"node-1","found":2,"files":[{"name":"a/c","size":5},{"name":"b","size":2}],"next":null}`},
	{Name: "a part of a catalog", Ask: toCatalog + "&limit=1", Status: 200, Want: `"found":2,"files":[{"name":"a/c","size":5}],"next":"a/c"`},
	{Name: "the next part", Ask: toCatalog + "&limit=1&after=a/c", Status: 200, Want: `"found":2,"files":[{"name":"b","size":2}],"next":null`},
	{Name: "some of a catalog", Ask: toCatalog + "&q=A/", Status: 200, Want: `"found":1,"files":[{"name":"a/c","size":5}],"next":null`},
	{Name: "no limit", Ask: toCatalog + "&limit=0", Status: 400, Want: `"field":"limit"`},
	{Name: "no scope in the query", Ask: "GET /v1/catalog", Status: 404, Want: "no-files"},
	{Name: "unknown scope", Ask: "GET /v1/catalog?scope=other", Status: 404, Want: "no-files"},
	{Name: "all", Ask: "GET /v1/files/data", Status: 200, Want: `{"version":{"epoch":7,"seq":3},"leading":true,"holder":"node-1","files":[{"name":"a/c","size":5},{"name":"b","size":2}],"peers":{"node-2":{"epoch":7,"seq":2}}}`},
	{Name: "when", Ask: "GET /v1/files/data", Status: 200, Want: `"as_of":"1970-01-01T00:00:09Z"`},
	{Name: "unknown scope", Ask: "GET /v1/files/other", Status: 404, Want: "no-files"},
	{Name: "content", Ask: "GET /v1/files/data/a/c", Status: 200, Want: "hello", Sends: "Conch-Version: 7.3"},
	{Name: "how old", Ask: "GET /v1/files/data/a/c", Status: 200, Want: "hello", Sends: "Conch-As-Of: 1970-01-01T00:00:09Z"},
	{Name: "unknown file", Ask: "GET /v1/files/data/x", Status: 404, Want: "unknown-file"},
	{Name: "of an unknown scope", Ask: "GET /v1/files/other/x", Status: 404, Want: "no-files"},
	{Name: "bad name", Ask: "GET /v1/files/data/bad%01name", Status: 400, Want: `"field":"name"`},
	{Name: "rotten", Given: func(w *world) { w.files.broken = webtest.ErrAway }, Ask: "GET /v1/files/data/a/c", Status: 500, Want: webtest.ErrAway.Error()},
	{Name: "put", Ask: "PUT /v1/files/data/x/y", Body: "text", Status: 200, Want: `{"version":{"epoch":7,"seq":3},"size":4,"copies":1}`},
	{Name: "bad name", Ask: "PUT /v1/files/data/bad%01name", Body: "x", Status: 400, Want: `"field":"name"`},
	{Name: "copies", Ask: "PUT /v1/files/data/x?copies=some", Body: "x", Status: 400, Want: "copies"},
	{Name: "unknown scope", Ask: "PUT /v1/files/other/x", Body: "x", Status: 404, Want: "no-files"},
	{Name: "a follower", Given: refuses(&notLeadingError{Holder: "node-2"}), Ask: "PUT /v1/files/data/x", Body: "x", Status: 409, Want: `"holder":"node-2"`},
	{Name: "too large", Given: refuses(errTooLarge), Ask: "PUT /v1/files/data/x", Body: "x", Status: 413, Want: "no room"},
	{Name: "a full disk", Given: refuses(errors.New("no space left")), Ask: "PUT /v1/files/data/x", Body: "x", Status: 500, Want: "no space left"},
	{Name: "taking over", Given: refuses(errTakingOver), Ask: "PUT /v1/files/data/x", Body: "x", Status: 503, Want: "taking-over", Sends: "Retry-After: 1"},
	{Name: "unconfirmed", Given: refuses(errUnconfirmed), Ask: "PUT /v1/files/data/x", Body: "x", Status: 504, Want: "may or may not survive"},
	{Name: "remove", Ask: "DELETE /v1/files/data/b", Status: 200, Want: `{"version":{"epoch":7,"seq":3},"size":0,"copies":1}`},
	{Name: "copies", Ask: "DELETE /v1/files/data/b?copies=-1", Status: 400, Want: "copies"},
	{Name: "unknown scope", Ask: "DELETE /v1/files/other/x", Status: 404, Want: "no-files"},
	{Name: "a follower", Given: refuses(&notLeadingError{Holder: "node-2"}), Ask: "DELETE /v1/files/data/b", Status: 409, Want: "not-leading"},
	{Name: "taking over", Given: refuses(errTakingOver), Ask: "DELETE /v1/files/data/b", Status: 503, Want: "taking-over"},
	{Name: "unconfirmed", Given: refuses(errUnconfirmed), Ask: "DELETE /v1/files/data/b", Status: 504, Want: "unconfirmed"},
}

// S22: a token to read allows neither writes nor the requests of other nodes.
func TestFilesAndTokens(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.more = func(c *web.Config) { c.Tokens = webtest.Tokens(t) }
	api := w.site(t).API()
	for _, c := range []struct {
		ask, secret string
		status      int
		want        string
	}{
		{"PUT /v1/files/data/x", webtest.ReadSecret, 403, ""}, {"PUT /v1/files/data/x", "", 401, ""}, {"DELETE /v1/files/data/x", webtest.ReadSecret, 403, ""},
		{"GET /v1/files/data/a/c", webtest.ReadSecret, 200, "hello"}, {"GET /v1/files/data/a/c", "", 401, ""},
		{"POST /v1/sync/data/promise", "", 401, ""}, {"POST /v1/sync/data/promise", webtest.ReadSecret, 403, ""}, {"GET /v1/sync/data/catalog", webtest.ReadSecret, 403, ""},
		{"POST /v1/sync/data/promise", webtest.OperateSecret, 200, "peer /promise"}, {"PUT /v1/sync/data/chunks/ab", webtest.OperateSecret, 200, "peer /chunks/ab"},
		{"POST /v1/sync/other/promise", webtest.OperateSecret, 404, "no-files"},
	} {
		r, out := exchange{Ask: c.ask, Header: "Authorization: Bearer " + c.secret}.Request(), httptest.NewRecorder()
		api.ServeHTTP(out, r)
		if out.Code != c.status || !strings.Contains(out.Body.String(), c.want) {
			t.Errorf("%s with %.4q: got %d %s, want %d with %q", c.ask, c.secret, out.Code, out.Body, c.status, c.want)
		}
	}
}

// A file may exceed the limit of other bodies, and the number of copies is passed on.
func TestALargeFile(t *testing.T) {
	t.Parallel()
	w := newWorld()
	server := httptest.NewServer(w.site(t).API())
	defer server.Close()
	large := bytes.Repeat([]byte("x"), 3<<20)
	for _, query := range []string{"", "?copies=0"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL+"/v1/files/data/x"+query, bytes.NewReader(large))
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK || w.files.wrote != string(large) {
			t.Errorf("got status %d and %d stored bytes, want 200 and %d", res.StatusCode, len(w.files.wrote), len(large))
		}
	}
	if !slices.Equal(w.files.copies, []int{-1, 0}) {
		t.Errorf("got copies %v, want -1 and 0", w.files.copies)
	}
}

// A damaged part cuts the connection, so that a truncated download does not look complete.
func TestADamagedDownloadIsCut(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.files.half = true
	server := httptest.NewServer(w.site(t).API())
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/files/data/a/c", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return // cut before the header
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err == nil {
		t.Errorf("got status %d and %q without an error, want a cut connection", res.StatusCode, text)
	}
}
