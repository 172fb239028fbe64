package alerts

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/receiver"
	"github.com/conchhq/conch/cmd/conch/internal/web"
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
