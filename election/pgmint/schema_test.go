package pgmint_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Down refuses while a holder lives; afterwards epochs go on from where they were.
func TestDownKeepsEpochs(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	cfg := pgmint.Config{URL: db.URL}
	var held *pgmint.HeldError
	if err := pgmint.Down(t.Context(), cfg, nil); !errors.As(err, &held) || held.Holder != "a" || held.Scope != "s" {
		t.Fatalf("down under a holder: %v", err)
	}
	if alive, err := a.Beat(t.Context(), []election.Pulse{{Token: token}}); err != nil || alive[0] != election.Renewed {
		t.Fatalf("the holder after the refusal: %v, %v", alive, err)
	}
	_ = a.Close()
	if err := pgmint.Down(t.Context(), cfg, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), election.Candidate{ID: "b", Lease: time.Second}); err == nil || pgmint.Sentence(err) != "the database has no schema conch: run `conch migrate up`" {
		t.Errorf("opening without a schema: %v", err)
	}
	if err := pgmint.Check(t.Context(), cfg); err == nil {
		t.Error("Check without a schema passed")
	}
	if err := pgmint.Up(t.Context(), cfg, nil); err != nil {
		t.Fatal(err)
	}
	if err := pgmint.Check(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	if next := lead(t, candidate(t, m, "b", unhurried, election.Strict), "s", unhurried); next.Epoch != token.Epoch+1 {
		t.Errorf("epoch %d after down and up, want %d", next.Epoch, token.Epoch+1)
	}
	s, err := pgmint.Status(t.Context(), cfg)
	if err != nil || s.Current != s.Latest || s.Current != pgmint.SchemaMax {
		t.Errorf("%+v, %v", s, err)
	}
}

// Advance raises an epoch by hand and deposes whoever leads.
func TestAdvance(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	cfg := pgmint.Config{URL: db.URL}
	if err := pgmint.Advance(t.Context(), cfg, "s", token.Epoch, "ops"); err == nil {
		t.Error("advancing to an epoch that is not higher passed")
	}
	if err := pgmint.Advance(t.Context(), cfg, "s", 500, "ops"); err != nil {
		t.Fatal(err)
	}
	if alive, err := a.Beat(t.Context(), []election.Pulse{{Token: token}}); err != nil || alive[0] != election.Over {
		t.Errorf("the deposed holder's heartbeat: %v, %v", alive, err)
	}
	_ = a.Close()
	b := candidate(t, m, "b", unhurried, election.Strict)
	r := bid(t, b, election.Bid{Scope: "s", Lease: time.Second})
	if r.Outcome != election.Won || r.Token.Epoch != 501 || r.Hold != unhurried {
		t.Errorf("%+v: the deposed holder may still act for a lease", r)
	}
	if err := pgmint.Advance(t.Context(), cfg, "never-led", 90, "ops"); err != nil {
		t.Fatal(err)
	}
	if r := bid(t, b, election.Bid{Scope: "never-led", Lease: time.Second}); r.Token.Epoch != 91 {
		t.Errorf("%+v", r)
	}
	for _, scope := range []string{"never-led", "new"} { // no bid could count on from there
		err := pgmint.Advance(t.Context(), cfg, scope, math.MaxInt64, "ops")
		if err == nil || !strings.Contains(err.Error(), "4611686018427387904") {
			t.Errorf("advancing %q to the last of all epochs: %v", scope, err)
		}
		if err := pgmint.Advance(t.Context(), cfg, scope, pgmint.MaxAdvance, "ops"); err != nil {
			t.Error(err)
		}
		if r := bid(t, b, election.Bid{Scope: scope, Lease: time.Second}); r.Token.Epoch != pgmint.MaxAdvance+1 {
			t.Errorf("%+v", r)
		}
	}
}

// Watch streams what is recorded after it began, once each, and survives the loss
// of its connections.
func TestWatch(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	o, err := pgmint.Observe(t.Context(), pgmint.Config{URL: db.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	ctx, cancel := context.WithCancel(t.Context())
	events := make(chan pgmint.Event, 100)
	done := make(chan error, 1)
	go func() {
		done <- o.Watch(ctx, "s", func(e pgmint.Event) error { events <- e; return nil })
	}()
	c := db.Connect(t)
	pgtest.Eventually(t, 10*time.Second, "the watcher to listen", func() bool {
		var n int
		return c.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'conch watcher'`).Scan(&n) == nil && n == 1
	})
	if _, err := a.Release(t.Context(), []election.Farewell{{Token: token, Released: true, Reason: "bye"}}); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		select {
		case e := <-events:
			if e.Event != want || e.Scope != "s" {
				t.Errorf("%+v, want %s", e, want)
			}
		case <-time.After(30 * time.Second):
			t.Fatalf("no event, want %s", want)
		}
	}
	next("released")
	run(t, c, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name IN ('conch watcher', 'conch observer')`)
	b := candidate(t, m, "b", unhurried, election.Strict)
	token = lead(t, b, "s", unhurried)
	next("acquired")
	silence(t, c, `application_name = 'conch observer'`)
	if _, err := b.Release(t.Context(), []election.Farewell{{Token: token, Released: true, Reason: "bye"}}); err != nil {
		t.Fatal(err)
	}
	next("released")
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(events) != 0 {
		t.Errorf("%d events more", len(events))
	}
}

// S27: a lock key from the environment fits exactly one scope.
func TestLockKeyFromEnv(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CONCH_LEADER_LOCK_KEY": "-42", "CONCH_LISTEN_CHANNEL": "elsewhere"}
	get := func(name string) string { return env[name] }
	c, err := pgmint.ConfigFromEnv(get, "s")
	if err != nil || c.LockKeys["s"] != -42 || c.ListenChannel != "elsewhere" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := pgmint.ConfigFromEnv(get, "s", "t"); err == nil {
		t.Error("one key for two scopes passed")
	}
	env["CONCH_LEADER_LOCK_KEY"] = "0x1g"
	if _, err := pgmint.ConfigFromEnv(get, "s"); err == nil {
		t.Error("a key that is no number passed")
	}
}
