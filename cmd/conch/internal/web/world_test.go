package web_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// world fakes everything around a site.
type world struct {
	*electors
	*database
	cfg  web.Config
	logs *webtest.Log
}

func newWorld() *world {
	w := &world{electors: newElectors("payments", "a/b"), database: &database{}, logs: &webtest.Log{}}
	w.cfg = web.Config{
		ID: "node-1", Version: "v1.2.3", Electors: w.electors, Status: w.Status, Clock: func() fence.Instant { return w.now },
		Observe: func(context.Context) (web.Observer, error) { return w.connect() },
		Ask: func(_ context.Context, r pgops.Request) error {
			w.put = append(w.put, r)
			if w.ask != nil {
				return w.ask(r)
			}
			return nil
		},
		Metrics: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
			out.Header().Set("Content-Type", "text/plain; version=0.0.4")
			_, _ = io.WriteString(out, "conch_is_leader 1\n")
		}),
		Logger: slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	return w
}

func (w *world) site(t testing.TB) *web.Site {
	t.Helper()
	s, err := web.New(w.cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func worldAndSite(t *testing.T) (*world, *web.Site) {
	w := newWorld()
	return w, w.site(t)
}

// protect gives the world a token of each kind.
func (w *world) protect(t testing.TB) {
	t.Helper()
	w.cfg.Tokens = webtest.Tokens(t)
}

// electors has real gates on a clock that tests move.
type electors struct {
	now     fence.Instant
	gates   map[string]*fence.Gate
	latches map[string]*fence.Latch
	status  election.Status // of each scope
	step    func(election.StepDown) error
	asked   []election.StepDown
	ask     func(pgops.Request) error
	put     []pgops.Request // requests to the leader through the database
}

func newElectors(scopes ...string) *electors {
	e := &electors{gates: map[string]*fence.Gate{}, latches: map[string]*fence.Latch{}}
	for _, s := range scopes {
		e.gates[s], e.latches[s] = fence.New(s, func() fence.Instant { return e.now })
	}
	return e
}

// lead opens the doors of "payments", the act door in actIn, both until left from now.
func (e *electors) lead(actIn, left time.Duration) {
	token := fence.Token{Scope: "payments", Holder: "node-1", Epoch: 7, Term: fence.Term{1, 2, 3}}
	e.latches["payments"].Open(token, e.now.Add(actIn), e.now.Add(left))
}

// Gate returns the view for callers outside the role, as an elector does.
func (e *electors) Gate(scope string) *fence.Gate {
	if g := e.gates[scope]; g != nil {
		return g.Outside()
	}
	return nil
}

func (e *electors) Status(scope string) (election.Status, bool) {
	return e.status, e.gates[scope] != nil
}

func (e *electors) Scopes() (all []string) {
	for s := range e.gates {
		all = append(all, s)
	}
	return all
}

func (e *electors) StepDown(_ context.Context, s election.StepDown) error {
	e.asked = append(e.asked, s)
	if e.step != nil {
		return e.step(s)
	}
	return nil
}

// database answers with what it was given, fails or hangs.
type database struct {
	mu          sync.Mutex
	leaderships []pgops.ScopeStatus
	events      []pgops.Event
	err         error
	hangs       bool
	locked      bool // which is why it hangs
	opened      int
	closed      int
	watchers    []chan struct{}
	deaf        bool // watches get no events
	beats       []pgops.Beat
	reads       map[string]int // statements, by what they read
}

func (d *database) count(what string) {
	if d.reads == nil {
		d.reads = map[string]int{}
	}
	d.reads[what]++
}

func (d *database) connect() (web.Observer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		return nil, d.err
	}
	d.opened++
	return &observer{d}, nil
}

// set changes the database under its lock.
func (d *database) set(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
	if !d.deaf {
		for _, w := range d.watchers {
			select {
			case w <- struct{}{}:
			default:
			}
		}
	}
}

// add records an event.
func (d *database) add(id int64, scope, what string) {
	d.set(func() {
		d.events = append(d.events, pgops.Event{ID: id, At: time.Unix(id, 0), Scope: scope, Epoch: id, Holder: "node-1", Event: what})
		slices.SortFunc(d.events, func(a, b pgops.Event) int { return int(a.ID - b.ID) })
	})
}

type observer struct{ *database }

// ready waits while the database hangs.
func (o *observer) ready(ctx context.Context) error {
	o.mu.Lock()
	err, hangs, locked := o.err, o.hangs, o.locked
	o.mu.Unlock()
	if hangs {
		<-ctx.Done()
		if locked {
			return &pgops.LockedError{Err: ctx.Err()}
		}
		return ctx.Err()
	}
	return err
}

func (o *observer) Scopes(ctx context.Context, scope string) (found []pgops.ScopeStatus, err error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count("scopes")
	for _, l := range o.leaderships {
		if scope == "" || l.Scope == scope {
			found = append(found, l)
		}
	}
	return found, nil
}

// Window heeds what the tests of routes need; pgops tests the rest.
func (o *observer) Window(ctx context.Context, w pgops.Window) ([]pgops.Event, error) {
	events, err := o.History(ctx, w.Scope, 1<<30)
	events = slices.DeleteFunc(events, func(e pgops.Event) bool {
		return !w.From.IsZero() && e.At.Before(w.From) || !w.To.IsZero() && !e.At.Before(w.To) || w.Before > 0 && e.ID >= w.Before ||
			w.Holder != "" && e.Holder != w.Holder || len(w.Events) > 0 && !slices.Contains(w.Events, e.Event) || !strings.Contains(e.Reason, w.Text)
	})
	return events[max(0, len(events)-w.Most):], err
}

func (o *observer) Beats(ctx context.Context) ([]pgops.Beat, error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count("beats")
	return o.beats, nil
}

func (o *observer) History(ctx context.Context, scope string, limit int) (found []pgops.Event, err error) {
	if err := o.ready(ctx); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count("history")
	for _, e := range o.events {
		if scope == "" || e.Scope == scope {
			found = append(found, e)
		}
	}
	return slices.Clone(found[max(0, len(found)-limit):]), nil
}

func (o *observer) Watch(ctx context.Context, _ string, fn func(pgops.Event) error) error {
	woken := make(chan struct{}, 1)
	seen := map[int64]bool{}
	fresh := func() (events []pgops.Event) {
		for _, e := range o.events {
			if !seen[e.ID] {
				seen[e.ID] = true
				events = append(events, e)
			}
		}
		return events
	}
	o.mu.Lock()
	o.watchers = append(o.watchers, woken)
	fresh()
	o.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-woken:
			o.mu.Lock()
			events := fresh()
			o.mu.Unlock()
			for _, e := range events {
				if err := fn(e); err != nil {
					return err
				}
			}
		}
	}
}

func (o *observer) Close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed++
}

// eventOf returns an event with a reason, which makes it as large as needed.
func eventOf(id int64, reason string) pgops.Event {
	return pgops.Event{ID: id, At: time.Unix(id, 0), Scope: "payments", Epoch: id, Holder: "node-1", Event: "lost", Reason: reason}
}

func TestMain(m *testing.M) {
	pgtest.Template(func(ctx context.Context, conn *pgx.Conn) error {
		return pgmint.Tables.Up(ctx, conn, nil)
	})
	pgtest.Main(m) // also looks for goroutines left running
}
