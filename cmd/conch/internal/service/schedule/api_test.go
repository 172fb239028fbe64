package schedule

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

// world is an API over a database with two crons and some jobs.
type world struct {
	t        *testing.T
	conn     *pgx.Conn
	at       pg.Config
	store    *pgstore.Store
	away     *pgstore.Store // of a database that is not there
	patience time.Duration
	held     pgx.Tx // holds an operation, until the world is looked at again
	*desk
}

// desk is what an exchange may change in its world.
type desk struct{ none, down, hurried bool }

const begun = "0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11"

func newWorld(t *testing.T) *world {
	t.Helper()
	base := pgtest.New(t)
	w := &world{t: t, conn: base.Connect(t), at: pg.Config{URL: base.URL}, store: open(t, base.URL), away: open(t, "postgres://127.0.0.1:1/none"), desk: new(desk)}
	all := schedule.Config{Crons: []schedule.Cron{
		{Name: "report", Schedule: "0 9 * * *", Timezone: "Europe/Berlin", Command: []string{"true"}, Retries: 3},
		{Name: "tick", Schedule: "* * * * *", Job: "work"},
	}}.WithDefaults()
	if err := w.store.Declare(t.Context(), all.File()); err != nil {
		t.Fatal(err)
	}
	w.run(`SELECT conch.job_add('q', 'work') FROM generate_series(1, 3)`) // 1 is dead, 2 is at work, 3 is done
	kill(t, w.conn, "q", 1)
	w.run(`SELECT FROM conch.job_take('{q}', 'worker/1', 1, 2)`)
	w.run(`SELECT conch.job_done(3, 1, '{"ok": true}')`)
	w.run(`SELECT conch.job_add('q', 'work', run_at => now() + interval '1 day') FROM generate_series(4, 5)`)
	w.run(`SELECT conch.job_add('other', 'work')`) // 6
	w.run(`INSERT INTO conch.cron_runs VALUES (1, '2026-01-01T00:00:00Z', 'enqueued', 3, 1, 1, '2026-01-01T00:00:00Z')`)
	w.run(`UPDATE conch.crons SET cursor_at = '2026-01-01T08:00:00Z', adopted = newest WHERE name = 'report'`)
	w.run(`INSERT INTO conch.cron_gaps VALUES (1, '2026-01-01T08:00:00Z', '2026-01-02T08:00:00Z', 2, 'late', 1, now())`)
	return w
}

func (w *world) run(sql string, args ...any) { w.t.Helper(); pgtest.Exec(w.t, w.conn, sql, args...) }

// hold keeps an operation from going on.
func (w *world) hold() {
	w.run(`INSERT INTO conch.job_operations (id, kind, queue) VALUES ($1, 'retry', 'q') ON CONFLICT DO NOTHING`, begun)
	tx, err := w.conn.Begin(w.t.Context())
	if err == nil {
		_, err = tx.Exec(w.t.Context(), `SELECT FROM conch.job_operations WHERE id = $1 FOR UPDATE`, begun)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.held, w.hurried = tx, true
}

// restore has jobs held, as after a restore of the database.
func (w *world) restore() {
	w.run(`UPDATE conch.schedule_server SET held = true, restored_at = '2026-01-01T00:00:00Z'`)
}

// again is the same world as it is now, with nothing held.
func (w *world) again() *world {
	if w.held != nil {
		_ = w.held.Rollback(context.WithoutCancel(w.t.Context()))
		w.held = nil
	}
	w.desk, w.patience = new(desk), 0
	return w
}

func (w *world) handler(t testing.TB) http.Handler {
	t.Helper()
	a := newAPI(w.store, slog.New(slog.DiscardHandler))
	switch {
	case w.none:
		a.store = nil
	case w.down:
		a.store = w.away
	case w.hurried:
		a.patience = time.Second
	}
	if w.patience > 0 {
		a.patience = w.patience
	}
	return webtest.Site(t, &webtest.Log{}, a.routes(), func(c *web.Config) {
		c.Locked = func(ctx context.Context, err error) error { return pg.Locked(ctx, w.at, err) }
	}).API()
}

type exchange = webtest.Exchange[*world]

func ours(operation string) bool {
	return strings.Contains(operation, pathNamed) || strings.Contains(operation, pathQueues) || strings.Contains(operation, pathJobs) || strings.Contains(operation, pathDead)
}

// F12, F13: each route gives every answer that is documented, and no other (B7).
func TestAnswers(t *testing.T) {
	w := newWorld(t)
	spec := webtest.Read(t, openAPI)
	webtest.Answers(t, spec, append(answers(), failures()...), ours, w.again, func(t *testing.T, w *world) http.Handler { return w.handler(t) })
}

func answers() []exchange {
	const (
		plain    = "Content-Type: text/plain"
		report   = "GET /v1/crons/report"
		named    = "POST /v1/cron"
		run      = "POST /v1/crons/tick/run"
		list     = "GET /v1/jobs"
		add      = "POST /v1/jobs"
		release  = "POST /v1/jobs:release"
		dead     = "GET /v1/dead"
		operate  = "POST /v1/dead/operations"
		resume   = operate + "/" + begun + "/resume"
		someSpan = `{"from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:01:00Z"}`
	)
	none := func(w *world) { w.none = true }
	return []exchange{
		{Name: "all", Ask: "GET /v1/crons", Status: 200, Want: `"name":"report","schedule":"0 9 * * *","timezone":"Europe/Berlin","handler":{"command":["true"]},"args":{},"catch_up":"none","limit":100,"late":"1m0s"`},
		{Name: "a page", Ask: "GET /v1/crons?after=report&limit=1", Status: 200, Want: `"crons":[{"name":"tick"`},
		{Name: "a bad limit", Ask: "GET /v1/crons?limit=0", Status: 400, Want: "limit"},
		{Name: "no times", Ask: "GET /v1/crons?next=0", Status: 400, Want: "next"},
		{Name: "too many times", Ask: "GET /v1/crons?past=31", Status: 400, Want: "past"},
		{Name: "strips", Ask: "GET /v1/crons?next=2&past=9", Status: 200, Want: `"past":[{"at":"2026-01-01T00:00:00Z","outcome":"enqueued","job":3,"by_hand":false,"decided_at":"2026-01-01T00:00:00Z","ended":"done"}]`},
		{Name: "without a database", Given: none, Ask: "GET /v1/crons", Status: 404, Want: "no-database"},
		{Name: "one", Ask: report + "?next=2", Status: 200, Want: `"gaps":[{"from":"2026-01-01T08:00:00Z","to":"2026-01-02T08:00:00Z","count":2,"why":"late"}]`},
		{Name: "an old page", Ask: report + "?before=2026-01-01T00:00:00Z", Status: 200, Want: `"name":"report"`},
		{Name: "a time that nobody has run", Ask: report, Status: 200, Want: `"due_at":"2026-01-02T08:00:00Z","next":[`},
		{Name: "a bad time", Ask: report + "?before=yesterday", Status: 400, Want: "before"},
		{Name: "too many", Ask: report + "?next=101", Status: 400, Want: "next"},
		{Name: "unknown", Ask: "GET /v1/crons/nobody", Status: 404, Want: "unknown-cron"},

		{Name: "by its name", Ask: "GET /v1/cron?cron=report&next=2", Status: 200, Want: `"past":[{"at":"2026-01-01T00:00:00Z"`},
		{Name: "a bad time", Ask: "GET /v1/cron?cron=report&before=x", Status: 400, Want: "before"},
		{Name: "without a name", Ask: "GET /v1/cron", Status: 404, Want: "unknown-cron"},

		{Name: "now", Ask: run, Status: 200, Want: `"outcome":"enqueued","job":7,"by_hand":true`},
		{Name: "a span", Ask: run, Body: someSpan, Status: 200, Want: `"at":"2026-01-01T00:01:00Z","outcome":"enqueued","job":9,`},
		{Name: "a span again", Ask: run, Body: someSpan, Status: 200, Want: `"at":"2026-01-01T00:01:00Z","outcome":"existing","job":9,`},
		{Name: "unknown", Ask: "POST /v1/crons/nobody/run", Status: 404, Want: "unknown-cron"},
		{Name: "plain text", Ask: run, Body: "now", Header: plain, Status: 415},
		{Name: "half a span", Ask: run, Body: `{"from":"2026-01-01T00:00:00Z"}`, Status: 422, Want: `"field":"to"`},
		{Name: "a span to come", Ask: run, Body: `{"from":"2026-01-01T00:00:00Z","to":"2999-01-01T00:00:00Z"}`, Status: 422, Want: "what comes the leader runs"},
		{Name: "paused", Ask: "POST /v1/crons/tick/pause", Status: 200, Want: `"paused":true,"filed":true,"adopted":false`},
		{Name: "unknown", Ask: "POST /v1/crons/nobody/pause", Status: 404, Want: "unknown-cron"},
		{Name: "resumed", Ask: "POST /v1/crons/tick/resume", Status: 200, Want: `"paused":false`},
		{Name: "unknown", Ask: "POST /v1/crons/nobody/resume", Status: 404, Want: "unknown-cron"},
		{Name: "by its name", Ask: named + "/run", Body: `{"cron":"tick","from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:01:00Z"}`, Status: 200, Want: `"at":"2026-01-01T00:01:00Z","outcome":"existing","job":9,`},
		{Name: "half a span", Ask: named + "/run", Body: `{"cron":"tick","from":"2026-01-01T00:00:00Z"}`, Status: 422, Want: `"field":"to"`},
		{Name: "without a name", Ask: named + "/run", Status: 404, Want: "unknown-cron"},
		{Name: "plain text", Ask: named + "/run", Body: "now", Header: plain, Status: 415},
		{Name: "by its name", Ask: named + "/pause", Body: `{"cron":"tick"}`, Status: 200, Want: `"paused":true,"filed":true`},
		{Name: "unknown", Ask: named + "/pause", Body: `{"cron":"nobody"}`, Status: 404, Want: "unknown-cron"},
		{Name: "plain text", Ask: named + "/pause", Body: "now", Header: plain, Status: 415},
		{Name: "by its name", Ask: named + "/resume", Body: `{"cron":"tick"}`, Status: 200, Want: `"paused":false,"filed":true`},
		{Name: "unknown", Ask: named + "/resume", Body: `{"cron":"nobody"}`, Status: 404, Want: "unknown-cron"},
		{Name: "plain text", Ask: named + "/resume", Body: "now", Header: plain, Status: 415},

		{Name: "how many", Ask: "GET /v1/queues", Status: 200, Want: `"held":false,"restored_at":null,"queues":[{"queue":"default","ready":1,`},
		{Name: "after a restore", Given: (*world).restore, Ask: "GET /v1/queues", Status: 200, Want: `"held":true,"restored_at":"2026-01-01T00:00:00Z","queues":[`},
		{Name: "released", Ask: release, Status: 200, Want: `"released":true`},
		{Name: "without a database", Given: none, Ask: "GET /v1/queues", Status: 404, Want: "no-database"},

		{Name: "all", Ask: list, Status: 200, Want: `"id":3,"state":"done","attempt":1,"queue":"q","handler":{"job":"work"},"priority":1,"retries":3,"timeout":"1h0m0s",`},
		{Name: "a page", Ask: list + "?state=later&queue=q&before=5&limit=9", Status: 200, Want: `"jobs":[{"id":4,`},
		{Name: "no state", Ask: list + "?state=done", Status: 400, Want: "ready, later, waiting, taken, dead"},
		{Name: "a bad page", Ask: list + "?before=-1", Status: 400, Want: "before"},
		{Name: "without a database", Given: none, Ask: list, Status: 404, Want: "no-database"},
		{Name: "added", Ask: add, Body: `{"queue":"q","handler":"work","args":[1],"priority":0,"retries":0,"timeout":"5m","lane":"l","key":"k","run_at":"2999-01-01T00:00:00Z"}`, Status: 202, Want: `{"id":14}`, Sends: "Location: /v1/jobs/14"},
		{Name: "added again", Ask: add, Body: `{"queue":"q","handler":"work","key":"k"}`, Status: 202, Want: `{"id":14}`},
		{Name: "without a database", Given: none, Ask: add, Body: `{}`, Status: 404, Want: "no-database"},
		{Name: "large", Ask: add, Body: `{"queue":"q","handler":"work","args":"` + strings.Repeat("a", maxJob) + `"}`, Status: 413},
		{Name: "plain text", Ask: add, Body: "work", Header: plain, Status: 415},
		{Name: "no queue", Ask: add, Body: `{"handler":"work"}`, Status: 422, Want: `"field":"queue"`},
		{Name: "a long queue", Ask: add, Body: `{"queue":"` + strings.Repeat("q", 65) + `","handler":"work"}`, Status: 422, Want: `"field":"queue"`},
		{Name: "no handler", Ask: add, Body: `{"queue":"q"}`, Status: 422, Want: `"field":"handler"`},
		{Name: "a name that nobody sees", Ask: add, Body: `{"queue":"q\u0007","handler":"work"}`, Status: 422, Want: `"field":"queue"`},
		{Name: "NUL", Ask: add, Body: `{"queue":"q","handler":"work","args":"\u0000"}`, Status: 422, Want: `args: contains NUL, which Postgres cannot store: encode it`},
		{Name: "large args", Ask: add, Body: `{"queue":"q","handler":"work","args":"` + strings.Repeat("x", schedule.MostArgs) + `"}`, Status: 422, Want: `args: has 262146 bytes: 262144 at most`},
		{Name: "a priority", Ask: add, Body: `{"queue":"q","handler":"work","priority":4}`, Status: 422, Want: `"field":"priority"`},
		{Name: "retries", Ask: add, Body: `{"queue":"q","handler":"work","retries":-1}`, Status: 422, Want: `"field":"retries"`},
		{Name: "a timeout", Ask: add, Body: `{"queue":"q","handler":"work","timeout":"soon"}`, Status: 422, Want: `"field":"timeout"`},
		{Name: "one", Ask: "GET /v1/jobs/3", Status: 200, Want: `"attempts":[{"attempt":1,"outcome":"done","worker":"worker/1",`},
		{Name: "unknown", Ask: "GET /v1/jobs/99", Status: 404, Want: "unknown-job"},
		{Name: "no number", Ask: "GET /v1/jobs/x", Status: 404, Want: "unknown-job"},
		{Name: "cancelled", Ask: "POST /v1/jobs/4/cancel", Status: 200, Want: `"error":"cancelled by local"`},
		{Name: "cancelled again", Ask: "POST /v1/jobs/4/cancel", Status: 200, Want: `"state":"cancelled"`},
		{Name: "unknown", Ask: "POST /v1/jobs/99/cancel", Status: 404, Want: "unknown-job"},
		{Name: "at work", Ask: "POST /v1/jobs/2/cancel", Status: 202, Want: `"cancelling":true`},
		{Name: "too late", Ask: "POST /v1/jobs/3/cancel", Status: 409, Want: "too-late"},
		{Name: "a dead one", Ask: "POST /v1/jobs/1/cancel", Status: 409, Want: "the job is dead"},
		{Name: "later", Ask: "POST /v1/jobs/5/retry", Status: 200, Want: `"state":"ready"`},
		{Name: "at work", Ask: "POST /v1/jobs/2/retry", Status: 200, Want: `"state":"taken"`},
		{Name: "unknown", Ask: "POST /v1/jobs/99/retry", Status: 404, Want: "unknown-job"},
		{Name: "too late", Ask: "POST /v1/jobs/3/retry", Status: 409, Want: "too-late"},

		{Name: "nothing is held", Ask: release, Status: 200, Want: `{"released":false,"restored_at":"2026-01-01T00:00:00Z"}`},
		{Name: "without a database", Given: none, Ask: release, Status: 404, Want: "no-database"},
		{Name: "after a restore", Given: (*world).restore, Ask: release, Status: 200, Want: `{"released":true,"restored_at":"2026-01-01T00:00:00Z"}`},
		{Name: "again", Ask: release, Status: 200, Want: `{"released":false,"restored_at":"2026-01-01T00:00:00Z"}`},

		{Name: "all", Ask: dead + "?queue=q", Status: 200, Want: `"id":1,"state":"dead"`},
		{Name: "of another queue", Ask: dead + "?queue=other", Status: 200, Want: `"jobs":[]`},
		{Name: "a bad limit", Ask: dead + "?limit=x", Status: 400, Want: "limit"},
		{Name: "without a database", Given: none, Ask: dead, Status: 404, Want: "no-database"},
		{Name: "held up", Given: (*world).hold, Ask: operate, Body: `{"id":"` + begun + `","kind":"retry","queue":"q"}`, Status: 202, Want: `"done":0,"ended_at":null`},
		{Name: "held up", Given: (*world).hold, Ask: resume, Status: 202, Want: `"ended_at":null`},
		{Name: "carried on", Ask: resume, Status: 200, Want: `"done":1,"ended_at":"2`},
		{Name: "the same", Ask: operate, Body: `{"id":"` + begun + `","kind":"retry","queue":"q"}`, Status: 200, Want: `"done":1`},
		{Name: "another of that id", Ask: operate, Body: `{"id":"` + begun + `","kind":"discard","queue":"q"}`, Status: 409, Want: "key-taken"},
		{Name: "some", Ask: operate, Body: `{"kind":"discard","jobs":[1]}`, Status: 200, Want: `"kind":"discard","jobs":[1],"by":"local"`},
		{Name: "without a database", Given: none, Ask: operate, Status: 404, Want: "no-database"},
		{Name: "plain text", Ask: operate, Body: "all", Header: plain, Status: 415},
		{Name: "which", Ask: operate, Body: `{"kind":"retry"}`, Status: 422, Want: `"field":"jobs"`},
		{Name: "two ways", Ask: operate, Body: `{"kind":"retry","queue":"q","all":true}`, Status: 422, Want: `"field":"jobs"`},
		{Name: "what", Ask: operate, Body: `{"kind":"burn","all":true}`, Status: 422, Want: `"field":"kind"`},
		{Name: "no UUID", Ask: operate, Body: `{"id":"1","kind":"retry","all":true}`, Status: 422, Want: `"field":"id"`},
		{Name: "far", Ask: "GET /v1/dead/operations/" + begun, Status: 200, Want: `"queue":"q"`},
		{Name: "unknown", Ask: "GET /v1/dead/operations/00000000-0000-4000-8000-000000000000", Status: 404, Want: "unknown-operation"},
		{Name: "no UUID", Ask: "GET /v1/dead/operations/1", Status: 404, Want: "unknown-operation"},
		{Name: "no UUID", Ask: operate + "/1/resume", Status: 404, Want: "unknown-operation"},
		{Name: "after a restore", Ask: operate + "/00000000-0000-4000-8000-000000000000/resume", Status: 409, Want: "restored"},
	}
}

// A request that waits for a table which somebody locks is told who does, whatever it asks for and whichever table that is. It does
// not begin anew for ever.
func TestALockIsNamedToWhoAsks(t *testing.T) {
	t.Parallel()
	for table, asks := range map[string][]string{
		"crons":           {"GET /v1/crons", "GET /v1/crons/tick", "POST /v1/crons/tick/run", "POST /v1/crons/tick/pause", "GET /v1/cron?cron=tick", "POST /v1/cron/run", "POST /v1/cron/pause"},
		"jobs":            {"GET /v1/jobs", "POST /v1/jobs", "GET /v1/jobs/3", "POST /v1/jobs/4/cancel", "POST /v1/jobs/1/retry", "GET /v1/dead", "POST /v1/dead/operations"},
		"job_operations":  {"GET /v1/dead/operations/" + begun, "POST /v1/dead/operations", "POST /v1/dead/operations/" + begun + "/resume"},
		"schedule_server": {"POST /v1/jobs:release", "GET /v1/queues"},
	} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.patience = 5 * time.Second
			w.run(`SET application_name = 'report'; BEGIN; LOCK TABLE conch.` + table + ` IN ACCESS EXCLUSIVE MODE`)
			api := w.handler(t)
			for _, ask := range asks {
				t.Run(ask, func(t *testing.T) {
					t.Parallel()
					out := httptest.NewRecorder()
					api.ServeHTTP(out, exchange{Ask: ask, Body: bodies[ask]}.Request())
					if out.Code != http.StatusServiceUnavailable || !strings.Contains(out.Body.String(), "(report) holds conch."+table) {
						t.Errorf("%d %s, want 503 that names the session", out.Code, out.Body)
					}
				})
			}
		})
	}
}

// bodies are those of requests that need one.
var bodies = map[string]string{
	"POST /v1/crons/tick/run": "{}", "POST /v1/cron/run": `{"cron":"tick"}`, "POST /v1/cron/pause": `{"cron":"tick"}`, "POST /v1/cron/resume": `{"cron":"tick"}`, "POST /v1/jobs": `{"queue":"q","handler":"work"}`, "POST /v1/dead/operations": `{"kind":"retry","all":true}`,
}

// failures asks for each operation while the database is away, and in no time.
func failures() (all []exchange) {
	for _, ask := range []string{
		"GET /v1/crons", "GET /v1/crons/tick", "POST /v1/crons/tick/run", "POST /v1/crons/tick/pause", "POST /v1/crons/tick/resume",
		"GET /v1/cron?cron=tick", "POST /v1/cron/run", "POST /v1/cron/pause", "POST /v1/cron/resume", "GET /v1/queues",
		"GET /v1/jobs", "POST /v1/jobs", "GET /v1/jobs/3", "POST /v1/jobs/3/cancel", "POST /v1/jobs/3/retry", "POST /v1/jobs:release",
		"GET /v1/dead", "POST /v1/dead/operations", "GET /v1/dead/operations/" + begun, "POST /v1/dead/operations/" + begun + "/resume",
	} {
		body := bodies[ask]
		all = append(all,
			exchange{Name: "without an answer", Given: func(w *world) { w.down = true }, Ask: ask, Body: body, Status: 503, Want: "database-unavailable"},
			exchange{Name: "too late", Given: func(w *world) { w.patience = time.Nanosecond }, Ask: ask, Body: body, Status: 504, Want: "database-timeout"})
	}
	return all
}

// A token that may read shows, and changes nothing.
func TestATokenThatMayRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a := newAPI(w.store, slog.New(slog.DiscardHandler))
	api := webtest.Site(t, &webtest.Log{}, a.routes(), func(c *web.Config) { c.Tokens = webtest.Tokens(t) }).API()
	for ask, want := range map[string][2]int{
		"GET /v1/crons": {200, 200}, "POST /v1/crons/tick/pause": {403, 200}, "POST /v1/crons/tick/run": {403, 200}, "POST /v1/cron/pause": {403, 404}, "GET /v1/queues": {200, 200}, "GET /v1/dead": {200, 200}, "POST /v1/jobs/6/cancel": {403, 200},
	} {
		for i, secret := range []string{webtest.ReadSecret, webtest.OperateSecret} {
			out := httptest.NewRecorder()
			api.ServeHTTP(out, exchange{Ask: ask, Header: "Authorization: Bearer " + secret}.Request())
			if out.Code != want[i] {
				t.Errorf("%s with token %d: %d %s, want %d", ask, i, out.Code, out.Body, want[i])
			}
		}
	}
	if by := scan[string](t, w.conn, `SELECT by FROM conch.cron_revisions WHERE n = 2`); by != "ops" {
		t.Errorf("it is paused by %q, want the token's name", by)
	}
}
