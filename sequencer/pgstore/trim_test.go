package pgstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/pgstore"
)

// ended is an intent that has ended.
func ended(n uint64, key string) core.Change {
	c := submitted(n, key)
	c.Sender.Results = []ledger.Result{{Sequence: number(n), Why: "late"}}
	return c
}

func trims(t *testing.T, s sequencer.Store, age time.Duration, most int) (sequencer.Trimmed, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return s.Trim(ctx, map[string]time.Duration{"k": age}, most)
}

func has(t *testing.T, s sequencer.Store, key string) bool {
	t.Helper()
	_, is, err := s.Find(t.Context(), "k", key)
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// S9: a stale holder, and an earlier start, forget nothing: the one that leads may have been told to keep it for longer.
func TestAStaleHolderForgetsNothing(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	d := opened(t, db.Config())
	early := begin(t, d, 1)
	write(t, early, ended(1, "a"))
	old := begin(t, d, 1)
	if _, err := trims(t, early, 0, 9); !errors.Is(err, pgstore.ErrLate) || !errors.Is(err, sequencer.ErrOver) {
		t.Errorf("the earlier start: %v, want ErrLate", err)
	}
	run(t, db.Connect(t), `SELECT public.mint(2)`)
	if _, err := trims(t, old, 0, 9); !errors.Is(err, fence.ErrStale) || !errors.Is(err, sequencer.ErrOver) {
		t.Errorf("the stale holder: %v, want ErrStale and ErrOver", err)
	}
	fresh := begin(t, d, 2)
	if !has(t, fresh, "a") {
		t.Fatal("it was forgotten")
	}
	if n, err := trims(t, fresh, 0, 9); n.Intents != 1 || err != nil || has(t, fresh, "a") {
		t.Errorf("the leader forgets %+v, error %v; want the intent", n, err)
	}
	write(t, fresh, submitted(2, "b")) // a write comes after
}

// A node forgets what is its own.
func TestAnotherNodeForgetsNothing(t *testing.T) {
	t.Parallel()
	d := opened(t, pgtest.New(t).Config())
	mine := begin(t, d, 1)
	write(t, mine, ended(1, "a"))
	other := token(1)
	other.Scope = "sequencer:you"
	s, err := d.Begin(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := trims(t, s, 0, 9); n != (sequencer.Trimmed{}) || err != nil || !has(t, mine, "a") {
		t.Errorf("the other node forgets %+v, error %v", n, err)
	}
}

// What is forgotten is found by an index, however much is kept for good beside it: unspent states, and what has not ended for
// long enough.
func TestTrimReadsWhatItForgets(t *testing.T) {
	t.Parallel()
	const kept, old = 4000, 200
	for name, analyse := range map[string]bool{"analysed": true, "never analysed": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := pgtest.New(t)
			d := opened(t, db.Config())
			s := begin(t, d, 1)
			conn := db.Connect(t)
			write(t, s, many(0, kept+old, func(c *core.Change, owner *sender.Store, b *book.Change, n int) {
				insert(c, owner, &book.Change{}, n)
				owner.Results = append(owner.Results, ledger.Result{Sequence: number(uint64(n)), Confirmed: true, Assembled: hashed(n)})
				b.Landed = append(b.Landed, book.Landed{Assembled: hashed(n), Whole: owner.Grants[len(owner.Grants)-1].Whole})
				b.Added = append(b.Added, domain.State{ID: ledger.StateID(hashed(n)), Assembled: hashed(n)})
				c.Over = append(c.Over, ledger.Intent{Owner: "me", Sequence: number(uint64(n))})
			}))
			write(t, s, many(kept, kept+old, func(_ *core.Change, _ *sender.Store, b *book.Change, n int) {
				b.Removed, b.Spent = append(b.Removed, ledger.StateID(hashed(n))), append(b.Spent, hashed(n))
			}))
			run(t, conn, `UPDATE conch.sequencer_intents SET ended_at = ended_at - interval '1 day' WHERE sequence >= $1`, last(kept))
			run(t, conn, `UPDATE conch.sequencer_attempts SET done_at = done_at - interval '1 day' WHERE done_at IS NOT NULL`)
			if analyse {
				run(t, conn, `ANALYZE`)
			}
			before := rowsRead(t, conn, d)
			n, err := trims(t, s, time.Hour, 500)
			after := rowsRead(t, conn, d)
			if n != (sequencer.Trimmed{Intents: old, Attempts: old}) || err != nil {
				t.Fatalf("%+v are forgotten, error %v; want %d of each", n, err, old)
			}
			for _, table := range []string{"intents", "grants", "attempts", "dispatches", "states"} {
				if n := after["sequencer_"+table] - before["sequencer_"+table]; n > 4*old {
					t.Errorf("%d rows of %s were read", n, table)
				}
			}
		})
	}
}

// last is the number of an intent as it is stored.
func last(n uint64) []byte { b := number(n).Bytes(); return b[:] }
