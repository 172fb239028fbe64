package pgmint_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/election/pgmint"
)

// Down refuses while a holder lives. After Down and Up, epochs go on from the old ones.
func TestDownKeepsEpochs(t *testing.T) {
	t.Parallel()
	db, m, a, token := setup(t)
	cfg := pgmint.Config{URL: db.URL}
	var held *pgmint.HeldError
	if err := pgmint.Down(t.Context(), cfg, nil); !errors.As(err, &held) || held.Holder != "a" || held.Scope != "s" {
		t.Fatalf("Down with a live holder: got %v, want a HeldError", err)
	}
	if alive, err := a.Beat(t.Context(), []mint.Pulse{{Token: token}}); err != nil || alive[0] != mint.Renewed {
		t.Fatalf("the holder's heartbeat after the refusal: got %v, %v, want Renewed", alive, err)
	}
	_ = a.Close()
	if err := pgmint.Down(t.Context(), cfg, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Open(t.Context(), mint.Candidate{ID: "b", Lease: time.Second}); err == nil || pgmint.Sentence(err) != "the database has no schema conch: run `conch migrate up`" {
		t.Errorf("Open without a schema: got %v, want advice to run conch migrate up", err)
	}
	if err := pgmint.Check(t.Context(), cfg); err == nil {
		t.Error("Check without a schema: got no error, want one")
	}
	if err := pgmint.Up(t.Context(), cfg, nil); err != nil {
		t.Fatal(err)
	}
	if err := pgmint.Check(t.Context(), cfg); err != nil {
		t.Error(err)
	}
	if next := lead(t, candidate(t, m, "b", unhurried, mint.Strict), "s", unhurried); next.Epoch != token.Epoch+1 {
		t.Errorf("got epoch %d after Down and Up, want %d", next.Epoch, token.Epoch+1)
	}
	if v, err := pgmint.Tables.Version(t.Context(), db.Connect(t)); err != nil || v != pgmint.Tables.Newest() {
		t.Errorf("got version %d, %v, want the newest", v, err)
	}
}

// S27: a lock key from the environment fits exactly one scope.
func TestLockKeyFromEnv(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CONCH_LEADER_LOCK_KEY": "-42", "CONCH_LISTEN_CHANNEL": "elsewhere"}
	get := func(name string) string { return env[name] }
	c, err := pgmint.ConfigFromEnv(get, "s")
	if err != nil || c.LockKeys["s"] != -42 || c.ListenChannel != "elsewhere" {
		t.Errorf("got %+v, %v, want the key -42 and the channel elsewhere", c, err)
	}
	if _, err := pgmint.ConfigFromEnv(get, "s", "t"); err == nil {
		t.Error("one key for two scopes: got no error, want one")
	}
	env["CONCH_LEADER_LOCK_KEY"] = "0x1g"
	if _, err := pgmint.ConfigFromEnv(get, "s"); err == nil {
		t.Error("a key that is not a number: got no error, want one")
	}
}
