package transactions

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/hook"
)

// webhooks tells receivers of events while this node leads the role of that. It is safe for concurrent use.
type webhooks struct {
	log      *slog.Logger
	accounts *accounts
	show     func(chainID string, e pending.Event) Event

	mu        sync.Mutex
	receivers []receiver
	changed   chan struct{} // closed when the receivers are others
	running   map[*hook.Deliverer]bool
	posts     map[[2]string]int // by receiver and outcome
}

// receiver is a [[webhooks]] with what a Deliverer needs of it.
type receiver struct {
	Webhook

	only []accountID // whose events it is told; nil: all
	hook hook.Receiver
}

func newWebhooks(log *slog.Logger, a *accounts, n *news) *webhooks {
	return &webhooks{log: log, accounts: a, show: n.show, changed: make(chan struct{}), running: map[*hook.Deliverer]bool{}, posts: map[[2]string]int{}}
}

// prepare reads the secrets of receivers. apply has them told instead of those before.
func (h *webhooks) prepare(s *Section) (apply func(), err error) {
	var all []receiver
	for _, w := range s.webhooks {
		one := receiver{Webhook: w, only: w.accountsOf(s.accounts)}
		keys := w.keys(func(key string, fault error) {
			if err == nil {
				err = fmt.Errorf("webhook %q: %s: %w", w.Name, key, fault)
			}
		})
		if err != nil {
			return nil, err
		}
		one.hook = hook.Receiver{Name: w.Name, URL: w.URL, Local: w.Local, Keys: keys, Wants: one.wants, Body: h.body}
		if err := one.hook.Validate(); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.receivers = all
		close(h.changed)
		h.changed = make(chan struct{})
	}, nil
}

func (r receiver) wants(e *hook.Event) bool {
	return slices.Contains(r.Events, string(e.Kind)) && (r.only == nil || slices.Contains(r.only, accountID{e.Chain, e.Account}))
}

// WebhookEvent is what a receiver is sent. Its fields are those that Standard Webhooks recommends.
type WebhookEvent struct {
	Type      string      `json:"type"` // transaction. and the event
	Timestamp time.Time   `json:"timestamp"`
	Data      WebhookData `json:"data"`
}

// WebhookData is the event, and the key of its transaction.
type WebhookData struct {
	Event

	Key string `json:"idempotency_key,omitempty"`
}

func (h *webhooks) body(e *hook.Event) []byte {
	text, err := json.Marshal(WebhookEvent{
		Type: kindTransaction + "." + string(e.Kind), Timestamp: e.At.UTC(), Data: WebhookData{Event: h.show(e.Chain, e.Event), Key: e.Key},
	})
	if err != nil {
		panic(err) //nolint:forbidigo // cannot happen: texts and numbers
	}
	return text
}

// wake says that there are events.
func (h *webhooks) wake() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d := range h.running {
		d.Wake()
	}
}

func (h *webhooks) now() (all []receiver, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.receivers, h.changed
}

// lead tells receivers of events while this node leads. A reload that changes them takes effect at once.
func (h *webhooks) lead(ctx context.Context, l election.Leadership) error {
	h.log.Info("telling the receivers of webhooks", slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch))
	for ctx.Err() == nil {
		all, changed := h.now()
		if err := h.deliver(ctx, l, all, changed); err != nil {
			return err
		}
	}
	return nil // the elector ended the term and knows why
}

// deliver tells receivers until they change, the term is over or one of them cannot be told any more.
func (h *webhooks) deliver(ctx context.Context, l election.Leadership, all []receiver, changed <-chan struct{}) error {
	under, end := context.WithCancelCause(ctx)
	defer end(nil)
	db := h.accounts.opened()
	var work sync.WaitGroup
	for _, r := range all {
		d, err := hook.New(r.hook, db.Hook(r.Name, l.Token), h.eventsOf(r.Name))
		if err != nil {
			end(err)
			break
		}
		h.mu.Lock()
		h.running[d] = true
		h.mu.Unlock()
		work.Go(func() {
			defer func() {
				h.mu.Lock()
				defer h.mu.Unlock()
				delete(h.running, d)
			}()
			if err := d.Run(under, l.Gate); under.Err() == nil {
				end(err)
			}
		})
	}
	var reread bool
	select {
	case <-under.Done():
	case <-changed:
		reread = true
		end(nil)
	}
	work.Wait()
	if reread || ctx.Err() != nil {
		return nil
	}
	return context.Cause(under)
}

// The outcomes of POSTs.
const (
	taken   = "taken"
	refused = "refused"
)

// eventsOf logs and counts what comes of a receiver.
func (h *webhooks) eventsOf(name string) hook.Events {
	log := h.log.With(slog.String("webhook", name))
	complaints := &complaints{log: log, now: time.Now, said: map[string]time.Time{}}
	return hook.Events{
		Posted: func(is bool) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.posts[[2]string{name, map[bool]string{true: taken, false: refused}[is]}]++
		},
		Ails: func(begins bool, health hook.Health) {
			if begins {
				log.Warn("the receiver of a webhook refuses everything: it is asked once a minute, and its events wait", slog.Int("failures", health.Failures), slog.String("error", health.Why))
				return
			}
			log.Info("the receiver of a webhook takes events again")
		},
		Died: func(n int) {
			log.Error("EVENTS ARE DEAD: the receiver of a webhook has refused them for three days", slog.Int("events", n))
		},
		Trouble: complaints.about,
	}
}
