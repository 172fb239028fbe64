package web_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// told is an event of a page's stream.
type told struct {
	id, name string
	data     map[string]any
}

var theDocument = sync.OnceValue(func() *webtest.Spec { return webtest.Read(new(testing.T)) })

// schemas of the events of a page's stream; that of events without a name is Event.
var liveSchemas = map[string]string{"source": "Source", "beats": "Beats", "scope": "RowChange", "": "Event"}

// next returns the next event; ok is false at the end. It compares what it reads with the document.
func (s *stream) next() (e told, ok bool) {
	s.t.Helper()
	for {
		line := s.line()
		switch key, value, _ := strings.Cut(line, ": "); key {
		case "":
			if line == "" {
				return e, false
			}
		case "id":
			e = told{id: value}
		case "event":
			e.name = value
		case "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				s.t.Fatalf("%s: %v", line, err)
			}
			doc := theDocument()
			if name, known := liveSchemas[e.name]; known {
				for _, f := range doc.Faults(e.name, doc.At(doc.Root(), "components", "schemas", name), e.data) {
					s.t.Error(f)
				}
			}
			return e, true
		}
	}
}

// await reads events until one of a name fits, and returns it with the names of those before it.
func (s *stream) await(name string, fits func(data map[string]any) bool) (e told, before []string) { //nolint:unparam // see one
	s.t.Helper()
	for {
		e, ok := s.next()
		if !ok {
			s.t.Fatalf("the stream ended before %s, after %q: %v", name, before, s.lines.Err())
		}
		if e.name == name && (fits == nil || fits(e.data)) {
			return e, before
		}
		before = append(before, e.name)
	}
}

func is(key string, want any) func(map[string]any) bool {
	return func(data map[string]any) bool { return data[key] == want }
}

// rowsOf returns the scopes of a change, each with its state.
func rowsOf(e told) (all []string) {
	rows, _ := e.data["rows"].([]any)
	for _, r := range rows {
		row, _ := r.(map[string]any)
		all = append(all, fmt.Sprint(row["scope"], ":", row["state"]))
	}
	return all
}

// change changes one scope and records an event, as an election does.
func (w *world) change(id int64, scope string, change func(*pgops.ScopeStatus)) {
	w.set(func() {
		for i := range w.leaderships {
			if w.leaderships[i].Scope == scope {
				change(&w.leaderships[i])
			}
		}
	})
	w.add(id, scope, "lost")
}

// F8: with a server of Postgres stopped a page's stream says within five seconds that nothing is known, no answer says that somebody
// leads, and all is known again without a new stream once the server is back.
func TestAStoppedServerIsNotShownAsLive(t *testing.T) {
	t.Parallel()
	server := pgtest.Own(t, postmaster.Config{})
	db := &pgtest.DB{URL: server.URL("postgres")}
	if err := pgmint.Tables.Up(t.Context(), db.Connect(t), nil); err != nil {
		t.Fatal(err)
	}
	a := newNode(t, db, "a", nil)
	a.campaign(t)
	a.leads(t)
	page, plain := follow(t, a.ln, "/v1/events?live=yes"), follow(t, a.ln, "/v1/events")
	page.await("source", is("database", "up"))
	page.await("beats", func(b map[string]any) bool { return len(b["holders"].([]any)) == 1 })
	if _, o, _ := a.ask(t, "GET /v1/overview", ""); o["verdict"].(map[string]any)["text"] != "The one scope is led" {
		t.Errorf("the verdict is %v, want that the one scope is led", o["verdict"])
	}
	a.ask(t, "GET /v1/scopes", "")

	server.Kill9()
	<-server.Gone()
	e, _ := page.await("source", is("database", "away"))
	if e.data["why"] == nil || e.data["for_ms"].(float64) > 5000 { // since the last answer, on the node's own clock
		t.Errorf("told as %v, want a reason, and within five seconds of the last answer", e.data)
	}
	plain.await("source", is("database", "away"))
	status, o, _ := a.ask(t, "GET /v1/overview", "")
	verdict, _ := o["verdict"].(map[string]any)
	if status != 200 || !o["stale"].(bool) || verdict["state"] != "unknown" || !strings.HasPrefix(fmt.Sprint(verdict["text"]), "Not known: the database has not answered for ") {
		t.Errorf("the overview of a stopped server: %d %v, want that it is not known", status, o)
	}
	if status, rows, _ := a.ask(t, "GET /v1/scopes?view=dense", ""); status != 200 || !rows["stale"].(bool) || rows["source"].(map[string]any)["database"] != "away" {
		t.Errorf("the rows of a stopped server: %d %v, want that they are stale", status, rows)
	}
	if _, all, text := a.ask(t, "GET /v1/scopes", ""); !all["stale"].(bool) || strings.Contains(text, `"held":true`) {
		t.Errorf("the scopes of a stopped server: %s, want stale, and nobody who surely leads", text)
	}
	late := follow(t, a.ln, "/v1/events?live=yes") // begins all the same
	late.await("source", is("database", "away"))

	if err := server.StartAgain(t.Context()); err != nil {
		t.Fatal(err)
	}
	page.await("source", is("database", "up"))
	plain.await("source", is("database", "up"))
	late.await("source", is("database", "up"))
}

// A page's stream that begins while the database is away says so, and ends once it is back, for its client to come again and follow
// the history too. It loses nothing and doubles nothing by that.
func TestAPageBeginsWithoutADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld()
	crowd(w)
	w.err = webtest.ErrAway
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events?live=yes")
	s.await("source", is("database", "away"))
	w.set(func() { w.err = nil })
	s.await("source", is("database", "up"))
	for e, open := s.next(); open; e, open = s.next() {
		if e.name != "beats" {
			t.Errorf("it goes on with %v, want its end", e)
		}
	}
	s = follow(t, ln, "/v1/events?live=yes")
	s.await("beats", nil)
	w.add(1, "zoo", "acquired")
	s.await("", is("id", 1.0))
}

// A client that was away gets each row that has changed once, in its newest form, and no event twice; one that comes from another
// process is told to read all.
func TestPageResumesWithoutLossOrDoubles(t *testing.T) {
	t.Parallel()
	w := newWorld()
	crowd(w)
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events?live=yes")
	s.await("beats", nil)
	w.change(1, "late", func(l *pgops.ScopeStatus) { l.HeartbeatAgeMS = 1 })
	e, _ := s.await("scope", nil)
	if got := rowsOf(e); !slices.Equal(got, []string{"late:led"}) || e.id == "" {
		t.Errorf("a change is told as %q with the id %q, want the one row and an id", got, e.id)
	}
	s.close()
	w.change(2, "fails", func(l *pgops.ScopeStatus) { l.Failures = 0 })
	w.change(3, "fails", func(l *pgops.ScopeStatus) { l.Epoch = 9 })
	w.change(4, "gone", func(l *pgops.ScopeStatus) { l.Held = true })
	again := follow(t, ln, "/v1/events?live=yes", "Last-Event-ID: "+e.id)
	var events, rows []string
	last := ""
	for len(rows) < 2 || len(events) < 3 {
		e, ok := again.next()
		if !ok {
			t.Fatalf("the stream ended after %q and %q", events, rows)
		}
		switch e.name {
		case "scope":
			rows = append(rows, rowsOf(e)...)
			last = e.id
		case "":
			events = append(events, fmt.Sprint(e.data["id"]))
			last = e.id
		case "gap":
			t.Errorf("a gap: %v", e.data)
		}
	}
	slices.Sort(rows)
	if !slices.Equal(slices.Compact(rows), []string{"fails:led", "gone:led"}) || !slices.Contains([]string{"1 2 3 4", "2 3 4"}, strings.Join(events, " ")) {
		t.Errorf("missed: the rows %q and the events %q, want the two that changed and the three events", rows, events)
	}
	again.close()

	other := listen(t, nil)
	webtest.Serve(t, w.site(t), other)
	if e, _ := follow(t, other, "/v1/events?live=yes", "Last-Event-ID: "+last).await("gap", is("of", "scope")); e.data["why"] == "" {
		t.Errorf("the gap is %v, want a reason", e.data)
	}
}

// A row that goes, and one that comes back, are told; a row alone in its heartbeat's age is not.
func TestRowsComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld()
	crowd(w)
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	s := follow(t, ln, "/v1/events?live=yes")
	s.await("beats", nil)
	w.change(1, "payments", func(l *pgops.ScopeStatus) { l.HeartbeatAgeMS = 700 })
	w.set(func() {
		w.leaderships = slices.DeleteFunc(w.leaderships, func(l pgops.ScopeStatus) bool { return l.Scope == "zoo" })
	})
	w.add(2, "zoo", "lost")
	e, _ := s.await("scope", nil)
	if gone, _ := e.data["gone"].([]any); len(gone) != 1 || gone[0] != "zoo" || len(rowsOf(e)) != 0 {
		t.Errorf("what has gone is told as %v, want zoo alone", e.data)
	}
}

// The verdict and the rows of a node without a database are those of its own roles.
func TestAPageWithoutADatabase(t *testing.T) {
	t.Parallel()
	w := newWorld()
	alone(w)
	site := w.site(t)
	out := httptest.NewRecorder()
	site.API().ServeHTTP(out, exchange{Ask: "GET /v1/scopes?view=dense"}.Request())
	for _, want := range []string{`"database":"none"`, `"scope":"payments","state":"led","epoch":0,"holder":"node-1"`, `"scope":"a/b","state":"nobody"`} {
		if !strings.Contains(out.Body.String(), want) {
			t.Errorf("the rows are %s, want %s", out.Body, want)
		}
	}
}

// A node that dies with 500 scopes is one burst on the wire of a page, of 20 kB at most, in as many events as the page needs.
func TestABurstIsSmall(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i := range 1000 {
		w.leaderships = append(w.leaderships, pgops.ScopeStatus{
			Scope: fmt.Sprintf("tenant-%d/billing", i), Epoch: 7, Holder: fmt.Sprint("node-", i%2), AcquiredAt: beat, Held: true, LeaseMS: 3000,
			Candidates: []string{"node-0", "node-1", "node-2"}, HeartbeatAgeMS: int64(i % 600),
		})
	}
	ln := listen(t, nil)
	webtest.Serve(t, w.site(t), ln)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ln.Addr().String()+"/v1/events?live=yes", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip") // so that the transport does not unpack it
	res, err := webtest.Client(t, &http.Transport{}).Do(r)
	if err != nil || res.Header.Get("Content-Encoding") != "gzip" {
		t.Fatalf("%v, %v; want a compressed stream", res, err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	wire := &counted{Reader: res.Body}
	unpacked, err := gzip.NewReader(wire)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{t: t, lines: bufio.NewScanner(unpacked)}
	s.lines.Buffer(nil, 1<<20)
	s.await("beats", nil)
	before := wire.bytes
	w.set(func() {
		for i := range w.leaderships {
			l := &w.leaderships[i]
			if l.Holder != "node-1" {
				continue
			}
			l.Holder, l.Epoch, l.AcquiredAt, l.Candidates = "node-2", 8, beat.Add(time.Minute+time.Duration(i)*time.Millisecond), []string{"node-0", "node-2"}
			w.events = append(w.events,
				pgops.Event{ID: int64(2*i + 1), At: beat, Scope: l.Scope, Epoch: 7, Holder: "node-1", Event: "lost", Reason: "its session ended without a farewell"},
				pgops.Event{ID: int64(2*i + 2), At: beat, Scope: l.Scope, Epoch: 8, Holder: "node-2", Event: "acquired", GapMS: new(int64(400 + i))})
		}
	})
	rows, events := 0, 0
	for rows < 500 || events < 1000 {
		e, ok := s.next()
		if !ok {
			t.Fatalf("the stream ended after %d rows and %d events: %v", rows, events, s.lines.Err())
		}
		switch e.name {
		case "scope":
			rows += len(rowsOf(e))
		case "":
			events++
		}
	}
	t.Logf("%d bytes for %d rows and %d events", wire.bytes-before, rows, events)
	if wire.bytes-before > 20<<10 {
		t.Errorf("%d bytes on the wire, want 20 kB at most", wire.bytes-before)
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	bytes int
}

func (c *counted) Read(p []byte) (n int, err error) {
	n, err = c.Reader.Read(p)
	c.bytes += n
	return n, err
}
