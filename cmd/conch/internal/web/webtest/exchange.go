// Package webtest helps tests of routes: with requests, the answers wanted and their comparison
// with the API's document, and with sites without sockets.
package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web"
)

// Exchange is one request and the answer wanted, in a world of type W.
type Exchange[W any] struct {
	Name   string
	Given  func(w W) // changes the world first; may be nil
	Ask    string    // "GET /v1/scopes"
	Body   string    // JSON
	Header string    // "Name: value"
	Status int
	Want   string // a JSON object: the body without as_of; other text: a part of the body
	Sends  string // a header of the answer, "Name: value"
}

// Request returns the request.
func (x Exchange[W]) Request() *http.Request {
	method, path, _ := strings.Cut(x.Ask, " ")
	r := httptest.NewRequestWithContext(context.Background(), method, path, strings.NewReader(x.Body))
	r.Host = "127.0.0.1:7070"
	if x.Body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if name, value, ok := strings.Cut(x.Header, ": "); ok {
		r.Header.Set(name, value)
		if name == "Host" {
			r.Host = value
		}
	}
	return r
}

func sameJSON(t *testing.T, got []byte, want string) bool {
	t.Helper()
	var g, w map[string]any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		return false
	}
	delete(g, "as_of")
	return reflect.DeepEqual(g, w)
}

// unclear are the statuses by which a request is wrong in a way that the status alone does not say.
var unclear = []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}

// run makes the request and compares the answer with the one wanted and with the document.
func (x Exchange[W]) run(t *testing.T, s *Spec, api http.Handler) {
	t.Helper()
	r, out := x.Request(), httptest.NewRecorder()
	api.ServeHTTP(out, r)
	s.Verify(t, r, out)
	if strings.Contains(out.Body.String(), `"type":"about:blank"`) && slices.Contains(unclear, out.Code) {
		t.Errorf("the problem has no name by which a program knows what is wrong with its request: %s", out.Body)
	}
	right := strings.Contains(out.Body.String(), x.Want)
	if strings.HasPrefix(x.Want, "{") {
		right = sameJSON(t, out.Body.Bytes(), x.Want)
	}
	if out.Code != x.Status || !right {
		t.Errorf("answered %d: %s\nwant %d: %s", out.Code, out.Body, x.Status, x.Want)
	}
	if name, value, ok := strings.Cut(x.Sends, ": "); ok && out.Header().Get(name) != value {
		t.Errorf("%s: %q, want %q", name, out.Header().Get(name), value)
	}
}

// Answers runs exchanges. Together they must give every documented answer of the operations
// that ours selects, and no undocumented one.
func Answers[W any](t *testing.T, s *Spec, all []Exchange[W], ours func(operation string) bool, world func() W, api func(t *testing.T, w W) http.Handler) {
	t.Helper()
	for _, x := range all {
		t.Run(x.Ask+" "+x.Name, func(t *testing.T) {
			w := world()
			if x.Given != nil {
				x.Given(w)
			}
			x.run(t, s, api(t, w))
		})
	}
	for _, operation := range s.Operations() {
		if ours(operation) && strings.Contains(operation, " /v1/") {
			s.refusesOthers(t, operation, api(t, world()))
			s.heedsKey(t, operation, api(t, world()))
		}
	}
	for _, missing := range s.Unseen(ours) {
		t.Errorf("openapi.yaml documents %s, and no example gives it", missing)
	}
}

// named matches the variables of a path.
var named = regexp.MustCompile(`{\w+(\.\.\.)?}`)

// answered asks for an operation. What is served all the same, such as a stream, ends at once.
func answered(api http.Handler, operation, query, header string) *httptest.ResponseRecorder {
	r, out := Exchange[any]{Ask: named.ReplaceAllString(operation, "x") + query, Header: header}.Request(), httptest.NewRecorder()
	over, cancel := context.WithCancel(r.Context())
	cancel()
	api.ServeHTTP(out, r.WithContext(over))
	return out
}

// refusesOthers checks that an operation is not there for pages of other sites, whatever it does, and that it refuses a parameter
// that it does not have, and names those that are documented.
func (s *Spec) refusesOthers(t *testing.T, operation string, api http.Handler) {
	t.Helper()
	out := answered(api, operation, "", "Sec-Fetch-Site: cross-site")
	if out.Code != http.StatusForbidden || !strings.Contains(out.Body.String(), "another site") {
		t.Errorf("%s for a page of another site: %d %s, want 403", operation, out.Code, out.Body)
	}
	out = answered(api, operation, "?nobody-knows-it=1", "")
	want := "none"
	if names := s.Parameters(operation, "query"); len(names) > 0 {
		want = strings.Join(names, ", ")
	}
	var p web.Problem
	_ = json.Unmarshal(out.Body.Bytes(), &p) // what is none has no field
	_, has, _ := strings.Cut(p.Detail, ", which has ")
	names := strings.Split(has, ", ")
	slices.Sort(names)
	if has = strings.Join(names, ", "); out.Code != http.StatusBadRequest || p.Field != "nobody-knows-it" || has != want && operation != "GET /v1/events" {
		t.Errorf("%s with a parameter that nobody knows: %d %s, want 400 and that it has %s", operation, out.Code, out.Body, want)
	}
}

// heedsKey checks that an operation whose document has the header Idempotency-Key does not refuse it, and that any other
// operation that changes something does.
func (s *Spec) heedsKey(t *testing.T, operation string, api http.Handler) {
	t.Helper()
	if strings.HasPrefix(operation, "GET ") || !strings.Contains(fmt.Sprint(s.part(operation, "security")), "operate") {
		return
	}
	out := answered(api, operation, "", "Idempotency-Key: a")
	documented := slices.Contains(s.Parameters(operation, "header"), "Idempotency-Key")
	if refused := strings.Contains(out.Body.String(), "unheeded-header"); refused == documented {
		t.Errorf("%s with an Idempotency-Key: %d %s; documented: %v", operation, out.Code, out.Body, documented)
	}
}
