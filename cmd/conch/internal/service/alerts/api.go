package alerts

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/receiver"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pause"
)

const (
	pathAlerts   = "/v1/alerts"
	pathSilences = "/v1/silences"
	pathReceiver = "/v1/receiver/test" // with the name in the body: proxies decode what stands in a path

	// testPatience is for a message that is told, and ended again, in less time than the command waits for its answer.
	testPatience = 18 * time.Second
)

func (s *service) routes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: pathAlerts, Query: []string{"state", "rule", "limit"}, Serve: s.patiently(s.getAlerts)},
		{Method: http.MethodGet, Path: pathSilences, Query: []string{"limit"}, Serve: s.patiently(s.getSilences)},
		{Method: http.MethodPost, Path: pathSilences, Needs: web.ToOperate, Serve: s.patiently(s.postSilence)},
		{Method: http.MethodPost, Path: pathSilences + "/{id}/end", Needs: web.ToOperate, Serve: s.patiently(s.endSilence)},
		{Method: http.MethodPost, Path: "/v1/receivers/{name}/test", Needs: web.ToOperate, Serve: s.testReceiver},
		{Method: http.MethodPost, Path: pathReceiver, Needs: web.ToOperate, Serve: s.testNamed},
	}
}

// here returns what the file says of alerts, or a problem.
func (s *service) here() (*setup, error) {
	u, _ := s.now()
	if u == nil {
		return nil, web.Failf(http.StatusNotFound, "the file of this node has neither [alerting] nor [[alerts]] nor [[notify]]").Named("no-alerts", "No alerts")
	}
	return u, nil
}

// inDatabase returns what the file says of the alerts that nodes judge together, or a problem.
func (s *service) inDatabase() (*setup, error) {
	u, err := s.here()
	if err == nil && !u.section.led {
		err = web.Failf(http.StatusNotFound, "this node uses no database, which has the alerts of a cluster: its log says what it tells of itself").Named("no-alerts", "No alerts")
	}
	return u, err
}

type handler func(w http.ResponseWriter, r *http.Request, u *setup) error

// patiently bounds how long a request may wait for the database.
func (s *service) patiently(serve handler) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		u, err := s.inDatabase()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(r.Context(), s.patience)
		defer cancel()
		return serve(w, r.WithContext(ctx), u)
	}
}

func (s *service) getAlerts(w http.ResponseWriter, r *http.Request, u *setup) error {
	most, err := web.Limit(r)
	if err != nil {
		return err
	}
	state, rule := r.URL.Query().Get("state"), r.URL.Query().Get("rule")
	if state != "" && !slices.Contains(states, state) {
		return web.Failf(http.StatusBadRequest, "state = %.40q is none of %s", state, strings.Join(states, ", ")).Wrong("state")
	}
	loaded, err := s.store.Load(r.Context())
	if err != nil {
		return err
	}
	see := newSight(loaded, u, s.ledger)
	out := struct {
		AsOf       time.Time      `json:"as_of"`
		Evaluation *Evaluation    `json:"evaluation"`
		Counts     Counts         `json:"counts"`
		Alerts     []AlertView    `json:"alerts"`
		Rules      []RuleView     `json:"rules"`
		Receivers  []ReceiverView `json:"receivers"`
	}{AsOf: loaded.At, Evaluation: see.evaluation(), Rules: see.ruleList(), Receivers: see.receiverList()}
	out.Alerts, out.Counts = see.all(func(s, of string) bool { return (state == "" || s == state) && (rule == "" || of == rule) }, most)
	return web.Answer(w, http.StatusOK, out)
}

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

// ReceiverTest is what has become of a test.
type ReceiverTest struct {
	Receiver string `json:"receiver"`
	Answer   string `json:"answer"`
	Why      string `json:"why,omitempty"`
	Took     int64  `json:"took_ms"`
}

func (s *service) testReceiver(w http.ResponseWriter, r *http.Request) error {
	return s.test(w, r, r.PathValue("name"))
}

type namedReceiver struct {
	Receiver string `json:"receiver"`
}

func (s *service) testNamed(w http.ResponseWriter, r *http.Request) error {
	var body namedReceiver
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	return s.test(w, r, body.Receiver)
}

// test tells a receiver of this node's file that this is a test.
func (s *service) test(w http.ResponseWriter, r *http.Request, name string) error {
	u, err := s.here()
	if err != nil {
		return err
	}
	to := u.receiver(name)
	if to == nil {
		return web.Failf(http.StatusNotFound, "this node has no receiver %.100q", name).Named("unknown-receiver", "Unknown receiver")
	}
	ctx, cancel := context.WithTimeout(r.Context(), testPatience)
	defer cancel()
	began := time.Now()
	out := tryOut(ctx, to, u.place)
	out.Took = time.Since(began).Milliseconds()
	s.frame.Log.InfoContext(r.Context(), "a receiver is tested", slog.String("receiver", name), slog.String("answer", out.Answer), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusOK, out)
}

// tryOut tells one receiver that this is a test; a heartbeat is called.
func tryOut(ctx context.Context, to *receiver.Receiver, p receiver.Place) ReceiverTest {
	var answer alerts.Answer
	var err error
	if to.Beats() {
		answer, err = to.Beat(ctx, nil)
	} else {
		answer, err = to.Try(ctx, nil, p)
	}
	out := ReceiverTest{Receiver: to.Name, Answer: answers[answer]}
	if err != nil {
		out.Why = err.Error()
	}
	return out
}

// kindAlert is what event streams call what happens to alerts, and the parameter by which a caller names a rule.
const kindAlert = "alert"

// selects takes the rule that the caller of an event stream names: any may come with another file.
func (s *service) selects(named string) (rule string, err error) {
	if _, err := s.inDatabase(); err != nil {
		return "", err
	}
	return named, nil
}

// Event is what an event stream is told of a rule.
type Event struct {
	AsOf     time.Time `json:"as_of"`
	Rule     string    `json:"rule"`
	Severity string    `json:"severity"`
	Counts   Counts    `json:"counts"`
}

const (
	tellEach  = 2 * time.Second
	tellRest  = 50 // of the time that a reading takes
	tellAgain = 10 * time.Second
)

// tellCounts tells the event streams of this node how many alerts each rule has, whenever that has changed, until ctx ends. One reading serves all that
// hear of it, and nothing is read while nobody does.
func (s *service) tellCounts(ctx context.Context) {
	var told map[string]Event
	for wait := tellEach; pause.For(ctx, wait) == nil; {
		wait = tellEach
		u, err := s.inDatabase()
		if err != nil || !s.frame.Board.Heard(kindAlert) {
			told = nil // those that hear of it next begin with all
			continue
		}
		began := time.Now()
		asking, cancel := context.WithTimeout(ctx, patience)
		in, err := s.store.Load(asking)
		cancel()
		if wait = max(tellEach, tellRest*time.Since(began)); err != nil {
			wait = max(wait, tellAgain)
			continue
		}
		now := newSight(in, u, s.ledger).events()
		for _, e := range moved(told, now) {
			e.AsOf = in.At
			s.frame.Board.Tell(web.Notice{Kind: kindAlert, Subject: e.Rule, Data: e})
		}
		told = now
	}
}

// events counts the alerts of each rule that has some. What is told of it changes whenever a number does, or what is alike has another group.
func (s *sight) events() map[string]Event {
	all := map[string]Event{}
	for _, g := range s.Groups {
		state := s.stateOf(g)
		if state == "" {
			continue
		}
		e := all[g.Rule]
		e.Rule, e.Severity = g.Rule, s.rules[g.Rule].Severity
		e.Counts.add(state)
		all[g.Rule] = e
	}
	return all
}

// moved returns the rules that have other alerts than before, in the order of their names.
func moved(before, now map[string]Event) (all []Event) {
	for name, was := range before {
		if _, still := now[name]; !still {
			all = append(all, Event{Rule: name, Severity: was.Severity})
		}
	}
	for name, e := range now {
		if was, known := before[name]; !known || was != e {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Event) int { return cmp.Compare(a.Rule, b.Rule) })
	return all
}
