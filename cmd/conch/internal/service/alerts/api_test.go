package alerts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/alerts/memory"
	"github.com/conchhq/conch/alerts/pgstore"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/receiver"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// withReceivers loads a file with a webhook at an address, and a heartbeat at it too.
func withReceivers(t testing.TB, url, more string) config.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := cluster + fmt.Sprintf("[[notify]]\nname = \"a/hook\"\nkind = \"webhook\"\nurl = %q\nsecret_file = %q\n[[notify]]\nname = \"heart\"\nkind = \"heartbeat\"\nurl = %q\n", url, file, url) + more
	beside := configtest.Beside(func() config.Section { return new(receiver.Section) }, func() config.Section { return new(Section) })
	c, err := configtest.Load(t, text, config.Source{Named: true, Sections: beside}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// world is a node of a cluster with some alerts.
type world struct {
	t    *testing.T
	s    *service
	away *pgstore.Store
	*now
}

// now is what an exchange may change in its world.
type now struct {
	none, down bool
	patience   time.Duration
}

const lasts = "0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11"

func newWorld(t *testing.T, url string) *world {
	t.Helper()
	away, err := pgstore.Open(t.Context(), pg.Config{URL: "postgres://127.0.0.1:1/none"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(away.Close)
	c := withReceivers(t, url, "[[alerts]]\nname = \"waits\"\ncondition = \"conch_is_leader > 1\"\nfor = \"1m\"\nseverity = \"info\"\ngroup_by = [\"scope\"]\nannotations = { summary = \"{{ $labels.scope }} waits\" }\n")
	u := setupOf(c, "n1", true, func(key string, err error) {
		if err != nil {
			t.Fatal(key, err)
		}
	})
	kept := memory.NewStore()
	w := &world{t: t, away: away, now: new(now), s: &service{
		frame: node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Board: web.NewBoard()}, store: kept, ledger: newLedger(), patience: time.Minute, setup: u, changed: make(chan struct{}),
	}}
	if err := kept.Record(t.Context(), fence.Token{}, rowsOf(time.Now().UTC().Truncate(time.Second))); err != nil {
		t.Fatal(err)
	}
	for id, ends := range map[string]time.Duration{lasts: time.Hour, "old": -time.Minute, "next": 2 * time.Hour} {
		one := alerts.Silence{ID: id, Matchers: []alerts.Matcher{{Label: "scope", Op: "=", Value: "c"}}, Since: time.Now().Add(-2 * time.Hour), Until: time.Now().Add(ends), By: "ann", Comment: "we know"}
		if id == "next" {
			one.Since = time.Now().Add(time.Hour)
		}
		if err := kept.SetSilence(t.Context(), one); err != nil {
			t.Fatal(err)
		}
	}
	w.s.ledger.failed[[2]string{"a/hook", "k1"}] = failure{time.Now(), "answer 500"}
	return w
}

// rowsOf are an alert in each state, and one that has never fired.
func rowsOf(at time.Time) alerts.Rows {
	ago := func(d time.Duration) time.Time { return at.Add(-d) }
	scope := func(name string) map[string]string { return map[string]string{"scope": name} }
	return alerts.Rows{
		Groups: []alerts.Group{
			{Key: "k1", Rule: "ConchNobodyLeads", Labels: map[string]string{}, Seq: 5, Fires: true, Since: ago(time.Minute)},
			{Key: "k2", Rule: "waits", Labels: scope("b"), Seq: 0},
			{Key: "k3", Rule: "ConchFlapping", Labels: map[string]string{}, Seq: 0},
			{Key: "k4", Rule: "waits", Labels: scope("d"), Seq: 7, Since: ago(time.Hour), Until: ago(time.Minute), Fired: []alerts.Firer{{Labels: scope("d"), Value: 2, Since: ago(time.Hour)}}, Count: 12},
			{Key: "k5", Rule: alerts.AwayRule, Labels: map[string]string{}, Seq: 7, Since: ago(time.Hour), Until: ago(time.Minute)},
			{Key: "k6", Rule: "gone", Labels: map[string]string{}},
		},
		Members: []alerts.Standing{
			{Key: "k1", ID: "1", Labels: scope("a<b>"), Since: ago(2 * time.Minute), Fires: ago(time.Minute), Seq: 5},
			{Key: "k1", ID: "2", Labels: scope("z"), Since: ago(time.Second)},
			{Key: "k2", ID: "1", Labels: scope("b"), Value: 2, Since: ago(30 * time.Second)},
			{Key: "k3", ID: "1", Labels: scope("c"), Value: 9, Since: ago(time.Hour), Fires: ago(time.Hour), Muted: lasts},
		},
		Tellings: []alerts.Telling{
			{Key: "k1", Receiver: "a/hook", Told: 4, Seq: 5},
			{Key: "k4", Receiver: "a/hook", Told: 7, Seq: 7, Knows: alerts.Resolved, At: ago(time.Minute)},
		},
		Evaluation: &alerts.Evaluation{N: 3, At: at, Node: "n2", Troubles: map[string]alerts.Failing{"waits": {Since: at, NoData: true}}},
	}
}

func (w *world) again() *world {
	w.now = new(now)
	return w
}

func (w *world) handler(t testing.TB) http.Handler {
	t.Helper()
	own := &service{frame: w.s.frame, store: w.s.store, ledger: w.s.ledger, patience: w.s.patience, setup: w.s.setup, changed: w.s.changed}
	if w.none {
		own.setup = nil
	}
	if w.down || w.now.patience > 0 {
		own.store = w.away
	}
	if w.now.patience > 0 {
		own.patience = w.now.patience
	}
	return webtest.Site(t, &webtest.Log{}, own.routes(), func(*web.Config) {}).API()
}

type exchange = webtest.Exchange[*world]

// F9: each route gives every answer that is documented, and no other (B7).
func TestAnswers(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	w := newWorld(t, server.URL)
	spec := webtest.Read(t, openAPI)
	ours := func(operation string) bool {
		return slices.ContainsFunc([]string{"/v1/alerts", "/v1/silences", "/v1/receiver"}, func(part string) bool { return strings.Contains(operation, part) })
	}
	webtest.Answers(t, spec, append(exchanges(), failures()...), ours, w.again, func(t *testing.T, w *world) http.Handler { return w.handler(t) })
}

func exchanges() []exchange {
	const (
		list  = "GET /v1/alerts"
		set   = "POST /v1/silences"
		end   = set + "/" + lasts + "/end"
		by    = `"matchers":[{"label":"scope","op":"=~","value":"a.*"}]`
		plain = "Content-Type: text/plain"
		test  = "POST /v1/receivers/a%2Fhook/test"
		named = "POST /v1/receiver/test"
	)
	none := func(w *world) { w.none = true }
	return []exchange{
		{Name: "all", Ask: list, Status: 200, Want: `"counts":{"firing":1,"silenced":1,"pending":1,"resolved":1},"alerts":[{"key":"k1","rule":"ConchNobodyLeads","severity":"critical","state":"firing","labels":{},"summary":"nobody leads a\u003cb\u003e"`},
		{Name: "who was told", Ask: list + "?rule=ConchNobodyLeads", Status: 200, Want: `"tellings":[{"receiver":"a/hook","state":"failing","knows":"nothing","at":null,"why":"answer 500"}]}],"rules":[`},
		{Name: "some fire", Ask: list + "?state=firing", Status: 200, Want: `"firing":1,"silenced":0,"pending":1,"members":[{"labels":{"scope":"a\u003cb\u003e"},"value":"0","state":"firing"`},
		{Name: "silenced", Ask: list + "?state=silenced", Status: 200, Want: `"silence":"` + lasts + `","firing":0,"silenced":1,`},
		{Name: "pending", Ask: list + "?state=pending", Status: 200, Want: `"summary":"b waits","since"`},
		{Name: "over", Ask: list + "?state=resolved", Status: 200, Want: `"firing":12,"silenced":0,"pending":0,"members":[{"labels":{"scope":"d"},"value":"2","state":"resolved"`},
		{Name: "how many more", Ask: list + "?state=resolved&limit=1", Status: 200, Want: `"others":11,"tellings":[{"receiver":"a/hook","state":"told","knows":"resolved","at":"2`},
		{Name: "the rules", Ask: list, Status: 200, Want: `"rule":"waits","severity":"info","condition":"conch_is_leader \u003e 1","for":"1m0s","builtin":false,"receivers":["a/hook"],"trouble":{"since":`},
		{Name: "the receivers", Ask: list, Status: 200, Want: `"receivers":[{"receiver":"a/hook","kind":"webhook","told_at":"2`},
		{Name: "a heartbeat", Ask: list, Status: 200, Want: `"receiver":"heart","kind":"heartbeat","told_at":null,"waiting":0}]`},
		{Name: "the evaluation", Ask: list, Status: 200, Want: `"node":"n2","interval_ms":15000,"late":false}`},
		{Name: "no state", Ask: list + "?state=odd", Status: 400, Want: "firing, silenced, pending, resolved"},
		{Name: "a bad limit", Ask: list + "?limit=0", Status: 400, Want: "limit"},
		{Name: "none here", Given: none, Ask: list, Status: 404, Want: "no-alerts"},

		{Name: "all", Ask: "GET /v1/silences", Status: 200, Want: `"silences":[{"id":"` + lasts + `","state":"active","matchers":[{"label":"scope","op":"=","value":"c"}],`},
		{Name: "of one alert", Ask: "GET /v1/silences?limit=1", Status: 200, Want: `"by":"ann","comment":"we know","alerts":1}]`},
		{Name: "a bad limit", Ask: "GET /v1/silences?limit=x", Status: 400, Want: "limit"},
		{Name: "none here", Given: none, Ask: "GET /v1/silences", Status: 404, Want: "no-alerts"},
		{Name: "set", Ask: set, Body: `{` + by + `,"for":"2h","comment":"moved"}`, Status: 200, Want: `"by":"local","comment":"moved","alerts":0,"as_of":`},
		{Name: "until", Ask: set, Body: `{"id":"` + lasts + `",` + by + `,"until":"2999-01-01T00:00:00Z","comment":"moved"}`, Status: 200, Want: `"id":"` + lasts + `","state":"active"`},
		{Name: "to come", Ask: set, Body: `{` + by + `,"since":"2998-01-01T00:00:00Z","for":"1h","comment":"moved"}`, Status: 200, Want: `"state":"coming"`},
		{Name: "none here", Given: none, Ask: set, Body: `{}`, Status: 404, Want: "no-alerts"},
		{Name: "plain text", Ask: set, Body: "all", Header: plain, Status: 415},
		{Name: "everything", Ask: set, Body: `{"matchers":[],"for":"1h","comment":"x"}`, Status: 422, Want: `"field":"matchers"`},
		{Name: "a pattern that is none", Ask: set, Body: `{"matchers":[{"label":"a","op":"=~","value":"("}],"for":"1h","comment":"x"}`, Status: 422, Want: `"field":"matchers"`},
		{Name: "no comparison", Ask: set, Body: `{"matchers":[{"label":"a","op":"~","value":"b"}],"for":"1h","comment":"x"}`, Status: 422, Want: `is no comparison`},
		{Name: "no label", Ask: set, Body: `{"matchers":[{"label":"","op":"=","value":"b"}],"for":"1h","comment":"x"}`, Status: 422, Want: `"field":"matchers"`},
		{Name: "without a why", Ask: set, Body: `{` + by + `,"for":"1h","comment":" "}`, Status: 422, Want: `"field":"comment"`},
		{Name: "without an end", Ask: set, Body: `{` + by + `,"comment":"x"}`, Status: 422, Want: `"field":"until"`},
		{Name: "two ends", Ask: set, Body: `{` + by + `,"for":"1h","until":"2999-01-01T00:00:00Z","comment":"x"}`, Status: 422, Want: `"field":"until"`},
		{Name: "over", Ask: set, Body: `{` + by + `,"until":"2001-01-01T00:00:00Z","comment":"x"}`, Status: 422, Want: `"field":"until"`},
		{Name: "ends before it begins", Ask: set, Body: `{` + by + `,"since":"2999-01-01T00:00:00Z","until":"2998-01-01T00:00:00Z","comment":"x"}`, Status: 422, Want: `"field":"until"`},
		{Name: "no time", Ask: set, Body: `{` + by + `,"for":"soon","comment":"x"}`, Status: 422, Want: `"field":"for"`},
		{Name: "no UUID", Ask: set, Body: `{"id":"1",` + by + `,"for":"1h","comment":"x"}`, Status: 422, Want: `"field":"id"`},
		{Name: "ended", Ask: end, Status: 200, Want: `"state":"ended"`},
		{Name: "ended again", Ask: end, Status: 200, Want: `"state":"ended"`},
		{Name: "unknown", Ask: set + "/nobody/end", Status: 404, Want: "unknown-silence"},

		{Name: "taken", Ask: test, Status: 200, Want: `"receiver":"a/hook","answer":"taken","took_ms":`},
		{Name: "unknown", Ask: "POST /v1/receivers/nobody/test", Status: 404, Want: "unknown-receiver"},
		{Name: "a heartbeat", Ask: named, Body: `{"receiver":"heart"}`, Status: 200, Want: `"receiver":"heart","answer":"taken","took_ms":`},
		{Name: "unknown", Ask: named, Status: 404, Want: "unknown-receiver"},
		{Name: "none here", Given: none, Ask: named, Status: 404, Want: "no-alerts"},
		{Name: "plain text", Ask: named, Body: "x", Header: plain, Status: 415},
	}
}

// failures asks for each operation while the database is away, and in no time.
func failures() (all []exchange) {
	for _, ask := range []string{"GET /v1/alerts", "GET /v1/silences", "POST /v1/silences", "POST /v1/silences/" + lasts + "/end"} {
		all = append(all,
			exchange{Name: "without an answer", Given: func(w *world) { w.down = true }, Ask: ask, Status: 503, Want: "database-unavailable"},
			exchange{Name: "too late", Given: func(w *world) { w.now.patience = time.Nanosecond }, Ask: ask, Status: 504, Want: "database-timeout"})
	}
	return all
}

// F9: a receiver that refuses a test says so, and its secrets are shown to nobody: neither in an answer nor in a log.
func TestASecretOfAReceiverIsShownToNobody(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		http.Error(out, secret+r.URL.String()+string(body), http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	w := newWorld(t, server.URL+"/SECRETpath")
	var log webtest.Log
	w.s.frame.Log = slog.New(slog.NewTextHandler(&log, nil))
	for _, ask := range []string{"POST /v1/receivers/a%2Fhook/test", "GET /v1/alerts"} {
		out := httptest.NewRecorder()
		w.handler(t).ServeHTTP(out, exchange{Ask: ask}.Request())
		if out.Code != http.StatusOK || strings.Contains(out.Body.String()+log.String(), strings.TrimPrefix(secret, "whsec_")) || strings.Contains(out.Body.String(), "SECRETpath") {
			t.Errorf("%s: %d %s\n%s", ask, out.Code, out.Body, log.String())
		}
	}
	if !strings.Contains(log.String(), "answer=refused") {
		t.Errorf("the log says %s", log.String())
	}
}

// Events count the alerts of a rule: thousands of alerts at once are one event, and one of a rule that has none any more says so.
func TestEventsOfARule(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "http://127.0.0.1:1")
	in, err := w.s.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	first := newSight(in, w.s.setup, w.s.ledger).events()
	all := moved(nil, first)
	if len(all) != 3 || all[0].Rule != "ConchFlapping" || all[0].Counts != (Counts{Silenced: 1}) || all[2].Counts != (Counts{Pending: 1, Resolved: 1}) {
		t.Errorf("got %+v", all)
	}
	if again := moved(first, first); len(again) != 0 {
		t.Errorf("nothing has changed, and it tells %+v", again)
	}
	in.Members = in.Members[:3]
	if next := moved(first, newSight(in, w.s.setup, w.s.ledger).events()); len(next) != 1 || next[0].Rule != "ConchFlapping" || next[0].Counts != (Counts{}) || next[0].Severity != "warning" {
		t.Errorf("after its end it tells %+v", next)
	}
}

// The doctor says who evaluates, who has another file, and whom nobody has told.
func TestDoctor(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 0).UTC()
	in := alerts.Loaded{At: at}
	said := func() (all string) {
		for _, f := range judge(in, "h", 15*time.Second) {
			all += fmt.Sprintln(f.Status, f.Detail)
		}
		return all
	}
	if got := said(); got != "warn nobody has evaluated the alerts yet\n" {
		t.Error(got)
	}
	in.Evaluation = &alerts.Evaluation{At: at.Add(-20 * time.Second), Node: "n1"}
	if got := said(); !strings.HasPrefix(got, "ok n1 evaluates them") {
		t.Error(got)
	}
	in.Evaluation.At = at.Add(-time.Minute)
	in.Nodes = []alerts.Node{{Name: "n1", Hash: "h"}, {Name: "n2", Hash: "other"}}
	in.Groups = []alerts.Group{{Key: "k", Seq: uint64(at.Unix()) - 100}, {Key: "l", Seq: uint64(at.Unix())}}
	in.Tellings = []alerts.Telling{{Key: "k", Receiver: "pager"}, {Key: "l", Receiver: "chat"}}
	if got := said(); !strings.Contains(got, "since 2027-01-15T07:59:00Z") || !strings.Contains(got, "1 node has other alerts or receivers than this file, such as n2") || !strings.Contains(got, `wait to be told to "pager"`+"\n") {
		t.Error(got)
	}
}

// The words of conch alerts silence are matchers, whatever the value has in it.
func TestMatchers(t *testing.T) {
	t.Parallel()
	got, err := matchersOf([]string{"a=b", "a!=b=c", "scope=~x.*", "scope!~=", "e="})
	want := []alerts.Matcher{{Label: "a", Op: "=", Value: "b"}, {Label: "a", Op: "!=", Value: "b=c"}, {Label: "scope", Op: "=~", Value: "x.*"}, {Label: "scope", Op: "!~", Value: "="}, {Label: "e", Op: "=", Value: ""}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"a", "=b", "a!b", ""} {
		if _, err := matchersOf([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A file that is read again: new secrets count at once and disturb nobody; other alerts are another setup; what needs a restart stays.
func TestAFileThatIsReadAgain(t *testing.T) {
	t.Parallel()
	s := &service{frame: node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler)}, store: memory.NewStore(), ledger: newLedger(), changed: make(chan struct{})}
	reads := func(c config.Config) (u *setup, same bool) {
		t.Helper()
		_, changed := s.now()
		apply, err := s.Prepare(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		apply()
		u, _ = s.now()
		select {
		case <-changed:
			return u, false
		default:
			return u, true
		}
	}
	c := withReceivers(t, "http://127.0.0.1:1", "")
	first, same := reads(c)
	if same || !strings.HasPrefix(first.cfg.Cluster, "prod/") {
		t.Fatalf("at the start: %+v, the same: %v", first.cfg, same)
	}
	old := first.receiver("a/hook")
	if u, same := reads(c); !same || u != first || u.receiver("a/hook") == old {
		t.Error("the same file is another setup, or its secrets were not read again")
	}
	c.Node.Cluster, c.Node.SampleInterval = "other", time.Minute
	if u, same := reads(c); !same || u.place.Cluster != "prod" || u.cfg.Interval != DefaultInterval {
		t.Errorf("the cluster is %q and the interval %s, want those of the start", u.place.Cluster, u.cfg.Interval)
	}
	more := withReceivers(t, "http://127.0.0.1:1", "[[alerts]]\nname = \"x\"\ncondition = \"conch_is_leader > 1\"\neach_node = true\n")
	if u, same := reads(more); same || !slices.ContainsFunc(u.cfg.Rules, func(r alerts.Rule) bool { return r.Name == "x" }) {
		t.Errorf("with another alert there are %+v, the same: %v", u.cfg.Rules, same)
	}
	none, err := load(t, base)
	if err != nil {
		t.Fatal(err)
	}
	if u, same := reads(none); same || u != nil {
		t.Error("without a word about alerts something is evaluated")
	}
}

// A heartbeat is called while evaluations are recorded, and not while they fail.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		failing := false
		inner := recordsOnly{fails: &failing}
		beats := make(chan struct{}, 1)
		r := recorded{inner, beats}
		stop := make(chan struct{})
		go func() {
			for {
				select {
				case <-beats:
					calls++
				case <-stop:
					return
				}
			}
		}()
		for _, rows := range []alerts.Rows{{}, {Evaluation: &alerts.Evaluation{}}} {
			_ = r.Record(t.Context(), fence.Token{}, rows)
			synctest.Wait()
		}
		failing = true
		_ = r.Record(t.Context(), fence.Token{}, alerts.Rows{Evaluation: &alerts.Evaluation{}})
		synctest.Wait()
		if close(stop); calls != 1 {
			t.Errorf("there were %d beats, want one for the evaluation that was recorded", calls)
		}
	})
}

// recordsOnly is a store that records, or fails.
type recordsOnly struct {
	alerts.Store
	fails *bool
}

func (s recordsOnly) Record(context.Context, fence.Token, alerts.Rows) error {
	if *s.fails {
		return errors.New("away")
	}
	return nil
}
