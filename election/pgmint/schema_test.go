package pgmint_test

import (
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
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
