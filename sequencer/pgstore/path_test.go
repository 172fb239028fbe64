package pgstore_test

import (
	"context"
	"testing"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// A role that may create objects in public lays a trap for each function and operator that this package uses. None is
// sprung, whatever the search_path; behind a pooler, which keeps the path as it is, none under the default path.
func TestNoTrapIsSprung(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path string
		open func(context.Context, pg.Config, int) (*pgstore.Database, error)
	}{
		"default path": {`"$user", public`, pgstore.Open}, "public first": {"public, pg_catalog", pgstore.Open},
		"behind a pooler": {`"$user", public`, pgstore.OpenWide},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			sprung := pgtest.Traps(t, db, c.path, ".", "migrations")
			if _, err := db.Connect(t).Exec(t.Context(), `SELECT FROM unnest(ARRAY['x'::bytea])`); pg.Code(err) != "P0001" || sprung() == "" {
				t.Fatalf("no trap is set: got error %v, want P0001", err)
			}
			run(t, db.Connect(t), `SELECT pg_catalog.setval('public.sprung', 1)`)
			d, err := c.open(t.Context(), pg.Config{URL: db.URL}, 2)
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := d.Check(t.Context()); err != nil {
				t.Error(err)
			}
			everything(t, begin(t, d, 1))
			if trap := sprung(); trap != "" {
				t.Errorf("the store has sprung the trap %s", trap)
			}
		})
	}
}

// written is how many writes everything makes.
const written = 2

// everything runs each kind of statement.
func everything(t *testing.T, s sequencer.Store) {
	t.Helper()
	in := ledger.Intent{Owner: "me", Sequence: number(1)}
	whole := wire.Whole{Attempt: ledger.Attempt{Intent: in, Inputs: []ledger.StateID{{3}}}, Payload: []byte("pay")}
	grant := ledger.Grant{Assembled: ledger.Hash{1}, Coordinator: "you", ValidUntil: 9, Signature: []byte{1}}
	given := ledger.Given{Intent: in, Assembled: ledger.Hash{1}, ValidUntil: 9, Needs: []ledger.Need{{State: ledger.StateID{3}, Creator: in}}}
	other := ledger.Intent{Owner: "you", Sequence: number(9)}
	another := ledger.Intent{Owner: "you", Sequence: number(8)}
	row := func(of ledger.Intent) coordinator.Row {
		w := whole
		w.Attempt.Intent = of
		return coordinator.Row{Whole: w, Entry: ledger.Entry{Attempt: w.Attempt, Grant: grant, Endorsements: []ledger.Endorsement{{Member: 1, Signature: []byte{2}}}}}
	}
	owner := sender.Store{
		Intents: []sender.IntentRow{{Sequence: number(1), Key: "a", Payload: []byte("pay")}, {Sequence: number(2), Key: "b"}},
		Grants:  []sender.GrantRow{{Given: given, To: "you", Grant: grant, Whole: whole}},
		Marks:   []sender.Mark{{Sequence: number(1), Failures: 1, GivenUp: "late", Dispatched: ledger.Hash{1}}},
		Results: []sender.Result{{Sequence: number(2), Confirmed: true, Block: 7}},
	}
	write(t, s,
		sequencer.Change{Contract: "k", Sender: &owner, Rows: []coordinator.Row{row(other), row(another)}},
		sequencer.Change{Contract: "k", Book: &book.Change{
			Number: 5, Added: []domain.State{{ID: ledger.StateID{1}}, {ID: ledger.StateID{2}}}, Missing: []book.Missing{{Intent: in, Assembled: ledger.Hash{8}}, {Assembled: ledger.Hash{9}}},
			Early: []ledger.StateID{{7}, {6}}, Landed: []book.Landed{{Assembled: ledger.Hash{4}, Whole: whole}},
		}})
	write(t, s, sequencer.Change{
		Contract: "k", Noted: []ledger.Intent{other}, Over: []ledger.Intent{another},
		Book: &book.Change{Number: 6, Removed: []ledger.StateID{{1}}, Heard: []ledger.Hash{{8}}, Late: []ledger.StateID{{7}}},
	})
	stored := load(t, s)
	if len(stored.Intents) != 1 || len(stored.Intents[0].Grants) != 1 || len(stored.Rows) != 1 || !stored.Rows[0].Noted ||
		len(stored.Book.States) != 1 || len(stored.Book.Missing) != 1 || len(stored.Book.Early) != 1 {
		t.Errorf("loaded %+v, want one of each", stored)
	}
	if f, is, err := s.Find(t.Context(), "k", "b"); err != nil || !is || !f.Ended {
		t.Errorf("found %+v, %v, %v; want a result", f, is, err)
	}
	for _, by := range []sequencer.Filter{{}, {Sequence: number(2)}} {
		if all, err := s.List(t.Context(), "k", by); err != nil || len(all) == 0 {
			t.Errorf("%d intents are listed, error %v", len(all), err)
		}
	}
	if all, err := s.Attempts(t.Context(), "k", []ledger.Hash{{1}, {4}, {5}}); err != nil || len(all) != 2 {
		t.Errorf("%d attempts, error %v; want two", len(all), err)
	}
}
