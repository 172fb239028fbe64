package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
)

const (
	defaultLimit = 50
	maxLimit     = 1000
	mostHistory  = 5000
)

// event is an event of the history, with the id by which a stream resumes.
type event struct {
	ID int64 `json:"id"`
	pgops.Event
}

func (s *Site) getHistory(w http.ResponseWriter, r *http.Request) error {
	window, err := windowQuery(r)
	if err != nil {
		return err
	}
	at := time.Now()
	events, err := s.reader.window(r.Context(), window)
	if err != nil {
		return err
	}
	list := struct {
		asOf
		Events []event `json:"events"`
		Next   int64   `json:"next,omitempty"`
	}{asOf: asOf{AsOf: at.UTC()}, Events: []event{}}
	for _, e := range events {
		list.Events = append(list.Events, eventOf(e))
	}
	if len(events) == window.Most {
		list.Next = events[0].ID
	}
	return Answer(w, http.StatusOK, list)
}

// windowQuery reads the part of the history that a query selects.
func windowQuery(r *http.Request) (w pgops.Window, err error) {
	if w.Scope, err = scopeQuery(r); err != nil {
		return w, err
	}
	if w.Most, err = upTo(r, mostHistory); err != nil {
		return w, err
	}
	q := r.URL.Query()
	for name, into := range map[string]*time.Time{"from": &w.From, "to": &w.To} {
		if text := q.Get(name); text != "" {
			if *into, err = time.Parse(time.RFC3339, text); err != nil || into.Year() < 1 {
				return w, Failf(http.StatusBadRequest, "%s = %.40q is no instant such as 2026-03-01T12:00:00Z", name, text).Wrong(name)
			}
		}
	}
	if text := q.Get("before"); text != "" {
		if w.Before, err = strconv.ParseInt(text, 10, 64); err != nil || w.Before < 1 {
			return w, Failf(http.StatusBadRequest, "before = %.40q is no id of an event", text).Wrong("before")
		}
	}
	for kind := range strings.SplitSeq(q.Get("event"), ",") {
		if kind == "" {
			continue
		}
		if !slices.Contains(kindsOfEvents, kind) {
			return w, Failf(http.StatusBadRequest, "event = %.40q is none of %s", kind, strings.Join(kindsOfEvents, ", ")).Wrong("event")
		}
		w.Events = append(w.Events, kind)
	}
	w.Holder, w.Text = q.Get("holder"), q.Get("q")
	for name, text := range map[string]string{"holder": w.Holder, "q": w.Text} {
		if len(text) > 200 || strings.ContainsRune(text, 0) || !utf8.ValidString(text) {
			return w, Failf(http.StatusBadRequest, "%s is not a text of up to 200 bytes", name).Wrong(name)
		}
	}
	if w.Text != "" && w.From.IsZero() {
		return w, Failf(http.StatusBadRequest, "q looks into every event: say from which instant on, by from").Wrong("from")
	}
	return w, nil
}

var kindsOfEvents = []string{"acquired", "lost", "failed", "released", "drained", "transferred", "evicted", "blocked"}

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
func Limit(r *http.Request) (int, error) { return upTo(r, maxLimit) }

func upTo(r *http.Request, most int) (int, error) {
	text := r.URL.Query().Get("limit")
	if text == "" {
		return defaultLimit, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > most {
		return 0, Failf(http.StatusBadRequest, "limit = %q is not a number from 1 to %d", text, most).Wrong("limit")
	}
	return limit, nil
}
