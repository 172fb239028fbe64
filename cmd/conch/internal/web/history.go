package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
)

// event is an event of the history, with the id by which a stream resumes.
type event struct {
	ID int64 `json:"id"`
	pgops.Event
}

func (s *Site) getHistory(w http.ResponseWriter, r *http.Request) error {
	scope, err := scopeQuery(r)
	if err != nil {
		return err
	}
	limit, err := Limit(r)
	if err != nil {
		return err
	}
	at := time.Now()
	events, err := s.reader.history(r.Context(), scope, limit)
	if err != nil {
		return err
	}
	list := struct {
		asOf
		Events []event `json:"events"`
	}{asOf{AsOf: at.UTC()}, []event{}}
	for _, e := range events {
		list.Events = append(list.Events, eventOf(e))
	}
	return Answer(w, http.StatusOK, list)
}

func eventOf(e pgops.Event) event {
	e.At = e.At.UTC()
	return event{e.ID, e}
}

// scopeQuery returns the scope in the query; empty for all.
func scopeQuery(r *http.Request) (string, error) {
	q := r.URL.Query()
	if !q.Has("scope") {
		return "", nil
	}
	scope := q.Get("scope")
	if err := election.ValidScope(scope); err != nil {
		return "", Failf(http.StatusBadRequest, "%v", err).Wrong("scope")
	}
	return scope, nil
}

// Limit returns the most entries that a list may have: limit in the query, or else 50.
func Limit(r *http.Request) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > maxLimit {
		return 0, Failf(http.StatusBadRequest, "limit = %q is not a number from 1 to %d", text, maxLimit).Wrong("limit")
	}
	return limit, nil
}
