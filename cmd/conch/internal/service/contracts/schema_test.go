package contracts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/config/configtest"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/cmd/conch/internal/peers"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sequencertest"
)

var kinds = []node.Kind{Kind()}

// The tables go with those of the election, and only if nothing leads and nothing is open. A refusal keeps all.
func TestSchemaDownRefuses(t *testing.T) { //nolint:tparallel // one thing after the other
	t.Parallel()
	db := pgtest.New(t)
	cfg := pgmint.Config{URL: db.URL}
	tables, err := pgstore.Open(t.Context(), db.Config(), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	t.Run("a node works", func(t *testing.T) {
		token, _ := nodetest.Lead(t, db.URL, "one", scope, time.Minute)
		s, err := tables.Begin(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if err := sequencertest.Each(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var held *pgmint.HeldError
		if err := node.SchemaDown(t.Context(), cfg, kinds, nil); !errors.As(err, &held) {
			t.Errorf("while it leads: %v, want a HeldError", err)
		}
	})
	var open *migrate.OpenError
	pgtest.Eventually(t, nodetest.Patience, "nobody leads", func() bool { return errors.As(node.SchemaDown(t.Context(), cfg, kinds, nil), &open) })
	if open.Open != [2]int{1, 1} {
		t.Errorf("%v, want one of each", open.Open)
	}
	if err := tables.Check(t.Context()); err != nil {
		t.Errorf("after the refusals: %v", err)
	}
	pgtest.Exec(t, db.Connect(t), `UPDATE conch.sequencer_intents SET ended = true`)
	pgtest.Exec(t, db.Connect(t), `DELETE FROM conch.sequencer_dispatches`)
	if err := node.SchemaDown(t.Context(), cfg, kinds, nil); err != nil {
		t.Fatal(err)
	}
	if err := tables.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "conch migrate up") {
		t.Errorf("without tables: %v, want an error that says conch migrate up", err)
	}
	if err := node.SchemaUp(t.Context(), cfg, kinds, nil); err != nil {
		t.Fatal(err)
	}
	if err := tables.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestNoIndexIsSortedByALocale(t *testing.T) {
	t.Parallel()
	nodetest.NoLocaleSorts(t)
}

func TestThePrintedSchemaIsTheSchema(t *testing.T) {
	t.Parallel()
	nodetest.ThePrintedSchemaIsTheSchema(t, kinds)
}

// offered is the work of a role that keeps an account.
type offered struct {
	node.Account
	signs bool
}

// Offered implements node.Offers.
func (o offered) Offered() (node.Account, bool) { return o.Account, o.signs }

// The account of a contract has to be the member's, and to sign hashes.
func TestAccountsOfContracts(t *testing.T) {
	t.Parallel()
	own, foreign := chain.Account(strings.Repeat("\x00", 19)+"\xb1"), chain.Account(strings.Repeat("\x00", 19)+"\xb2")
	for _, c := range []struct {
		name, of string
		does     offered
		says     string
	}{
		{"the member's", "ops", offered{node.Account{Address: own}, true}, ""},
		{"another member's", "ops", offered{node.Account{Address: foreign}, true}, "correct one of them"},
		{"in an external signer", "ops", offered{node.Account{Address: own}, false}, "external signer"},
		{"of another name", "payer", offered{node.Account{Address: own}, true}, `no [[accounts]] has that name: "ops"`},
	} {
		accounts := func() config.Section {
			return configtest.Plain("accounts", config.Role{Name: c.of, Scope: "pending:" + c.of, Fenced: true, Does: c.does})
		}
		cfg, err := configtest.Load(t, whole, config.Source{Sections: configtest.Beside(accounts, peers.Kind().Section, Kind().Section)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = accountFault(cfg, "bank", config.Of[*Section](cfg).contracts[0])
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}
