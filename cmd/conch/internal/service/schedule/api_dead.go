package schedule

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"slices"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/schedule/pgstore"
)

const (
	pathDead       = "/v1/dead"
	pathOperations = pathDead + "/operations"
	pathOperation  = pathOperations + "/{id}"

	mostNamed = 1000 // jobs that an operation names
)

func (a *api) getDead(w http.ResponseWriter, r *http.Request) error {
	return a.listJobs(w, r, pgstore.Dead)
}

// newOperation draws an id.
func newOperation() (id [16]byte) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

// operationBody is the body of POST /v1/dead/operations.
type operationBody struct {
	ID    string  `json:"id,omitempty"`
	Kind  string  `json:"kind"`
	Queue string  `json:"queue,omitempty"`
	Jobs  []int64 `json:"jobs,omitempty"`
	All   bool    `json:"all,omitempty"`
}

func (b operationBody) parse() (out pgstore.Operation, err error) {
	wrong := func(field, text string) (pgstore.Operation, error) {
		return out, (&web.FieldError{Field: field, Text: text}).Problem(http.StatusUnprocessableEntity)
	}
	out = pgstore.Operation{ID: newOperation(), Kind: b.Kind, Queue: b.Queue, Jobs: b.Jobs}
	if b.ID != "" {
		id, err := fence.ParseTerm(b.ID)
		if err != nil {
			return wrong("id", "is no UUID")
		}
		out.ID = id
	}
	chosen := 0
	for _, is := range []bool{b.Queue != "", len(b.Jobs) > 0, b.All} {
		if is {
			chosen++
		}
	}
	switch {
	case b.Kind != pgstore.Retry && b.Kind != pgstore.Discard:
		return wrong("kind", "is neither retry nor discard")
	case chosen != 1:
		return wrong("jobs", "say which jobs: one of jobs, queue, and all = true")
	case len(b.Jobs) > mostNamed:
		return wrong("jobs", "has more than 1000: name a queue")
	}
	slices.Sort(out.Jobs)
	return out, nil
}

// postOperation carries an operation out, or on: the same one is asked for again under its id, until it has ended.
func (a *api) postOperation(w http.ResponseWriter, r *http.Request) error {
	var body operationBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	wanted, err := body.parse()
	if err != nil {
		return err
	}
	wanted.By = web.Actor(r.Context())
	had, err := a.store.Operation(r.Context(), wanted.ID)
	if err == nil && (had.Kind != wanted.Kind || had.Queue != wanted.Queue || !slices.Equal(had.Jobs, wanted.Jobs)) {
		return web.Failf(http.StatusConflict, "another operation has this id already").Named("key-taken", "Key taken").About("id")
	}
	if err != nil && !errors.Is(err, pgstore.ErrNotFound) {
		return err
	}
	return a.carryOn(w, r, wanted.ID, func(ctx context.Context) error {
		_, err := a.store.Operate(ctx, wanted)
		return err
	})
}

// resumeOperation carries on what was begun.
func (a *api) resumeOperation(w http.ResponseWriter, r *http.Request) error {
	id, err := fence.ParseTerm(r.PathValue("id"))
	if err != nil {
		return pgstore.ErrNotFound
	}
	return a.carryOn(w, r, id, func(ctx context.Context) error {
		_, err := a.store.Resume(ctx, id)
		return err
	})
}

// carryOn works at an operation for half of what a request may take, and answers how far it is then.
func (a *api) carryOn(w http.ResponseWriter, r *http.Request, id [16]byte, work func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(r.Context(), a.patience/2)
	defer cancel()
	err := web.Locked(r.Context(), work(ctx))
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || errors.As(err, new(*pg.LockedError))) {
		return err // behind a lock it would be asked for again and again, and get no further
	}
	now, err := a.store.Operation(r.Context(), id)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if now.Ended.IsZero() {
		status = http.StatusAccepted
	}
	a.log.InfoContext(r.Context(), "dead jobs are retried or discarded", slog.String("operation", fence.Term(now.ID).String()), slog.String("kind", now.Kind),
		slog.Int64("done", now.Done), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, status, showOperation(now))
}

func (a *api) getOperation(w http.ResponseWriter, r *http.Request) error {
	id, err := fence.ParseTerm(r.PathValue("id"))
	if err != nil {
		return pgstore.ErrNotFound
	}
	found, err := a.store.Operation(r.Context(), id)
	if err != nil {
		return err
	}
	return web.Answer(w, http.StatusOK, showOperation(found))
}
