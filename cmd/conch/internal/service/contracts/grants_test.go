//go:build unix

package contracts

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

// operate does everything that a node does, under a role.
func operate(ctx context.Context, cfg pg.Config, token fence.Token) error {
	tables, err := pgstore.Open(ctx, cfg, 1)
	if err != nil {
		return err
	}
	defer tables.Close()
	if err := tables.Check(ctx); err != nil {
		return err
	}
	s, err := tables.Begin(ctx, token)
	if err != nil {
		return err
	}
	return sequencertest.Each(ctx, s)
}

// S29: the grants of deploy/grants.sql are enough for a node, and it needs each of them.
func TestGrants(t *testing.T) {
	t.Parallel()
	c := pgtest.Granted(t, pgtest.New(t))
	token, _ := nodetest.Lead(t, c.URL, "one", scope, time.Minute)
	node := pg.Config{URL: c.As(t, c.Node)}
	c.NeedsEach(t, "^sequencer", 40, func() error { return operate(t.Context(), node, token) })
}

// S29: an observer sees what is under way, and nothing that members keep among themselves; a program that fences its own
// transactions sees nothing. No role deletes what stays for ever.
func TestGrantsAreNarrow(t *testing.T) {
	t.Parallel()
	c := pgtest.Granted(t, pgtest.New(t))
	for _, name := range c.Privileges(t, c.Connect(t), "^sequencer") {
		who, what, _ := strings.Cut(name, ": ")
		secret := slices.ContainsFunc([]string{"payload", "key", "why", "given_up", "contents", "states", "salt", "data", "needs", "signature", "endorsements"}, func(word string) bool {
			return strings.Contains(what, "("+word+")") || strings.HasSuffix(what, "_"+word)
		})
		for _, table := range []string{"intents", "grants", "attempts", "nodes", "contracts"} {
			if strings.HasPrefix(what, "DELETE") && strings.HasSuffix(what, "_"+table) {
				t.Errorf("%s is granted", name)
			}
		}
		if who == "fence" || who == "observer" && (secret || !strings.HasPrefix(what, "SELECT")) {
			t.Errorf("%s is granted", name)
		}
	}
	observer := pgtest.Connect(t, pg.Config{URL: c.As(t, c.Observer)})
	for _, table := range []string{"attempts", "states", "early"} {
		if _, err := observer.Exec(t.Context(), `SELECT FROM conch.sequencer_`+table); pg.Code(err) != "42501" {
			t.Errorf("an observer reads %s: %v, want 42501", table, err)
		}
	}
	pgtest.Exec(t, observer, `SELECT sequence, ended FROM conch.sequencer_intents`)
	if _, err := observer.Exec(t.Context(), `SELECT payload FROM conch.sequencer_intents`); pg.Code(err) != "42501" {
		t.Errorf("an observer reads payloads: %v, want 42501", err)
	}
}
