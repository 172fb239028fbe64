package pgstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// The first answer is made of what the caller asked, and later ones of the row: they say the same.
func TestTheFirstAnswerIsWhatIsStored(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	until := time.Now().Add(time.Hour).Round(0).Truncate(time.Microsecond).Add(999) // the database knows no nanoseconds
	for key, in := range map[string]pending.Intent{
		"bare": {},
		"full": {Call: chain.Call{To: []byte{1}, Data: []byte{2}, Gas: 3, Value: big.NewInt(4)}, Terms: pending.Terms{Speed: chain.Fast, MaxFee: big.NewInt(5)}, LastBlock: 6, ValidUntil: until},
	} {
		in.Account, in.Key, in.Space = pendingtest.Account, key, "sp"
		first, err := s.Accept(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Accept(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(printed(first), printed(again)) {
			t.Errorf("%s: got %+v first, want %+v as it is stored", key, printed(first), printed(again))
		}
	}
}

// printed returns all that an intent says, with what is empty and what is nil still apart.
func printed(in pending.Intent) []any {
	return []any{in.ID, in.Key, in.Space, in.Token, in.Creator, in.Created.UnixNano(), in.ValidUntil.UnixNano(), fmt.Sprintf("%#v %v %#v %d", in.Call.To, in.Call.Value, in.Call.Data, in.Call.Gas), fmt.Sprint(in.Terms), in.LastBlock}
}

// together accepts intents with these keys, all of which are asked for before the first answer.
func (s shelf) together(keys []string) (ids []pending.ID, faults []error) {
	s.t.Helper()
	s.accept("first") // connects
	tx, err := s.conn.Begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := tx.Exec(s.t.Context(), `LOCK TABLE conch.intents IN EXCLUSIVE MODE`); err != nil {
		s.t.Fatal(err)
	}
	ids, faults = make([]pending.ID, len(keys)), make([]error, len(keys))
	var callers sync.WaitGroup
	for i, key := range keys {
		callers.Go(func() {
			in, err := s.Accept(s.t.Context(), pending.Intent{Account: pendingtest.Account, Key: key, Call: chain.Call{Gas: 1}})
			ids[i], faults[i] = in.ID, err
		})
		if i == 0 {
			s.blocked()
		}
	}
	for deadline := time.Now().Add(30 * time.Second); s.InIntake() < len(keys)-1; {
		if _, err := tx.Exec(s.t.Context(), `SELECT 1`); err != nil || time.Now().After(deadline) {
			s.t.Fatalf("%d callers wait, error %v; want %d", s.InIntake(), err, len(keys)-1)
		}
	}
	if err := tx.Rollback(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	pgtest.Within(s.t, time.Minute, "all callers are answered", callers.Wait)
	return ids, faults
}

// blocked returns once a session waits for a lock.
func (s shelf) blocked() {
	s.t.Helper()
	watch := s.db.Connect(s.t)
	for deadline := time.Now().Add(30 * time.Second); ; {
		var waits bool
		err := watch.QueryRow(s.t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waits)
		if err != nil || time.Now().After(deadline) {
			s.t.Fatalf("no session waits for a lock, error %v", err)
		}
		if waits {
			return
		}
	}
}

// commits returns the number of transactions that have written the intents.
func (s shelf) commits() (n int) {
	s.t.Helper()
	if err := s.conn.QueryRow(s.t.Context(), `SELECT count(DISTINCT xmin::text) FROM conch.intents`).Scan(&n); err != nil {
		s.t.Fatal(err)
	}
	return n
}

// Callers that come while a statement is under way share the next one: ninety take a few commits.
// Those with the same key get one intent.
func TestAcceptTogether(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	var keys []string
	for i := range 90 {
		keys = append(keys, fmt.Sprint(i/3))
	}
	ids, faults := s.together(keys)
	for i, id := range ids {
		if faults[i] != nil || id != ids[i/3*3] || id == (pending.ID{}) {
			t.Errorf("caller %d: got ID %x, error %v; want %x", i, id, faults[i], ids[i/3*3])
		}
	}
	if n := s.count("intents"); n != 31 {
		t.Errorf("%d intents are stored, want 31", n)
	}
	if n := s.commits(); n != 3 { // the first, the one that was under way, and all others
		t.Errorf("31 intents took %d commits, want 3", n)
	}
}

// An intent that the database refuses fails alone.
func TestARefusedIntentFailsAlone(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	ids, faults := s.together([]string{"a", "b", "\x00", "c"})
	var refused *pgconn.PgError
	for i := range ids {
		if i == 2 != errors.As(faults[i], &refused) || i != 2 && faults[i] != nil {
			t.Errorf("caller %d: got error %v, want one for caller 2 alone", i, faults[i])
		}
	}
	if n := s.count("intents"); n != 4 {
		t.Errorf("%d intents are stored, want 4", n)
	}
}

// IDs grow with time, so that rows stored together are neighbours in the index.
func TestIDsGrowWithTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 22, 15, 0, 0, 0, time.UTC)
	first, twin, later := pgstore.NewID(now), pgstore.NewID(now), pgstore.NewID(now.Add(time.Millisecond))
	if first == twin {
		t.Errorf("two IDs of the same millisecond are equal: %x", first)
	}
	if bytes.Compare(first[:], later[:]) >= 0 || bytes.Compare(twin[:], later[:]) >= 0 {
		t.Errorf("%x and %x do not sort before %x, the ID of a millisecond later", first, twin, later)
	}
	if version, variant := first[6]>>4, first[8]>>6; version != 7 || variant != 2 {
		t.Errorf("%x has version %d and variant %b, want 7 and 10", first, version, variant)
	}
}

// One statement names those of a thousand accounts that have something to do.
func TestWaitingOfAThousandAccounts(t *testing.T) {
	t.Parallel()
	s, d := openShelf(t).narrow()
	run(t, s.conn, `INSERT INTO conch.intents (id, chain, account, to_account, value, data, gas, creator)
		SELECT gen_random_uuid(), 'evm:1', decode('aa', 'hex'), '', 0, '', 0, 'test' FROM generate_series(1, 3000)`)
	var accounts []pgstore.Account
	for i := range 1000 {
		accounts = append(accounts, pgstore.Account{Chain: "evm:1", Account: chain.Account(fmt.Sprint("account ", i))})
	}
	wait := func(i int, id string) pending.Intent {
		in, err := d.Store(id, "test").Accept(t.Context(), pending.Intent{Account: accounts[i].Account, Call: chain.Call{Gas: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	wait(7, "evm:1")
	wait(8, "evm:2") // on another chain
	done := wait(9, "evm:1")
	if err := d.Store("evm:1", "test").Cancel(t.Context(), done.ID); err != nil {
		t.Fatal(err)
	}
	accounts = append(accounts, pgstore.Account{Chain: "evm:1", Account: "\xaa"})
	run(t, s.conn, `ANALYZE conch.intents`)
	got, err := d.Waiting(t.Context(), accounts)
	if err != nil || fmt.Sprint(got) != fmt.Sprint([]pgstore.Account{accounts[7], accounts[1000]}) {
		t.Errorf("got %v, error %v; want accounts 7 and 1000", got, err)
	}
	slotted := wait(11, "evm:1")
	run(t, s.conn, `UPDATE conch.intents SET nonce = 0, cancel = true WHERE id = '`+fmt.Sprintf("%x", slotted.ID)+`'`)
	got, err = d.Waiting(t.Context(), accounts[10:20])
	if err != nil || fmt.Sprint(got) != fmt.Sprint(accounts[11:12]) {
		t.Errorf("with one to be cancelled: got %v, error %v; want account 11", got, err)
	}
	for i, until := range []string{"-1 second", "30 seconds", "1 day"} { // the last one by a clock that was ahead
		run(t, s.conn, fmt.Sprintf(`UPDATE conch.intents SET refusals = 1, held_until = clock_timestamp() + interval '%s' WHERE id = '%x'`, until, wait(20+i, "evm:1").ID))
	}
	got, err = d.Waiting(t.Context(), accounts[20:30])
	if err != nil || fmt.Sprint(got) != fmt.Sprint([]pgstore.Account{accounts[20], accounts[22]}) {
		t.Errorf("with some put off: got %v, error %v; want accounts 20 and 22", got, err)
	}
}

func (s shelf) held(in pending.Intent) (pending.Hold, time.Time) {
	s.t.Helper()
	r, err := s.Get(s.t.Context(), in.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Hold, r.HoldSince
}

// The time of a hold stays while the same intent is in the way, and is another one with another hold.
func TestSinceWhenAnAccountIsHeld(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	one, two := s.accept("1"), s.accept("2")
	if hold, since := s.held(two); hold != (pending.Hold{}) || !since.IsZero() {
		t.Errorf("before any hold: held by %+v since %v, want nothing", hold, since)
	}
	var last time.Time
	for _, c := range []struct {
		hold pending.Hold
		same bool
	}{
		{pending.Hold{Intent: one.ID, Why: "it has 5 and needs 9"}, false},
		{pending.Hold{Intent: one.ID, Why: "it has 6 and needs 9"}, true},
		{pending.Hold{Intent: two.ID, Why: "it has 6 and needs 9"}, false},
		{pending.Hold{Why: "strange"}, false},
		{pending.Hold{Why: "strange"}, true},
		{pending.Hold{Why: "ahead"}, false},
	} {
		s.write(pending.Batch{Hold: &c.hold})
		hold, since := s.held(two)
		if hold != c.hold || since.Equal(last) != c.same || since.IsZero() {
			t.Errorf("held by %+v since %v, before since %v; want %+v and the same time: %v", hold, since, last, c.hold, c.same)
		}
		last = since
	}
	s.write(pending.Batch{Hold: &pending.Hold{}})
	if hold, since := s.held(two); hold != (pending.Hold{}) || !since.IsZero() {
		t.Errorf("once it has ended: held by %+v since %v, want nothing", hold, since)
	}
}

// A write that the server carries out late leaves alone the hold that a later write has stored.
func TestALateHoldSaysNothing(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	in := s.accept("1")
	late := pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), Hold: &pending.Hold{Why: "old"}}
	s.write(pending.Batch{Hold: &pending.Hold{Why: "new"}})
	if err := s.Write(t.Context(), current, late); err != nil {
		t.Fatal(err)
	}
	if hold, _ := s.held(in); hold.Why != "new" {
		t.Errorf("after a late write: held by %+v, want the newer reason", hold)
	}
}

// A write with a hold does not wait for another write of the same leader that is under way, and which
// shares the lock on the account's row until its end.
func TestAHoldWaitsForNoOtherWrite(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	in := s.accept("1")
	s.write(pending.Batch{})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	other, err := s.db.Connect(t).Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Rollback(context.WithoutCancel(ctx)) }()
	if _, err := other.Exec(ctx, `SELECT conch.pending_claim('evm:1', $1, 's', 2, $2)`, []byte(pendingtest.Account), int64(writes.Add(1))); err != nil {
		t.Fatal(err)
	}
	hold := pending.Batch{Account: pendingtest.Account, Number: writes.Add(1), Hold: &pending.Hold{Why: "it waits"}}
	if err := s.Write(ctx, current, hold); err != nil {
		t.Fatal(err)
	}
	if hold, _ := s.held(in); hold.Why != "it waits" {
		t.Errorf("held by %+v, want the stored reason", hold)
	}
}
