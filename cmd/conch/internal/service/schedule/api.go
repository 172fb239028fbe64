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

	mostNext    = 100             // next times in an answer
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
		get(pathCrons, a.getCrons, "after", "limit"),
		get(pathCron, a.getCron, "next", "before", "limit"),
		post(pathCron+"/run", a.runCron),
		post(pathCron+"/pause", a.pauseCron(true)),
		post(pathCron+"/resume", a.pauseCron(false)),
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
	return list(w, r, "crons", func(most int) ([]pgstore.Listed, error) {
		return a.store.Crons(r.Context(), "", r.URL.Query().Get("after"), most)
	}, func(l pgstore.Listed, at time.Time) Cron { return showCron(l, at, 1) })
}

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
	before := time.Now().Add(24 * time.Hour) // by a clock that may differ from the database's
	if text := r.URL.Query().Get("before"); text != "" {
		if before, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return web.Failf(http.StatusBadRequest, "before = %q is not a time such as 2026-01-31T09:00:00Z", text).Wrong("before")
		}
	}
	at := time.Now()
	l, err := a.find(r)
	if err != nil {
		return err
	}
	past, err := a.store.Past(r.Context(), l.ID, before, most)
	if err != nil {
		return err
	}
	gaps, err := a.store.Gaps(r.Context(), l.ID, before, most)
	if err != nil {
		return err
	}
	c := showCron(l, at, int(upcoming))
	c.Past, c.Gaps = showPast(past), showGaps(gaps)
	return web.Answer(w, http.StatusOK, c.asOf(at))
}

// find returns the cron of a request.
func (a *api) find(r *http.Request) (pgstore.Listed, error) {
	name := r.PathValue("cron")
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
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := a.find(r); err != nil {
			return err
		}
		if err := a.store.Pause(r.Context(), r.PathValue("cron"), paused, web.Actor(r.Context())); err != nil {
			return err
		}
		at := time.Now()
		l, err := a.find(r)
		if err != nil {
			return err
		}
		a.log.InfoContext(r.Context(), "a cron is paused or resumed", slog.String("cron", l.Name), slog.Bool("paused", paused), slog.String("actor", web.Actor(r.Context())))
		return web.Answer(w, http.StatusOK, showCron(l, at, 3).asOf(at))
	}
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
	if (body.From == nil) != (body.To == nil) {
		return (&web.FieldError{Field: "to", Text: "a span has from and to; without both the cron is run now"}).Problem(http.StatusUnprocessableEntity)
	}
	var from, to time.Time
	if body.From != nil {
		from, to = *body.From, *body.To
	}
	if _, err := a.find(r); err != nil {
		return err
	}
	all, err := a.store.RunNow(r.Context(), r.PathValue("cron"), from, to)
	if err != nil {
		return err
	}
	a.log.InfoContext(r.Context(), "a cron is run by hand", slog.String("cron", r.PathValue("cron")), slog.Int("times", len(all)), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusOK, struct {
		Runs []Past `json:"runs"`
	}{showPast(all)})
}
