package ui_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
)

// document is the API's, with which all is compared that the stand-in says and the page asks: what passes here, a node says and takes too.
type document struct {
	t  testing.TB
	is *apiDocument
}

type apiDocument struct {
	mu sync.Mutex
	*webtest.Spec
}

// events have the schema of each kind of event of a stream; an event of the history has no name.
var events = map[string]string{"": "Event", "alert": "AlertEvent", "source": "Source", "beats": "Beats", "scope": "RowChange", "job": "QueueEvent", "transaction": "TransactionEvent"}

// theDocument reads the document of a node with all services.
func theDocument(t testing.TB) document {
	t.Helper()
	files, err := filepath.Glob("../service/*/openapi.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("services' documents are %q, %v", files, err)
	}
	var parts []string
	for _, file := range append(files, "../node/openapi.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, string(text))
	}
	return document{t, &apiDocument{Spec: webtest.Read(t, parts...)}}
}

// compared serves as a handler does, and compares what it is asked and what it answers, if that ends.
func (d document) compared(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the browser has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		for _, fault := range d.request(r, body) {
			d.t.Errorf("the page asks %s %s: %s", r.Method, r.URL, fault)
		}
		if strings.HasSuffix(r.URL.Path, "/events") {
			serve(w, r)
			return
		}
		out := httptest.NewRecorder()
		serve(out, r)
		if out.Body.Len() == 0 && len(out.Header()) == 0 {
			return // it did not answer at all
		}
		for _, fault := range d.answer(r, out) {
			d.t.Errorf("the stand-in answers %s %s: %s", r.Method, r.URL, fault)
		}
		maps.Copy(w.Header(), out.Header())
		w.WriteHeader(out.Code)
		_, _ = w.Write(out.Body.Bytes()) // fails if the browser has gone
	}
}

// request lists what is not documented of a request.
func (d document) request(r *http.Request, body []byte) (faults []string) {
	d.is.mu.Lock()
	defer d.is.mu.Unlock()
	operation := d.is.Operation(r)
	if operation == "" {
		return []string{"no such operation is documented"}
	}
	known := d.is.Parameters(operation, "query")
	for name := range r.URL.Query() {
		if !slices.Contains(known, name) {
			faults = append(faults, "it has no parameter "+name)
		}
	}
	if r.Method == http.MethodGet {
		return faults
	}
	method, path, _ := strings.Cut(operation, " ")
	schema := d.is.At(d.is.Root(), "paths", path, strings.ToLower(method), "requestBody", "content", "application/json", "schema")
	var v any
	if schema == nil && string(body) == "{}" {
		return faults
	}
	if err := json.Unmarshal(body, &v); err != nil || schema == nil {
		return append(faults, "its body is no JSON that is documented: "+string(body))
	}
	return append(faults, d.is.Faults("body", schema, v)...)
}

func (d document) answer(r *http.Request, out *httptest.ResponseRecorder) []string {
	var v any
	if err := json.Unmarshal(out.Body.Bytes(), &v); err != nil {
		return []string{err.Error()}
	}
	d.is.mu.Lock()
	defer d.is.mu.Unlock()
	return d.is.Check(d.is.Operation(r), out.Code, out.Header().Get("Content-Type"), v)
}

// event writes the data of an event of a stream.
func (d document) event(kind string, v any) []byte {
	for _, fault := range d.faultsOf(kind, v) {
		d.t.Errorf("the stand-in's stream says %q: %s", kind, fault)
	}
	return encoded(v)
}

func (d document) faultsOf(kind string, v any) []string {
	var data any
	if err := json.Unmarshal(encoded(v), &data); err != nil {
		return []string{err.Error()}
	}
	name, known := events[kind]
	if !known {
		return []string{"no schema is named for it: add it to events"}
	}
	d.is.mu.Lock()
	defer d.is.mu.Unlock()
	return d.is.Faults(kind, d.is.At(d.is.Root(), "components", "schemas", name), data)
}

// What compares finds what differs: a guard that cannot fail is none.
func TestTheStandInIsCompared(t *testing.T) {
	t.Parallel()
	d := theDocument(t)
	ask := func(method, url, body string) []string {
		return d.request(httptest.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body)), []byte(body))
	}
	reply := func(url string, v any) []string {
		out := httptest.NewRecorder()
		answer(out, v)
		return d.answer(httptest.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody), out)
	}
	for what, faults := range map[string][]string{
		"a parameter that is none":    ask("GET", "/v1/scopes?view=dense&since=1", ""),
		"an operation that is none":   ask("GET", "/v1/leaders", ""),
		"a member of a body":          ask("POST", "/v1/drain", `{"scope":"a","epoch":7}`),
		"an event's member":           d.faultsOf("", object{"id": 1, "at": "2026-03-01T11:00:00Z", "scope": "a", "epoch": 1, "holder": "b", "event": "won", "reason": "", "actor": ""}),
		"beats without a member":      d.faultsOf("beats", object{"as_of": "2026-03-01T11:00:00Z", "holders": []object{{"holder": "a", "age_ms": 1, "scopes": 1, "late": 0}}}),
		"an event that nobody named":  d.faultsOf("surprise", object{}),
		"an answer without a member":  reply("/v1/history", object{"events": []object{}}),
		"an answer with another name": reply("/v1/session", object{"name": "a", "may": "read", "tokens": true, "node": "n", "version": "v", "now": "2026-03-01T11:00:00Z", "who": "a"}),
	} {
		if len(faults) == 0 {
			t.Errorf("%s passes", what)
		}
	}
	if faults := ask("POST", "/v1/drain", `{"scope":"a","if_epoch":7}`); faults != nil {
		t.Errorf("a sound request: %q", faults)
	}
}

// object is a JSON document, as the API's document has it.
type object = map[string]any
