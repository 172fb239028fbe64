package pgstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// standIn replaces the election's fence, whose schema this wing must not know: it accepts epoch 2
// alone. The tests of the binary use the real one.
const standIn = `
	CREATE FUNCTION conch.fence(scope text, epoch bigint, term uuid) RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
	    IF epoch <> 2 THEN
	        RAISE EXCEPTION USING ERRCODE = 'CN001', MESSAGE = 'stale';
	    END IF;
	END $$`

func TestMain(m *testing.M) {
	pgtest.Template(made)
	pgtest.Main(m)
}

// made creates the tables in a database.
func made(ctx context.Context, conn *pgx.Conn) error {
	if err := pgstore.Tables.Up(ctx, conn, nil); err != nil {
		return err
	}
	_, err := conn.Exec(ctx, standIn)
	return err
}

func open(t *testing.T) *pgstore.Store {
	t.Helper()
	return opened(t, pgtest.New(t).Config(), 4).Store("evm:1", "test")
}

// opened returns a Database that is closed when the test ends.
func opened(t *testing.T, cfg pg.Config, most int) *pgstore.Database {
	t.Helper()
	d, err := pgstore.Open(t.Context(), cfg, most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pgtest.Within(t, time.Minute, "the connections are closed", d.Close) })
	return d
}

func TestStore(t *testing.T) {
	t.Parallel()
	pendingtest.Exercise(t, func(t *testing.T) pendingtest.Fixture {
		db := pgtest.New(t)
		d := opened(t, db.Config(), 4)
		tail := d.Tail(0)
		return pendingtest.Fixture{
			Store:  d.Store("evm:1", "test"),
			Events: func(t *testing.T) []pending.Event { return events(t, tail) },
			Pass: func(t *testing.T, d time.Duration) {
				const age = `UPDATE conch.intents SET created_at = created_at - $1::interval, held_since = held_since - $1::interval, held_until = held_until - $1::interval`
				if _, err := db.Connect(t).Exec(t.Context(), age, d); err != nil {
					t.Fatal(err)
				}
			},
			Current: fence.Token{Scope: "s", Epoch: 2, Holder: "a"}, Stale: fence.Token{Scope: "s", Epoch: 1, Holder: "b"},
		}
	})
}

// events returns what a tail has that it has not returned yet.
func events(t *testing.T, tail *pgstore.Tail) (all []pending.Event) {
	t.Helper()
	for {
		found, err := tail.Next(t.Context(), 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			if e.Chain != "evm:1" {
				t.Errorf("got the event %+v, want one of evm:1", e)
			}
			all = append(all, e.Event.Event)
		}
		if len(found) < 3 {
			return all
		}
	}
}

// An account belongs to one scope.
func TestTwoScopes(t *testing.T) {
	t.Parallel()
	store := open(t)
	nothing := pending.Batch{Account: pendingtest.Account}
	if err := store.Write(t.Context(), fence.Token{Scope: "s", Epoch: 2}, nothing); err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), fence.Token{Scope: "other", Epoch: 2}, nothing); !errors.Is(err, pgstore.ErrTaken) {
		t.Errorf("writing under another scope: got error %v, want ErrTaken", err)
	}
}

// A new intent is notified, and each new connection reports that notifications may be missing.
func TestListen(t *testing.T) {
	t.Parallel()
	db := opened(t, pgtest.New(t).Config(), 2)
	if err := db.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	up, told, woken, ended := make(chan struct{}, 9), make(chan struct{}, 9), make(chan string, 9), make(chan error, 1)
	go func() {
		ended <- db.Listen(ctx, pgstore.Heard{
			Waits: func(id string, account chain.Account) { woken <- id + " " + account.String() },
			Told:  func() { told <- struct{}{} }, Missed: func() { up <- struct{}{} },
		})
	}()
	wait(t, up)
	wait(t, told) // there may be events
	if _, err := db.Store("evm:1", "test").Accept(t.Context(), pending.Intent{Account: pendingtest.Account}); err != nil {
		t.Fatal(err)
	}
	if got := wait(t, woken); got != "evm:1 "+pendingtest.Account.String() {
		t.Errorf("woken for %q, want the account on evm:1", got)
	}
	wait(t, told)
	cancel()
	if err := wait(t, ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Listen returned %v, want context.Canceled", err)
	}
}

// wait receives a value that must come, with patience for a busy machine.
func wait[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(30 * time.Second):
		t.Fatal("nothing was received for 30 seconds")
	}
	return v
}

// S23, S24: an insert and an update each notify account, nonce, hash, state, creator and time, and
// the block if known, however large the call is (D5).
func TestNotifications(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := opened(t, db.Config(), 4).Store("evm:1", "test")
	ear := db.Connect(t)
	if _, err := ear.Exec(t.Context(), `LISTEN pending_tx_new; LISTEN pending_tx_update`); err != nil {
		t.Fatal(err)
	}
	in, err := store.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Call: chain.Call{Data: make([]byte, 64<<10)}})
	if err != nil {
		t.Fatal(err)
	}
	signed := chain.Signed{Account: pendingtest.Account, Index: 5, Hash: "\xab\xcd", Bytes: make([]byte, 64<<10)}
	leader := fence.Token{Scope: "s", Epoch: 2, Holder: "node-1"}
	for _, b := range []pending.Batch{
		{New: []pending.Slot{{Index: 5, Intent: &in.ID, Attempts: []chain.Signed{signed}}}},
		{Changes: []pending.Change{{Index: 5, Status: pending.InBlock, Hash: "\xab\xcd", Block: chain.Block{Number: 9, Hash: "\xee"}, Effect: chain.Effect{Kind: chain.EffectPartly, Why: "a \"name\""}}}},
	} {
		b.Account = pendingtest.Account
		if err := store.Write(t.Context(), leader, b); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []struct{ channel, state, block, effect string }{
		{"pending_tx_new", "future", "", ""}, {"pending_tx_update", "in_block", "0xee", "partly"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		heard, err := ear.WaitForNotification(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Account, Hash, State, Creator, Effect string
			Nonce                                 uint64
			UpdatedAt                             time.Time `json:"updated_at"`
			BlockHash                             string    `json:"block_hash"`
		}
		if err := json.Unmarshal([]byte(heard.Payload), &got); err != nil {
			t.Fatal(err)
		}
		if heard.Channel != want.channel || got.Account != pendingtest.Account.String() || got.Nonce != 5 || got.Hash != "0xabcd" ||
			got.State != want.state || got.Creator != "node-1" || got.UpdatedAt.IsZero() || got.BlockHash != want.block || got.Effect != want.effect {
			t.Errorf("channel %s notified %s, want channel %s, state %s, block %q", heard.Channel, heard.Payload, want.channel, want.state, want.block)
		}
	}
}

// S23: a statement with more than 16 rows notifies once for each account, with the range of their nonces.
func TestNotificationsOfManyRows(t *testing.T) {
	t.Parallel()
	s := openShelf(t)
	ear := s.db.Connect(t)
	run(t, ear, `LISTEN pending_tx_new`)
	for _, many := range []uint64{16, 17} {
		var b pending.Batch
		for i := range many {
			index := 100*many + i
			b.New = append(b.New, pending.Slot{Index: index, Attempts: []chain.Signed{
				{Account: pendingtest.Account, Index: index, Hash: hashOf(index), Bytes: []byte("b")},
			}})
		}
		s.write(b)
	}
	var got []string
	for range 17 {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		heard, err := ear.WaitForNotification(ctx)
		cancel()
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		got = append(got, heard.Payload)
	}
	if last := got[16]; !strings.HasPrefix(last, `{"chain":"evm:1","account":"`+pendingtest.Account.String()+`","from":1700,"to":1716,"n":17,"updated_at":"`) {
		t.Errorf("17 rows were notified as %s, want one range", last)
	}
	if !strings.Contains(got[15], `"nonce":1615`) {
		t.Errorf("the last of 16 rows was notified as %s, want its nonce", got[15])
	}
}

// Rows count as possibly lost until an intent gets a slot in the new history. Filling a gap does
// not end that.
func TestAGapInAnotherHistory(t *testing.T) {
	t.Parallel()
	db := pgtest.New(t)
	store := opened(t, db.Config(), 4).Store("evm:1", "test")
	token := fence.Token{Scope: "s", Epoch: 2}
	signed := func(index uint64, id *pending.ID) pending.Batch {
		return pending.Batch{Account: pendingtest.Account, New: []pending.Slot{{Index: index, Intent: id, Attempts: []chain.Signed{
			{Index: index, Hash: "h", Bytes: []byte("b"), Filler: id == nil},
		}}}}
	}
	in, err := store.Accept(t.Context(), pending.Intent{Account: pendingtest.Account, Call: chain.Call{To: []byte("to")}})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Write(t.Context(), token, pending.Batch{Account: pendingtest.Account}); err != nil {
		t.Fatal(err)
	}
	run(t, db.Connect(t), `UPDATE conch.pending_accounts SET timeline = timeline + 1`)
	for _, step := range []struct {
		write pending.Batch
		want  bool
	}{{pending.Batch{Account: pendingtest.Account}, true}, {signed(0, nil), true}, {signed(1, &in.ID), false}} {
		if err := store.Write(t.Context(), token, step.write); err != nil {
			t.Fatal(err)
		}
		if snap, err := store.Load(t.Context(), pendingtest.Account, 0, 100); err != nil || snap.Strange != step.want {
			t.Errorf("after a write with %d new slots: strange %v, error %v; want %v", len(step.write.New), snap.Strange, err, step.want)
		}
	}
}
