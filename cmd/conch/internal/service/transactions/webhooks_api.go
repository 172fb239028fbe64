package transactions

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pgstore"
)

const (
	pathWebhooks = "/v1/webhooks"
	pathReplay   = pathWebhooks + "/{webhook}/replay"
	pathDead     = pathWebhooks + "/{webhook}/dead"

	mostReplayed = 1000 // events at once
)

// WebhookState says how a receiver is.
type WebhookState struct {
	Name         string     `json:"name"`
	Here         bool       `json:"here"` // it is in this node's file
	Events       []string   `json:"events"`
	Accounts     []string   `json:"accounts"` // null: all
	Behind       string     `json:"behind"`
	BehindMS     int64      `json:"behind_ms"`
	Waiting      int        `json:"waiting"`
	Dead         int        `json:"dead"`
	Failures     int        `json:"failures"`
	FailingSince *time.Time `json:"failing_since"`
	Why          string     `json:"why,omitempty"`
	SeenAt       *time.Time `json:"seen_at"` // null: no leader has told it of anything yet
}

// states returns how the receivers of this node's file are, and those of which the database knows besides.
func (h *webhooks) states(ctx context.Context) (all []WebhookState, err error) {
	var kept []pgstore.HookState
	if db := h.accounts.opened(); db != nil {
		if kept, err = db.HookStates(ctx); err != nil {
			return nil, err
		}
	}
	receivers, _ := h.now()
	for _, r := range receivers {
		all = append(all, WebhookState{Name: r.Name, Here: true, Events: r.Events, Accounts: r.Accounts})
	}
	for _, s := range kept {
		i := slices.IndexFunc(all, func(w WebhookState) bool { return w.Name == s.Name })
		if i < 0 {
			i, all = len(all), append(all, WebhookState{Name: s.Name, Events: []string{}})
		}
		w := &all[i]
		w.Behind, w.BehindMS, w.Waiting, w.Dead = s.Behind.Round(time.Millisecond).String(), s.Behind.Milliseconds(), s.Waiting, s.Dead
		w.Failures, w.Why, w.SeenAt = s.Failures, s.Why, new(s.Seen.UTC())
		if !s.Failing.IsZero() {
			w.FailingSince = new(s.Failing.UTC())
		}
	}
	return all, nil
}

func (a *api) webhookRoutes() []web.Route {
	return []web.Route{
		{Method: http.MethodGet, Path: pathWebhooks, Serve: a.getWebhooks},
		{Method: http.MethodGet, Path: pathDead, Query: []string{"limit"}, Serve: a.getDead},
		{Method: http.MethodPost, Path: pathReplay, Needs: web.ToOperate, Serve: a.postReplay},
	}
}

func (a *api) getWebhooks(w http.ResponseWriter, r *http.Request) error {
	at := time.Now()
	leave, err := place(a.lists)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := a.patient(r)
	defer cancel()
	all, err := a.webhooks.states(ctx)
	if err != nil {
		return notAccepted(err)
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf     time.Time      `json:"as_of"`
		Webhooks []WebhookState `json:"webhooks"`
	}{at.UTC(), append([]WebhookState{}, all...)})
}

// DeadEvent is an event of which a receiver is told no more.
type DeadEvent struct {
	Event     string    `json:"event"` // its webhook-id
	Type      string    `json:"type"`
	ID        string    `json:"id"` // the transaction's
	Version   uint64    `json:"version"`
	Account   string    `json:"account"`
	Timestamp time.Time `json:"timestamp"`
	DiedAt    time.Time `json:"died_at"`
	Tries     int       `json:"tries"`
	Why       string    `json:"why,omitempty"`
}

// receiver finds a receiver of this node's file, for a caller that may see what it is told.
func (a *api) receiver(r *http.Request) (receiver, error) {
	if err := a.transactions.seesAll(r.Context()); err != nil {
		return receiver{}, err
	}
	all, _ := a.webhooks.now()
	for _, one := range all {
		if one.Name == r.PathValue("webhook") {
			return one, nil
		}
	}
	return receiver{}, web.Failf(http.StatusNotFound, "there is no [[webhooks]] %.100q in this node's file", r.PathValue("webhook")).Named("unknown-webhook", "Unknown webhook")
}

func (a *api) getDead(w http.ResponseWriter, r *http.Request) error {
	one, err := a.receiver(r)
	if err != nil {
		return err
	}
	most, err := web.Limit(r)
	if err != nil {
		return err
	}
	leave, err := place(a.lists)
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := a.patient(r)
	defer cancel()
	at := time.Now()
	found, err := a.webhooks.accounts.opened().DeadEvents(ctx, one.Name, most)
	if err != nil {
		return notAccepted(err)
	}
	all := []DeadEvent{}
	for _, e := range found {
		all = append(all, DeadEvent{
			Event: e.Name(), Type: kindTransaction + "." + string(e.Kind), ID: idText(e.Intent), Version: e.Version,
			Account: a.webhooks.accounts.nameOf(accountID{e.Chain, e.Account}), Timestamp: e.At.UTC(), DiedAt: e.Died.UTC(), Tries: e.Tries, Why: e.Why,
		})
	}
	return web.Answer(w, http.StatusOK, struct {
		AsOf time.Time   `json:"as_of"`
		Dead []DeadEvent `json:"dead"`
	}{at.UTC(), all})
}

// replayBody is the body of POST /v1/webhooks/{webhook}/replay, which conch webhooks replay writes.
type replayBody struct {
	Dead  bool       `json:"dead,omitempty"`
	Event string     `json:"event,omitempty"`
	Since *time.Time `json:"since,omitempty"`
	After int64      `json:"after,omitempty"`
}

// replayed is the answer.
type replayed struct {
	Replayed int   `json:"replayed"`
	Next     int64 `json:"next"` // for after, to go on; 0: that was all
}

func (b replayBody) parse() (out pgstore.Replay, err error) {
	out = pgstore.Replay{Dead: b.Dead, After: b.After, Most: mostReplayed}
	chosen := 0
	for _, is := range []bool{b.Dead, b.Event != "", b.Since != nil} {
		if is {
			chosen++
		}
	}
	if chosen != 1 {
		return out, &web.FieldError{Field: "dead", Text: "or event or since says what is told again: give one of the three"}
	}
	if b.After < 0 {
		return out, &web.FieldError{Field: "after", Text: "is below 0, and is the next of another answer"}
	}
	if b.Since != nil {
		out.Since = *b.Since
	}
	if b.Event != "" {
		if out.Event, err = eventID(b.Event); err != nil {
			return out, &web.FieldError{Field: "event", Text: err.Error()}
		}
	}
	return out, nil
}

// eventID reads a webhook-id.
func eventID(text string) (int64, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(text, "evt_"), "_")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil || id < 1 || !strings.HasPrefix(text, "evt_") {
		return 0, errors.New("is no webhook-id such as evt_17_hb3k2a9x1c")
	}
	return id, nil
}

func (a *api) postReplay(w http.ResponseWriter, r *http.Request) error {
	one, err := a.receiver(r)
	if err != nil {
		return err
	}
	var body replayBody
	if err := web.ReadJSON(r, &body); err != nil {
		return err
	}
	wanted, err := body.parse()
	if err != nil {
		return notAccepted(err)
	}
	wanted.Receiver = one.Name
	for _, k := range one.Events {
		wanted.Kinds = append(wanted.Kinds, pending.Kind(k))
	}
	for _, id := range one.only {
		wanted.Accounts = append(wanted.Accounts, pgstore.Account{Chain: id.chain, Account: id.account})
	}
	ctx, cancel := a.patient(r)
	defer cancel()
	out := replayed{}
	var last int64
	if out.Replayed, last, err = a.webhooks.accounts.opened().Replay(ctx, wanted); err != nil {
		return notAccepted(err)
	}
	if out.Replayed >= mostReplayed {
		out.Next = last
	}
	a.log.InfoContext(r.Context(), "events of a webhook are told again", slog.String("webhook", one.Name), slog.Int("events", out.Replayed), slog.String("actor", web.Actor(r.Context())))
	return web.Answer(w, http.StatusOK, out)
}
