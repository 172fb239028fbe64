package alerts

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/fence"
)

// Silence is one as the API shows it.
type Silence struct {
	ID       string           `json:"id"`
	State    string           `json:"state"`
	Matchers []alerts.Matcher `json:"matchers"`
	Since    time.Time        `json:"since"`
	Until    time.Time        `json:"until"`
	By       string           `json:"by"`
	Comment  string           `json:"comment"`
	Alerts   int              `json:"alerts"`
	AsOf     *time.Time       `json:"as_of,omitempty"`
}

var silenceStates = []string{"active", "coming", "ended"}

func showSilence(one alerts.Silence, in alerts.Loaded) Silence {
	out := Silence{ID: one.ID, State: "active", Matchers: append([]alerts.Matcher{}, one.Matchers...), Since: one.Since, Until: one.Until, By: one.By, Comment: one.Comment}
	switch {
	case !one.Until.After(in.At):
		out.State = "ended"
	case one.Since.After(in.At):
		out.State = "coming"
	}
	keys := map[string]bool{}
	for _, m := range in.Members {
		if m.Muted == one.ID {
			keys[m.Key] = true
		}
	}
	out.Alerts = len(keys)
	return out
}

func (s *service) getSilences(w http.ResponseWriter, r *http.Request, _ *setup) error {
	most, err := web.Limit(r)
	if err != nil {
		return err
	}
	in, err := s.store.Load(r.Context())
	if err != nil {
		return err
	}
	all := []Silence{}
	for _, one := range in.Silences {
		all = append(all, showSilence(one, in))
	}
	slices.SortFunc(all, func(a, b Silence) int {
		by := slices.Index(silenceStates, a.State) - slices.Index(silenceStates, b.State)
		ends := a.Until.Compare(b.Until)
		if a.State == "ended" {
			ends = -ends
		}
		return cmp.Or(by, ends, cmp.Compare(a.ID, b.ID))
	})
	return web.Answer(w, http.StatusOK, struct {
		AsOf     time.Time `json:"as_of"`
		Silences []Silence `json:"silences"`
	}{in.At, all[:min(len(all), most)]})
}

// silenceBody is the body of POST /v1/silences.
type silenceBody struct {
	ID       string           `json:"id,omitempty"`
	Matchers []alerts.Matcher `json:"matchers"`
	Since    *time.Time       `json:"since,omitempty"`
	Until    *time.Time       `json:"until,omitempty"`
	For      string           `json:"for,omitempty"`
	Comment  string           `json:"comment"`
}

// The limits of a silence.
const (
	mostMatchers = 20
	mostValue    = 1000
	mostMatched  = 200
)

// parse reads a silence that is set at a time of the database's clock.
func (b silenceBody) parse(now time.Time) (out alerts.Silence, err error) {
	wrong := func(field, text string) (alerts.Silence, error) {
		return out, (&web.FieldError{Field: field, Text: text}).Problem(http.StatusUnprocessableEntity)
	}
	id, err := fence.ParseTerm(cmp.Or(b.ID, newID()))
	if err != nil {
		return wrong("id", "is no UUID")
	}
	out = alerts.Silence{ID: id.String(), Matchers: b.Matchers, Since: now, Comment: b.Comment}
	if b.Since != nil {
		out.Since = b.Since.UTC()
	}
	switch {
	case len(b.Matchers) == 0 || len(b.Matchers) > mostMatchers:
		return wrong("matchers", "has to be 1 to 20: a silence without one would silence everything")
	case slices.ContainsFunc(b.Matchers, func(m alerts.Matcher) bool {
		return m.Label == "" || len(m.Label) > mostMatched || len(m.Value) > mostValue
	}):
		return wrong("matchers", "has a label that is empty or longer than 200 bytes, or a value longer than 1000")
	case strings.TrimSpace(b.Comment) == "" || len(b.Comment) > mostValue:
		return wrong("comment", "say why, in up to 1000 bytes, for those who find it")
	case (b.Until == nil) == (b.For == ""):
		return wrong("until", "say when it ends: one of until and for")
	}
	if b.Until != nil {
		out.Until = b.Until.UTC()
	} else {
		span, err := time.ParseDuration(b.For)
		if err != nil || span <= 0 {
			return wrong("for", "is not a time such as 2h or 30m")
		}
		out.Until = out.Since.Add(span)
	}
	if !out.Until.After(now) || !out.Until.After(out.Since) {
		return wrong("until", "is over already, or before it begins")
	}
	if err := out.Validate(); err != nil {
		return wrong("matchers", err.Error())
	}
	return out, nil
}

// newID draws the id of a silence.
func newID() string {
	var id fence.Term
	_, _ = rand.Read(id[:]) // never fails
	return id.String()
}

func (s *service) postSilence(w http.ResponseWriter, r *http.Request, _ *setup) error {
	var body silenceBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	in, err := s.store.Load(r.Context())
	if err != nil {
		return err
	}
	one, err := body.parse(in.At)
	if err != nil {
		return err
	}
	one.By = web.Actor(r.Context())
	if err := s.store.SetSilence(r.Context(), one); err != nil {
		return err
	}
	s.look()
	s.frame.Log.InfoContext(r.Context(), "a silence is set", slog.String("id", one.ID), slog.Time("until", one.Until), slog.String("actor", one.By))
	return s.answerSilence(w, r, one.ID)
}

func (s *service) endSilence(w http.ResponseWriter, r *http.Request, _ *setup) error {
	id := r.PathValue("id")
	ended, err := s.store.EndSilence(r.Context(), id)
	if err != nil {
		return err
	}
	if ended {
		s.look()
		s.frame.Log.InfoContext(r.Context(), "a silence is ended", slog.String("id", id), slog.String("actor", web.Actor(r.Context())))
	}
	return s.answerSilence(w, r, id)
}

// answerSilence shows a silence as it is now.
func (s *service) answerSilence(w http.ResponseWriter, r *http.Request, id string) error {
	in, err := s.store.Load(r.Context())
	if err != nil {
		return err
	}
	at := slices.IndexFunc(in.Silences, func(one alerts.Silence) bool { return one.ID == id })
	if at < 0 {
		return web.Failf(http.StatusNotFound, "there is no silence %.40q: GET %s lists all", id, pathSilences).Named("unknown-silence", "Unknown silence")
	}
	out := showSilence(in.Silences[at], in)
	out.AsOf = &in.At
	return web.Answer(w, http.StatusOK, out)
}
