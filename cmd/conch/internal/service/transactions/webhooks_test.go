//go:build unix

package transactions

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/web/webtest"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/hook"
	"github.com/conchhq/conch/pending/pgstore"
)

// shop is a receiver of webhooks, as a user writes one.
type shop struct {
	*httptest.Server

	t    *testing.T
	keys [][]byte
	doc  *webtest.Spec

	mu     sync.Mutex
	status func(e WebhookEvent) int // of the answer; nil: 200
	got    []string                 // what came: event, version, of which transaction
	ids    []string                 // their webhook-ids
	came   chan struct{}
}

func openShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, doc: webtest.Read(t, openAPI), came: make(chan struct{}, 1000), keys: [][]byte{[]byte(strings.Repeat("k", 32))}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// conforms compares a POST with the document's part for receivers.
func (s *shop) conforms(h http.Header, body []byte) {
	told := s.doc.At(s.doc.Root(), "webhooks", kindTransaction, "post")
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		s.t.Error(err)
	}
	schema := s.doc.At(told, "requestBody", "content", "application/json", "schema")
	for _, fault := range s.doc.Faults("event", schema, value) {
		s.t.Error(fault)
	}
	headers, _ := s.doc.At(told, "parameters").([]any)
	for _, one := range headers {
		if name := fmt.Sprint(s.doc.At(one, "name")); len(h.Values(name)) != 1 {
			s.t.Errorf("the header %s is there %d times, and documented", name, len(h.Values(name)))
		}
	}
	if len(headers) != 3 {
		s.t.Errorf("%d headers are documented, want those of Standard Webhooks", len(headers))
	}
}

// ServeHTTP checks the signature as Standard Webhooks 1.0 says.
func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var e WebhookEvent
	if err != nil || json.Unmarshal(body, &e) != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" {
		s.t.Errorf("got %s %q, %v", r.Method, body, err)
	}
	s.conforms(r.Header, body)
	var want []string
	for _, key := range s.keys {
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
		want = append(want, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	if got := r.Header.Get("webhook-signature"); got != strings.Join(want, " ") {
		s.t.Errorf("signed with %q, want %q", got, want)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, fmt.Sprintf("%s %d %s", e.Type, e.Data.Version, e.Data.Key))
	s.ids = append(s.ids, r.Header.Get("webhook-id"))
	status := http.StatusOK
	if s.status != nil {
		status = s.status(e)
	}
	if status/100 == 3 {
		w.Header().Set("Location", s.URL+"/elsewhere")
	}
	w.WriteHeader(status)
	s.came <- struct{}{}
}

// has waits until so many have come, and returns them.
func (s *shop) has(n int) []string {
	s.t.Helper()
	for range n {
		pgtest.Within(s.t, time.Minute, "something comes", func() { <-s.came })
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// mail is a node's service of webhooks over a database.
type mail struct {
	t     *testing.T
	pg    *pgtest.DB
	db    *pgstore.Database
	store *pgstore.Store
	token fence.Token
	dir   string
	out   *service
}

func openMail(t *testing.T) *mail {
	t.Helper()
	server := pgtest.New(t)
	m := &mail{t: t, pg: server, dir: t.TempDir()}
	m.token, _ = nodetest.Lead(t, server.URL, "a", "pending:test", time.Hour)
	cfg := pgmint.Config{URL: server.URL}
	over, end := context.WithCancel(context.Background())
	var work sync.WaitGroup
	m.out = newService(node.Frame{ID: "n1", Log: slog.New(slog.DiscardHandler), Over: over, Go: work.Go, Database: &cfg}, nil)
	apply, err := m.out.accounts.prepare([]Account{payerAccount})
	if err != nil {
		t.Fatal(err)
	}
	apply()
	m.db = m.out.accounts.opened()
	m.store = m.db.Store(payerAccount.Chain.ID(), "n1")
	t.Cleanup(func() {
		end()
		pgtest.Within(t, time.Minute, "the service ends", work.Wait)
		m.out.Close()
	})
	return m
}

// secret writes a secret to a file.
func (m *mail) secret(name string, key []byte) string {
	m.t.Helper()
	file := filepath.Join(m.dir, name)
	if err := os.WriteFile(file, []byte("whsec_"+base64.StdEncoding.EncodeToString(key)+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return file
}

// tells has the service know receivers, as a reload does.
func (m *mail) tells(all ...Webhook) {
	m.t.Helper()
	apply, err := m.out.webhooks.prepare(&Section{accounts: []Account{payerAccount}, webhooks: all})
	if err != nil {
		m.t.Fatal(err)
	}
	apply()
}

// lead leads the role until the function that it returns is called.
func (m *mail) lead() (end func()) {
	m.t.Helper()
	token, leave := nodetest.Lead(m.t, m.pg.URL, "a", hooksScope, time.Hour)
	gate := fence.Standalone(hooksScope, "a")
	ctx, stop := context.WithCancel(m.t.Context())
	done := make(chan error, 1)
	go func() { done <- m.out.webhooks.lead(ctx, election.Leadership{Token: token, Gate: gate}) }()
	return sync.OnceFunc(func() {
		stop()
		pgtest.Within(m.t, time.Minute, "the role ends", func() {
			if err := <-done; err != nil {
				m.t.Errorf("the role ends with %v", err)
			}
		})
		leave()
	})
}

func (m *mail) hookTo(s *shop, name string, events ...string) Webhook {
	return Webhook{Name: name, URL: s.URL + "/hooks", SecretFile: m.secret(name, s.keys[0]), Events: events, Local: true}
}

func (m *mail) accept(key string) pending.Intent {
	m.t.Helper()
	in, err := m.store.Accept(m.t.Context(), pending.Intent{Account: payerAccount.Address, Key: key})
	if err != nil {
		m.t.Fatal(err)
	}
	return in
}

// known waits until the database knows a receiver: what happens from then on is told to it.
func (m *mail) known(name string) {
	m.t.Helper()
	pgtest.Eventually(m.t, time.Minute, name+" has a place", func() bool {
		all, err := m.db.HookStates(m.t.Context())
		return err == nil && slices.ContainsFunc(all, func(s pgstore.HookState) bool { return s.Name == name })
	})
}

// noted waits until all that was confirmed is noted.
func (m *mail) noted() {
	m.t.Helper()
	pgtest.Eventually(m.t, time.Minute, "it is noted", func() bool {
		all, err := m.db.HookStates(m.t.Context())
		return err == nil && all[0].Behind == 0
	})
}

// A payment's story is told in turn, signed with both secrets while they are changed, and only what was asked for.
func TestWebhooksTellAStory(t *testing.T) {
	t.Parallel()
	m, s, brief := openMail(t), openShop(t), openShop(t)
	s.keys = append(s.keys, []byte(strings.Repeat("o", 24)))
	all := m.hookTo(s, "all", "accepted", "nonce", "in_block", "final", "rewound")
	all.SecretFileOld = m.secret("old", s.keys[1])
	m.tells(all, m.hookTo(brief, "brief", "final"))
	end := m.lead()
	defer end()
	m.known("all")
	m.known("brief")
	in := m.accept("invoice-17")
	attempt := chain.Signed{Account: payerAccount.Address, Hash: "hash", Bytes: []byte{1}}
	number := uint64(0)
	write := func(b pending.Batch) {
		t.Helper()
		number++
		if b.Account, b.Number = payerAccount.Address, number; m.store.Write(t.Context(), m.token, b) != nil {
			t.Fatal("it is not written")
		}
	}
	change := pending.Change{Hash: "hash", Status: pending.InBlock, Block: chain.Block{Number: 7, Hash: "seven"}}
	write(pending.Batch{New: []pending.Slot{{Intent: &in.ID, Attempts: []chain.Signed{attempt}}}})
	write(pending.Batch{Changes: []pending.Change{change}})
	final := change
	final.Status, final.Intent = pending.Finalized, pending.Done
	write(pending.Batch{Changes: []pending.Change{final}})
	write(pending.Batch{Changes: []pending.Change{change}}) // the chain takes it back
	want := []string{
		"transaction.accepted 1 invoice-17", "transaction.nonce 2 invoice-17", "transaction.in_block 3 invoice-17", "transaction.final 4 invoice-17", "transaction.rewound 5 invoice-17",
	}
	if got := s.has(5); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if got := brief.has(1); !slices.Equal(got, want[3:4]) {
		t.Errorf("told %q, want the end alone", got)
	}
}

// C4.6: a leader that dies between a POST and its note is followed by one that tells it again, with the same webhook-id.
func TestAWebhookIsToldAgainAfterACrash(t *testing.T) {
	t.Parallel()
	m, s := openMail(t), openShop(t)
	m.tells(m.hookTo(s, "shop", "accepted"))
	end := m.lead()
	m.known("shop")
	m.accept("first")
	s.has(1)
	m.noted()
	lock, err := m.pg.Connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock.Exec(t.Context(), `SELECT FROM conch.hooks FOR UPDATE`); err != nil {
		t.Fatal(err)
	}
	m.accept("second")
	s.has(1) // and it cannot be noted
	end()
	if err := lock.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	end = m.lead()
	defer end()
	got := s.has(1)
	if len(got) != 3 || got[1] != got[2] || s.ids[1] != s.ids[2] || s.ids[0] == s.ids[1] || !strings.HasPrefix(s.ids[1], "evt_") {
		t.Errorf("told %q with %q, want the second twice with one id", got, s.ids)
	}
}

// C4.4: a receiver that does not answer holds nobody up but itself, and has no more POSTs at once than it may.
func TestASilentReceiverHoldsNobody(t *testing.T) {
	t.Parallel()
	m, s, hold := openMail(t), openShop(t), make(chan struct{})
	var came atomic.Int64
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		came.Add(1)
		<-hold
	}))
	t.Cleanup(silent.Close)
	defer close(hold) // before it is closed, which waits for its answers
	mute := m.hookTo(s, "silent", "accepted")
	mute.URL = silent.URL
	m.tells(m.hookTo(s, "shop", "accepted"), mute)
	end := m.lead()
	defer end()
	m.known("shop")
	m.known("silent")
	for i := range 2 * hook.Places {
		m.accept(fmt.Sprint("invoice-", i))
	}
	s.has(2 * hook.Places)
	pgtest.Eventually(t, time.Minute, "the silent one has all its places taken", func() bool { return came.Load() == hook.Places })
}

// Rule no-redirects: a redirect is a failure and leads nowhere, and an address of this host is not posted to unless the file says so. Neither holds another
// receiver up, and all of it is shown.
func TestWebhooksGoNowhereElse(t *testing.T) {
	t.Parallel()
	m, moved, inside, well := openMail(t), openShop(t), openShop(t), openShop(t)
	moved.status = func(WebhookEvent) int { return http.StatusTemporaryRedirect }
	local := m.hookTo(inside, "inside", "accepted")
	local.Local = false
	m.tells(m.hookTo(moved, "moved", "accepted"), local, m.hookTo(well, "well", "accepted"))
	end := m.lead()
	defer end()
	for _, name := range []string{"moved", "inside", "well"} {
		m.known(name)
	}
	m.accept("one")
	well.has(1)
	moved.has(1)
	why := map[string]string{}
	pgtest.Eventually(t, time.Minute, "both are noted", func() bool {
		all, err := m.out.webhooks.states(t.Context())
		for _, w := range all {
			if w.Waiting == 1 {
				why[w.Name] = w.Why
			}
		}
		return err == nil && len(why) == 2
	})
	if !strings.Contains(why["moved"], "answer 307: redirects are not followed") || !strings.Contains(why["inside"], "not declared local") {
		t.Errorf("got %q", why)
	}
	if got := moved.has(0); len(got) != 1 {
		t.Errorf("the one that has moved was told %q", got)
	}
	if got := inside.has(0); len(got) > 0 {
		t.Errorf("a receiver on this host was told %q", got)
	}
}

// A reload changes secrets and receivers in the same term. C4.5: what a receiver has confirmed and lost is told again, by its id or by time.
func TestWebhooksAreReloadedAndReplayed(t *testing.T) {
	t.Parallel()
	m, s := openMail(t), openShop(t)
	m.tells(m.hookTo(s, "shop", "accepted"))
	end := m.lead()
	defer end()
	m.known("shop")
	m.accept("one")
	s.has(1)
	m.noted()
	s.keys = [][]byte{[]byte(strings.Repeat("n", 32))}
	m.tells(m.hookTo(s, "shop", "accepted"))
	m.accept("two")
	s.has(1)
	api := newAPI(m.out, slog.New(slog.DiscardHandler))
	asks := func(ask, body, want string) {
		t.Helper()
		out := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, ask, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.SetPathValue("webhook", strings.Split(ask, "/")[3])
		if err := api.postReplay(out, r); err != nil {
			_, _ = fmt.Fprint(out, err)
		}
		if got := strings.TrimSpace(out.Body.String()); !strings.Contains(got, want) {
			t.Errorf("%s %s: got %s, want %s", ask, body, got, want)
		}
	}
	m.noted()
	asks("/v1/webhooks/other/replay", `{"dead":true}`, "no [[webhooks]]")
	asks("/v1/webhooks/shop/replay", `{}`, "one of the three")
	asks("/v1/webhooks/shop/replay", `{"event":"17"}`, "no webhook-id")
	asks("/v1/webhooks/shop/replay", `{"dead":true}`, `{"replayed":0,"next":0}`)
	asks("/v1/webhooks/shop/replay", `{"event":"`+s.ids[0]+`"}`, `{"replayed":1,"next":0}`)
	if got := s.has(1); len(got) != 3 || got[2] != got[0] || s.ids[2] != s.ids[0] {
		t.Errorf("told %q with %q, want the first again", got, s.ids)
	}
	pgtest.Eventually(t, time.Minute, "that is noted", func() bool {
		all, err := m.db.HookStates(t.Context())
		return err == nil && all[0].Waiting == 0
	})
	asks("/v1/webhooks/shop/replay", `{"since":"`+time.Now().Add(time.Hour).UTC().Format(time.RFC3339)+`"}`, `{"replayed":0,"next":0}`)
	asks("/v1/webhooks/shop/replay", `{"since":"`+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)+`"}`, `{"replayed":2,"next":0}`)
	if got := s.has(2)[3:]; len(got) != 2 || !slices.Contains(got, "transaction.accepted 1 one") || !slices.Contains(got, "transaction.accepted 1 two") {
		t.Errorf("told %q by time, want both again", got)
	}
}

// Rule dead-is-shown: an event that a receiver has refused for three days is told no more, and that is shown: by the API with why, in the
// metrics that an alert reads, and by the doctor. Nobody else waits for it, and a replay tells it.
func TestADeadEventIsShown(t *testing.T) {
	t.Parallel()
	m, s := openMail(t), openShop(t)
	var mu sync.Mutex
	closed := true
	s.status = func(WebhookEvent) int {
		mu.Lock()
		defer mu.Unlock()
		if closed {
			return http.StatusTeapot
		}
		return http.StatusOK
	}
	m.tells(m.hookTo(s, "shop", "accepted"))
	end := m.lead()
	m.known("shop")
	in := m.accept("one")
	s.has(1)
	state := func() (is pgstore.HookState) {
		all, err := m.db.HookStates(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("got %+v, %v", all, err)
		}
		return all[0]
	}
	pgtest.Eventually(t, time.Minute, "it waits", func() bool { return state().Waiting == 1 })
	end()
	pgtest.Exec(t, m.pg.Connect(t), `UPDATE conch.hook_waits SET since = since - interval '3 days', due_at = clock_timestamp()`)
	end = m.lead()
	defer end()
	pgtest.Eventually(t, time.Minute, "it is dead", func() bool { is := state(); return is.Dead == 1 && is.Waiting == 0 })
	api, out, r := newAPI(m.out, slog.New(slog.DiscardHandler)), httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/webhooks/shop/dead", nil)
	r.SetPathValue("webhook", "shop")
	if err := api.getDead(out, r); err != nil || !strings.Contains(out.Body.String(), `"id":"`+idText(in.ID)+`"`) || !strings.Contains(out.Body.String(), `"why":"answer 418`) || !strings.Contains(out.Body.String(), s.ids[0]) {
		t.Errorf("the list of the dead is %s, %v", out.Body, err)
	}
	page := prometheus.NewRegistry()
	page.MustRegister(hookCollector{m.out.webhooks})
	families, err := page.Gather()
	shown := false
	for _, f := range families {
		for _, one := range f.GetMetric() {
			shown = shown || f.GetName() == "conch_webhook_events" && one.GetLabel()[0].GetValue() == "dead" && one.GetGauge().GetValue() == 1
		}
	}
	if err != nil || !shown {
		t.Errorf("the metrics are %v, %v; want one that is dead", families, err)
	}
	mu.Lock()
	closed = false
	mu.Unlock()
	if n, _, err := m.db.Replay(t.Context(), pgstore.Replay{Receiver: "shop", Dead: true, Most: 9}); n != 1 || err != nil {
		t.Errorf("%d are replayed, %v", n, err)
	}
	m.out.webhooks.wake()
	s.has(2) // the last refusal, and then the replay
	pgtest.Eventually(t, time.Minute, "none is dead or waits", func() bool { is := state(); return is.Dead == 0 && is.Waiting == 0 })
}
