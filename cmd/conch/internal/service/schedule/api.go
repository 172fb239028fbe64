package schedule

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/schedule/pgstore"
)

const (
	pathCrons = "/v1/crons"
	pathCron  = pathCrons + "/{cron}"
	pathNamed = "/v1/cron" // of a cron whose name is in the query or the body: proxies decode what stands in a path

	mostNext    = 100             // next times in an answer
	mostStrip   = 30              // and in a list of many crons, of what was and of what comes
	webPatience = 5 * time.Second // how long one request waits for the database
)

// api serves crons and jobs over HTTP.
type api struct {
	store    *pgstore.Store // nil: the node uses no database
	log      *slog.Logger
	patience time.Duration
}

func newAPI(store *pgstore.Store, log *slog.Logger) *api { return &api{store, log, webPatience} }

func (a *api) routes() []web.Route {
	get := func(path string, serve web.Handler, query ...string) web.Route {
		return web.Route{Method: http.MethodGet, Path: path, Query: query, Serve: a.patiently(serve)}
	}
	post := func(path string, serve web.Handler) web.Route {
		return web.Route{Method: http.MethodPost, Path: path, Needs: web.ToOperate, Serve: a.patiently(serve)}
	}
	add := post(pathJobs, a.postJob)
	add.Body = maxJob
	return []web.Route{
		get(pathCrons, a.getCrons, "after", "limit", "next", "past"),
		get(pathCron, a.getCron, "next", "before", "limit"),
		post(pathCron+"/run", a.runCron),
		post(pathCron+"/pause", a.pauseCron(true)),
		post(pathCron+"/resume", a.pauseCron(false)),
		get(pathNamed, a.getCron, "cron", "next", "before", "limit"),
		post(pathNamed+"/run", a.runNamedCron),
		post(pathNamed+"/pause", a.pauseNamedCron(true)),
		post(pathNamed+"/resume", a.pauseNamedCron(false)),
		get(pathQueues, a.getQueues),
		get(pathJobs, a.getJobs, "state", "queue", "before", "limit"),
		add,
		get(pathJob, a.getJob),
		post(pathRelease, a.releaseJobs),
		post(pathJob+"/cancel", a.cancelJob),
		post(pathJob+"/retry", a.retryJob),
		get(pathDead, a.getDead, "queue", "before", "limit"),
		post(pathOperations, a.postOperation),
		get(pathOperation, a.getOperation),
		post(pathOperation+"/resume", a.resumeOperation),
	}
}

// patiently bounds how long a request may wait for the database, and says what its errors mean.
func (a *api) patiently(serve web.Handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if a.store == nil {
			return web.Failf(http.StatusNotFound, "this node uses no database, which has the crons and the jobs").Named("no-database", "No database")
		}
		ctx, cancel := context.WithTimeout(r.Context(), a.patience)
		defer cancel()
		return said(r, serve(w, r.WithContext(ctx)))
	}
}

func said(r *http.Request, err error) error {
	switch {
	case errors.Is(err, pgstore.ErrNotFound):
		return web.Failf(http.StatusNotFound, "there is no operation %.40q", r.PathValue("id")).Named("unknown-operation", "Unknown operation")
	case errors.Is(err, pgstore.ErrSpan):
		return web.Failf(http.StatusUnprocessableEntity, "%v", err).Wrong("from")
	case errors.Is(err, pgstore.ErrUnknown):
		return web.Failf(http.StatusConflict, "the database does not know the operation: it was restored since that began. Look at what is dead, and begin another one").Named("restored", "Restored")
	}
	return err
}

// whole reads a whole number of the query from 1 to most; without it, the one given.
func whole(r *http.Request, name string, otherwise, most int64) (int64, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > most {
		return 0, web.Failf(http.StatusBadRequest, "%s = %q is not a whole number from 1 to %d", name, text, most).Wrong(name)
	}
	return n, nil
}

func (a *api) getCrons(w http.ResponseWriter, r *http.Request) error {
	upcoming, err := whole(r, "next", 1, mostStrip)
	if err != nil {
		return err
	}
	were, err := whole(r, "past", 0, mostStrip)
	if err != nil {
		return err
	}
	past := map[int64][]pgstore.Past{}
	return list(w, r, "crons", func(most int) (all []pgstore.Listed, err error) {
		if all, err = a.store.Crons(r.Context(), "", r.URL.Query().Get("after"), most); err != nil || were == 0 {
			return all, err
		}
		ids := make([]int64, len(all))
		for i, l := range all {
			ids[i] = l.ID
		}
		past, err = a.store.Past(r.Context(), ids, ahead(), int(were))
		return all, err
	}, func(l pgstore.Listed, at time.Time) Cron {
		c := showCron(l, at, int(upcoming))
		c.Past = showPast(past[l.ID])
		return c
	})
}

// ahead is after all times that have a row, by a clock that may differ from the database's.
func ahead() time.Time { return time.Now().Add(24 * time.Hour) }

// list answers with what is found, under a name, and when that was.
func list[F, S any](w http.ResponseWriter, r *http.Request, name string, find func(most int) ([]F, error), show func(F, time.Time) S) error {
	most, err := web.Limit(r)
	if err != nil {
		return err
	}
	at := time.Now()
	all, err := find(most)
	if err != nil {
		return err
	}
	out := make([]S, len(all))
	for i, one := range all {
		out[i] = show(one, at)
	}
	return web.Answer(w, http.StatusOK, map[string]any{"as_of": at.UTC(), name: out})
}

func (a *api) getCron(w http.ResponseWriter, r *http.Request) error {
	most, err := web.Limit(r)
	if err != nil {
		return err
	}
	upcoming, err := whole(r, "next", 3, mostNext)
	if err != nil {
		return err
	}
	before := ahead()
	if text := r.URL.Query().Get("before"); text != "" {
		if before, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return web.Failf(http.StatusBadRequest, "before = %q is not a time such as 2026-01-31T09:00:00Z", text).Wrong("before")
		}
	}
	at := time.Now()
	l, err := a.find(r, nameOf(r))
	if err != nil {
		return err
	}
	past, err := a.store.Past(r.Context(), []int64{l.ID}, before, most)
	if err != nil {
		return err
	}
	gaps, err := a.store.Gaps(r.Context(), l.ID, before, most)
	if err != nil {
		return err
	}
	c := showCron(l, at, int(upcoming))
	c.Past, c.Gaps = showPast(past[l.ID]), showGaps(gaps)
	return web.Answer(w, http.StatusOK, c.asOf(at))
}

// nameOf is the cron that a request for one names in its path or its query.
func nameOf(r *http.Request) string {
	if named := r.PathValue("cron"); named != "" {
		return named
	}
	return r.URL.Query().Get("cron")
}

// find returns a cron by its name.
func (a *api) find(r *http.Request, name string) (pgstore.Listed, error) {
	all, err := a.store.Crons(r.Context(), name, "", 1)
	if err == nil && (name == "" || len(all) == 0) {
		err = web.Failf(http.StatusNotFound, "no cron is called %q: conch crons list, or GET %s, lists all", name, pathCrons).Named("unknown-cron", "Unknown cron")
	}
	if err != nil {
		return pgstore.Listed{}, err
	}
	return all[0], nil
}

func (a *api) pauseCron(paused bool) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error { return a.pause(w, r, r.PathValue("cron"), paused) }
}

func (a *api) pauseNamedCron(paused bool) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		var body struct {
			Cron string `json:"cron"`
		}
		if err := web.ReadJSON(r, &body); err != nil {
			return err
		}
		return a.pause(w, r, body.Cron, paused)
	}
}

func (a *api) pause(w http.ResponseWriter, r *http.Request, name string, paused bool) error {
	if _, err := a.find(r, name); err != nil {
		return err
	}
	if err := a.store.Pause(r.Context(), name, paused, web.Actor(r.Context())); err != nil {
		return err
	}
	at := time.Now()
	l, err := a.find(r, name)
	if err != nil {
		return err
	}
	a.log.InfoContext(r.Context(), "a cron is paused or resumed", slog.String("cron", l.Name), slog.Bool("paused", paused), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusOK, showCron(l, at, 3).asOf(at))
}

// spanBody is the body of POST /v1/crons/{cron}/run.
type spanBody struct {
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
}

func (a *api) runCron(w http.ResponseWriter, r *http.Request) error {
	var body spanBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	return a.runNow(w, r, r.PathValue("cron"), body)
}

func (a *api) runNamedCron(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Cron string `json:"cron"`
		spanBody
	}
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	return a.runNow(w, r, body.Cron, body.spanBody)
}

func (a *api) runNow(w http.ResponseWriter, r *http.Request, name string, span spanBody) error {
	if (span.From == nil) != (span.To == nil) {
		return (&web.FieldError{Field: "to", Text: "a span has from and to; without both the cron is run now"}).Problem(http.StatusUnprocessableEntity)
	}
	var from, to time.Time
	if span.From != nil {
		from, to = *span.From, *span.To
	}
	if _, err := a.find(r, name); err != nil {
		return err
	}
	all, err := a.store.RunNow(r.Context(), name, from, to)
	if err != nil {
		return err
	}
	a.log.InfoContext(r.Context(), "a cron is run by hand", slog.String("cron", name), slog.Int("times", len(all)), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusOK, struct {
		Runs []Past `json:"runs"`
	}{showPast(all)})
}
