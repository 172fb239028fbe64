package pgstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// follows returns the IDs that a tail has now, and how far it is settled.
func follows(t *testing.T, tail *pgstore.Tail) string {
	t.Helper()
	found, err := tail.Next(t.Context(), 100)
	if err != nil {
		t.Fatal(err)
	}
	ids := []int64{}
	for _, e := range found {
		ids = append(ids, e.ID)
	}
	return fmt.Sprint(ids, " ", tail.Settled())
}

// draws begins a transaction that has an event, and is not committed.
func (s shelf) draws() pgx.Tx {
	s.t.Helper()
	tx, err := s.db.Connect(s.t).Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	const event = `WITH one AS (INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator)
		VALUES (gen_random_uuid(), 'evm:1', $1, '', 0, '', 0, '') RETURNING *)
		INSERT INTO conch.pending_events (chain, account, intent, version, kind) SELECT chain, account, id, 1, 'accepted' FROM one`
	if _, err := tx.Exec(s.t.Context(), event, []byte(pendingtest.Account)); err != nil {
		s.t.Fatal(err)
	}
	return tx
}

// What is committed late is told late, and holds nothing else up. An ID that nobody uses is not looked for without end.
func TestATailMissesNothing(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	d := opened(t, s.db.Config(), 2)
	tail, other := d.Tail(0), s.db.Connect(t)
	says := func(when, want string) {
		t.Helper()
		if got := follows(t, tail); got != want {
			t.Errorf("%s: got %s, want %s", when, got, want)
		}
	}
	settles := func(when string, tail *pgstore.Tail, want int64) { // the other tests on this server have transactions too
		t.Helper()
		for end := time.Now().Add(time.Minute); tail.Settled() != want && time.Now().Before(end); {
			follows(t, tail)
		}
		if got := tail.Settled(); got != want {
			t.Errorf("%s: settled up to %d, want %d", when, got, want)
		}
	}
	s.accept("1")
	says("the first", "[1] 1")
	late, void := s.draws(), s.draws() // 2 and 3
	s.accept("4")
	says("two are not committed", "[4] 1")
	says("nothing has happened", "[] 1")
	if err := void.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.accept("5")
	says("one was undone", "[5] 1")
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	found, err := tail.Next(t.Context(), 100)
	if err != nil || len(found) != 1 || found[0].ID != 2 {
		t.Errorf("the late one: got %+v, %v, want it", found, err)
	}
	settles("the one that was undone is given up", tail, 5)
	again := d.Tail(2) // as a reader that begins anew
	if got := follows(t, again); got != "[4 5] 2" {
		t.Errorf("from the second on: got %s, want 4 and 5, and that 3 is not settled yet", got)
	}
	settles("nothing is looked for any more", again, 5)
	run(t, other, `BEGIN; CREATE TEMPORARY TABLE t (); INSERT INTO conch.pending_accounts VALUES ('c', 'a', 's', 1, 1)`) // nothing to do with events
	s.draws()                                                                                                            // 6
	s.accept("7")
	says("while somebody else's transaction lasts", "[7] 5")
	s.accept("8")
	says("while it lasts", "[8] 5")
}

// A tail of what is new begins with the newest.
func TestATailOfNew(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	d := opened(t, s.db.Config(), 2)
	run(t, s.conn, `INSERT INTO conch.pending_events (chain, account, intent, version, kind)
		SELECT 'evm:1', 'a', gen_random_uuid(), 1, 'accepted' FROM generate_series(1, 1500)`)
	tail, err := d.TailOfNew(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if found := events(t, tail); len(found) != 1000 {
		t.Errorf("got %d events, want the last thousand, which others may have drawn late", len(found))
	}
	s.accept("one")
	if found := events(t, tail); len(found) != 1 || found[0].Kind != pending.ToldAccepted {
		t.Errorf("got %+v, want that one was accepted", found)
	}
}

// What waits for long is told once: for a slot, and again in each slot for a block.
func TestWhatIsStuckIsTold(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	d := opened(t, s.db.Config(), 2)
	tail := d.Tail(0)
	queued, sent, young, poor := s.accept("queued"), s.accept("sent"), s.accept("young"), s.accept("poor")
	names := map[pending.ID]string{queued.ID: "queued", sent.ID: "sent", young.ID: "young", poor.ID: "poor"}
	s.write(pending.Batch{New: []pending.Slot{slotOf(0, sent)}, Hold: &pending.Hold{Why: "no money"}})
	s.write(pending.Batch{Held: []pending.Held{{Intent: poor.ID, Refusal: pending.Refusal{Cause: pending.Funds, Why: "put off", Times: 1}, Pause: time.Hour}}})
	s.write(pending.Batch{Changes: []pending.Change{{Index: 0, Hash: hashOf(0), Status: pending.Future, Waits: "not accepted"}}})
	run(t, s.conn, `UPDATE conch.intents SET created_at = created_at - interval '1 hour' WHERE idempotency_key <> 'young';
		UPDATE conch.pending_transactions SET created_at = created_at - interval '1 hour'`)
	events(t, tail)
	tells := func(when, want string) {
		t.Helper()
		if err := d.TellStuck(t.Context(), pgstore.Account{Chain: "evm:1", Account: pendingtest.Account}, time.Minute, 10); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range events(t, tail) {
			r, err := s.Get(t.Context(), e.Intent)
			if err != nil || r.Version != e.Version {
				t.Errorf("%s: told of version %d, and it is %d, %v", when, e.Version, r.Version, err)
			}
			got += fmt.Sprintf("[%s %s %s]", names[e.Intent], e.Kind, e.Why)
		}
		if got != want {
			t.Errorf("%s: told %s, want %s", when, got, want)
		}
	}
	tells("at first", "[sent waiting not accepted][queued waiting no money][poor waiting put off]")
	tells("again", "")
	s.write(pending.Batch{Changes: []pending.Change{{Index: 0, Hash: hashOf(0), Status: pending.Ready, Waits: "something else"}}})
	tells("in the same slot", "")
	s.write(pending.Batch{New: []pending.Slot{slotOf(1, queued)}})
	run(t, s.conn, `UPDATE conch.pending_transactions SET created_at = created_at - interval '1 hour'`)
	events(t, tail)
	tells("in a slot", "[queued waiting ]")
}

// The oldest events are deleted once they are old, and no others.
func TestEventsAreTrimmed(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	d := opened(t, s.db.Config(), 2)
	for i := range 5 {
		s.accept(fmt.Sprint(i))
	}
	trims := func(most, want int, left string) {
		t.Helper()
		gone, err := d.TrimEvents(t.Context(), time.Hour, most)
		if got := follows(t, d.Tail(0)); err != nil || gone != want || got != left {
			t.Errorf("got %d deleted, %s left, error %v; want %d, %s", gone, got, err, want, left)
		}
	}
	trims(9, 0, "[1 2 3 4 5] 5")
	run(t, s.conn, `UPDATE conch.pending_events SET at = at - interval '2 hours' WHERE id < 4`)
	trims(2, 2, "[3 4 5] 0") // it is not settled that 1 and 2 are gone
	trims(9, 1, "[4 5] 0")
}
