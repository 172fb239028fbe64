package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/internal/name"
	"github.com/conchhq/conch/schedule"
	"github.com/conchhq/conch/schedule/pgstore"
)

const (
	pathJobs = "/v1/jobs"
	pathJob  = pathJobs + "/{id}"

	pathRelease = pathJobs + ":release"

	maxJob      = schedule.MostArgs + 16<<10 // bytes of a body
	mostID      = 1<<63 - 1
	mostRetries = 1000
	mostTimeout = 365 * 24 * time.Hour
)

func (a *api) getJobs(w http.ResponseWriter, r *http.Request) error {
	state := r.URL.Query().Get("state")
	if state != "" && !slices.Contains(pgstore.States(), state) {
		return web.Failf(http.StatusBadRequest, "state = %q is none of %s", state, strings.Join(pgstore.States(), ", ")).Wrong("state")
	}
	return a.listJobs(w, r, state)
}

func (a *api) listJobs(w http.ResponseWriter, r *http.Request, state string) error {
	before, err := whole(r, "before", 0, mostID)
	if err != nil {
		return err
	}
	return list(w, r, "jobs", func(most int) ([]pgstore.Record, error) {
		return a.store.Jobs(r.Context(), pgstore.JobFilter{State: state, Queue: r.URL.Query().Get("queue"), Before: before, Most: most})
	}, func(record pgstore.Record, _ time.Time) Job { return showJob(record, nil) })
}

// record returns the job of a request.
func (a *api) record(r *http.Request) (pgstore.Record, []pgstore.Attempt, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		id = 0 // none has it
	}
	record, attempts, err := a.store.Record(r.Context(), id)
	if errors.Is(err, pgstore.ErrNotFound) {
		err = web.Failf(http.StatusNotFound, "there is no job %.30q: conch jobs list, or GET %s, lists all", r.PathValue("id"), pathJobs).Named("unknown-job", "Unknown job")
	}
	return record, attempts, err
}

func (a *api) getJob(w http.ResponseWriter, r *http.Request) error {
	return a.answerJob(w, r, http.StatusOK)
}

func (a *api) answerJob(w http.ResponseWriter, r *http.Request, status int) error {
	at := time.Now()
	record, attempts, err := a.record(r)
	if err != nil {
		return err
	}
	return web.Answer(w, status, showJob(record, attempts).asOf(at))
}

// jobBody is the body of POST /v1/jobs.
type jobBody struct {
	Queue    string          `json:"queue"`
	Handler  string          `json:"handler"`
	Args     json.RawMessage `json:"args,omitempty"`
	RunAt    *time.Time      `json:"run_at,omitempty"`
	Priority *int            `json:"priority,omitempty"`
	Lane     string          `json:"lane,omitempty"`
	Key      string          `json:"key,omitempty"`
	Retries  *int            `json:"retries,omitempty"`
	Timeout  string          `json:"timeout,omitempty"`
}

// parse returns what is to be added, with the defaults of conch.job_add.
func (b jobBody) parse() (out pgstore.Addition, err error) {
	out = pgstore.Addition{Queue: b.Queue, Handler: b.Handler, Args: "{}", Priority: 1, Lane: b.Lane, Key: b.Key, Retries: 3, Timeout: time.Hour}
	wrong := func(field, text string) (pgstore.Addition, error) {
		return out, (&web.FieldError{Field: field, Text: text}).Problem(http.StatusUnprocessableEntity)
	}
	for field, text := range map[string]string{"queue": b.Queue, "handler": b.Handler, "lane": b.Lane, "key": b.Key} {
		if why := name.Fault(text); why != "" || len(text) > 200 {
			return wrong(field, "is not a text of up to 200 bytes that people can read")
		}
	}
	switch {
	case b.Queue == "" || len(b.Queue) > schedule.MostName:
		return wrong("queue", fmt.Sprintf("is not a name of 1 to %d bytes", schedule.MostName))
	case b.Handler == "":
		return wrong("handler", "is missing: a job has the name of what a worker calls")
	}
	if b.Args != nil {
		out.Args = string(b.Args)
	}
	if len(out.Args) > schedule.MostArgs {
		return wrong("args", fmt.Sprintf("has %d bytes: %d at most, so store what is larger elsewhere, and say where it is", len(out.Args), schedule.MostArgs))
	}
	if schedule.HasNUL(out.Args) {
		return wrong("args", "contains NUL, which Postgres cannot store: encode it, such as by base64")
	}
	if b.RunAt != nil {
		out.RunAt = *b.RunAt
	}
	if b.Priority != nil {
		out.Priority = *b.Priority
	}
	if b.Retries != nil {
		out.Retries = *b.Retries
	}
	if out.Priority < 0 || out.Priority > 3 {
		return wrong("priority", "is not from 0, the most urgent, to 3")
	}
	if out.Retries < 0 || out.Retries > mostRetries {
		return wrong("retries", "is not from 0 to 1000")
	}
	if b.Timeout != "" {
		if out.Timeout, err = time.ParseDuration(b.Timeout); err != nil || out.Timeout < time.Second || out.Timeout > mostTimeout {
			return wrong("timeout", "is not a duration such as 90s or 1h, from a second to a year")
		}
	}
	return out, nil
}

func (a *api) postJob(w http.ResponseWriter, r *http.Request) error {
	var body jobBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	wanted, err := body.parse()
	if err != nil {
		return err
	}
	id, err := a.store.Add(r.Context(), wanted)
	if err != nil {
		return err
	}
	a.log.InfoContext(r.Context(), "a job is added", slog.Int64("job", id), slog.String("queue", body.Queue), slog.String("actor", web.Actor(r.Context())))
	w.Header().Set("Location", pathJobs+"/"+strconv.FormatInt(id, 10))
	return web.Answer(w, http.StatusAccepted, added{id})
}

// added is the answer to what was added.
type added struct {
	ID int64 `json:"id"`
}

// cancelJob ends a job, or has its worker stop it.
func (a *api) cancelJob(w http.ResponseWriter, r *http.Request) error {
	record, _, err := a.record(r)
	if err != nil {
		return err
	}
	was, err := a.store.Cancel(r.Context(), record.ID, "cancelled by "+web.Actor(r.Context()))
	switch {
	case err != nil:
		return err
	case was == "" && record.State != "cancelled":
		return web.Failf(http.StatusConflict, "it is too late to cancel: the job is %s", record.State).Named("too-late", "Too late")
	}
	a.log.InfoContext(r.Context(), "a job is cancelled", slog.Int64("job", record.ID), slog.String("actor", web.Actor(r.Context())))
	if was == pgstore.Taken {
		return a.answerJob(w, r, http.StatusAccepted)
	}
	return a.getJob(w, r)
}

// retryJob has a job that is dead, or begins later, begin now.
func (a *api) retryJob(w http.ResponseWriter, r *http.Request) error {
	record, _, err := a.record(r)
	if err != nil {
		return err
	}
	switch record.State {
	case pgstore.Dead:
		_, err = a.store.Operate(r.Context(), pgstore.Operation{ID: newOperation(), Kind: pgstore.Retry, Jobs: []int64{record.ID}, By: web.Actor(r.Context())})
	case pgstore.Later:
		_, err = a.store.Hurry(r.Context(), record.ID)
	case pgstore.Ready, pgstore.Waiting, pgstore.Taken:
	default:
		return web.Failf(http.StatusConflict, "the job is %s, and is not tried again", record.State).Named("too-late", "Too late")
	}
	if err != nil {
		return err
	}
	a.log.InfoContext(r.Context(), "a job is tried again", slog.Int64("job", record.ID), slog.String("actor", web.Actor(r.Context())))
	return a.getJob(w, r)
}

// released is the answer to what was held.
type released struct {
	Released *bool      `json:"released"`    // jobs were held
	Restored *time.Time `json:"restored_at"` // when the rows of a backup were found last; null: never
}

// releaseJobs has jobs taken again that are held after a restore.
func (a *api) releaseJobs(w http.ResponseWriter, r *http.Request) error {
	server, err := a.store.Held(r.Context())
	if err != nil {
		return err
	}
	did, err := a.store.Release(r.Context())
	if err != nil {
		return err
	}
	if did {
		a.log.InfoContext(r.Context(), "jobs that were held after a restore are released", slog.String("actor", web.Actor(r.Context())))
	}
	return web.Answer(w, http.StatusOK, released{&did, orNull(server.Restored)})
}
