package pgstore_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
	"github.com/conchhq/conch/pending/pendingtest"
	"github.com/conchhq/conch/pending/pgstore"
)

// treasury is a database with a policy of the token payout, and the stores of two nodes.
type treasury struct {
	shelf
	own   *pgstore.Database
	nodes [2]*pgstore.Store
	by    pgstore.Policy
}

func openTreasury(t *testing.T, limits ...pgstore.Take) *treasury {
	t.Helper()
	s := openShelf(t)
	w := &treasury{shelf: s, own: opened(t, s.db.Config(), 1)}
	for i := range w.nodes {
		w.nodes[i] = opened(t, s.db.Config(), 4).Store("evm:1", fmt.Sprint("node-", i))
	}
	w.set(limits...)
	return w
}

// set gives the token a policy with these limits.
func (w *treasury) set(limits ...pgstore.Take) {
	w.t.Helper()
	err := w.own.SetPolicy(w.t.Context(), pgstore.Policy{Token: "payout", Chain: "evm:1", Rules: []byte(`{}`), Limits: limits})
	if err == nil {
		w.by, err = w.own.Policy(w.t.Context(), "payout", "evm:1")
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func of(what string, amount int64) pgstore.Take {
	return pgstore.Take{What: what, Amount: big.NewInt(amount)}
}

// ask accepts an intent at a node, under the policy.
func (w *treasury) ask(node int, key string, value int64, takes ...pgstore.Take) (pending.Intent, error) {
	return w.nodes[node].AcceptWithin(w.t.Context(), pending.Intent{Account: pendingtest.Account, Key: key, Call: chain.Call{Value: big.NewInt(value), Gas: 1}},
		pgstore.Reservation{Token: "payout", Version: w.by.Version, Takes: takes})
}

func (w *treasury) take(key string, takes ...pgstore.Take) pending.Intent {
	w.t.Helper()
	in, err := w.ask(0, key, 1, takes...)
	if err != nil {
		w.t.Fatal(err)
	}
	return in
}

// spent returns what is spent of a limit, as the list of the policies says.
func (w *treasury) spent(what string) int64 {
	w.t.Helper()
	all, err := w.own.Policies(w.t.Context())
	if err != nil || len(all) != 1 {
		w.t.Fatalf("the policies are %+v, error %v", all, err)
	}
	for _, one := range all[0].Spent {
		if one.What == what {
			return one.Amount.Int64()
		}
	}
	w.t.Fatalf("nothing is said of %s in %+v", what, all[0])
	return 0
}

// over returns the limit that an error names, nil if it names none.
func over(err error) *pgstore.LimitError {
	e, _ := errors.AsType[*pgstore.LimitError](err)
	return e
}

// Rule reserve-with-accept (C4.7): whatever callers of two nodes ask for at once, no limit is exceeded by one unit, and what is spent is
// what was accepted.
func TestRacingAcceptsOvershootNothing(t *testing.T) {
	t.Parallel()
	const most, callers = 1000, 250
	asks := runtest.ByDay(10_000, 1_000_000)
	w := openTreasury(t, of(pgstore.OfValue, most), of("0xc0", most/2))
	var accepted, value, coins, faults atomic.Int64
	var all sync.WaitGroup
	for caller := range callers {
		dice := rand.New(rand.NewPCG(7, uint64(caller)))
		all.Go(func() {
			for n := range asks / callers {
				v, c := int64(1+dice.IntN(3)), int64(dice.IntN(2))
				key := fmt.Sprint(caller, "/", n)
				in, err := w.ask((caller+n)%2, key, v, of(pgstore.OfValue, v), of("0xc0", c))
				switch {
				case err == nil && in.Key == key:
					accepted.Add(1)
					value.Add(v)
					coins.Add(c)
				case over(err) == nil && !errors.Is(err, pending.ErrBusy):
					faults.Add(1)
				}
			}
		})
	}
	pgtest.Within(t, 5*time.Minute, "all callers are answered", all.Wait)
	if value.Load() != most && value.Load() != most-1 && coins.Load() != most/2 || value.Load() > most || coins.Load() > most/2 || faults.Load() > 0 {
		t.Errorf("%d intents were accepted with %d of value and %d of coins, and %d failed; want one limit used up, and none exceeded", accepted.Load(), value.Load(), coins.Load(), faults.Load())
	}
	if got := w.spent(pgstore.OfValue); got != value.Load() || w.spent("0xc0") != coins.Load() || int64(w.count("intents")) != accepted.Load() {
		t.Errorf("spent are %d and %d, stored %d intents; want %d, %d and %d", got, w.spent("0xc0"), w.count("intents"), value.Load(), coins.Load(), accepted.Load())
	}
}

// Rule key-before-policy: a repeated key answers the same, whatever is left, and takes nothing: also one whose first request is under way at
// the other node, and one that is archived.
func TestAKnownKeyTakesNothing(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 10))
	ids := make([]pending.ID, 40)
	var callers sync.WaitGroup
	for i := range ids {
		callers.Go(func() {
			in, err := w.ask(i%2, "one", 10, of(pgstore.OfValue, 10))
			if ids[i] = in.ID; err != nil {
				t.Error(err)
			}
		})
	}
	pgtest.Within(t, time.Minute, "all callers are answered", callers.Wait)
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("one key has the intents %x and %x", ids[0], id)
		}
	}
	if n := w.spent(pgstore.OfValue); n != 10 || w.count("pending_reserved") != 1 {
		t.Errorf("%d is spent, by %d intents; want 10 by one", n, w.count("pending_reserved"))
	}
	if _, err := w.ask(1, "two", 1, of(pgstore.OfValue, 1)); over(err) == nil {
		t.Errorf("another one is answered with %v, want that the limit is used up", err)
	}
	if _, err := w.ask(1, "one", 9, of(pgstore.OfValue, 9)); !errors.Is(err, pending.ErrConflict) {
		t.Errorf("another call under the key is answered with %v, want a conflict", err)
	}
	w.set() // nothing is limited, and the version is another one
	refused := pgstore.Reservation{Token: "payout"}
	for _, token := range []string{"payout", "no policy"} {
		refused.Token = token
		in, err := w.nodes[1].AcceptWithin(t.Context(), pending.Intent{Account: pendingtest.Account, Key: "one", Call: chain.Call{Value: big.NewInt(10), Gas: 1}}, refused)
		if err != nil || in.ID != ids[0] {
			t.Errorf("%s: a known key that its policy refuses by now is answered with %x, %v; want its intent", token, in.ID, err)
		}
		if _, err = w.nodes[1].AcceptWithin(t.Context(), pending.Intent{Account: pendingtest.Account, Key: "new"}, refused); !errors.Is(err, pgstore.ErrPolicyChanged) {
			t.Errorf("%s: a new key that its policy refuses is answered with %v, want a refusal", token, err)
		}
	}
	if err := w.Cancel(t.Context(), ids[0]); err != nil || w.archive(0) != 1 {
		t.Fatalf("it was not archived: %v", err)
	}
	if in, err := w.ask(0, "one", 10, of(pgstore.OfValue, 10)); err != nil || in.ID != ids[0] {
		t.Errorf("a key of the archive is answered with %x, %v; want its intent", in.ID, err)
	}
}

// Of an intent whose key a caller without a policy uses at the same time nothing is taken, for whichever reason it was not stored.
func TestAKeyThatIsUsedMeanwhile(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 100))
	other, err := w.conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Exec(t.Context(), `INSERT INTO conch.intents (id, chain, account, idempotency_key, to_account, value, data, gas, creator)
		VALUES (gen_random_uuid(), 'evm:1', $1, 'one', '', 7, '', 1, 'other')`, []byte(pendingtest.Account)); err != nil {
		t.Fatal(err)
	}
	var in pending.Intent
	var asked sync.WaitGroup
	asked.Go(func() { in, err = w.ask(0, "one", 7, of(pgstore.OfValue, 7)) })
	watch := w.db.Connect(t)
	for deadline, waits := time.Now().Add(30*time.Second), 0; waits == 0; { // for the other one's key, after it has taken what it needs
		if err := watch.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'transactionid'`).Scan(&waits); err != nil || time.Now().After(deadline) {
			t.Fatalf("nobody waits for the key, error %v", err)
		}
	}
	if err := other.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	pgtest.Within(t, time.Minute, "it is answered", asked.Wait)
	if err != nil || in.Creator != "other" || w.spent(pgstore.OfValue) != 0 || w.count("pending_reserved") != 0 || w.count("intents") != 1 {
		t.Errorf("answered with %+v, %v, and %d is spent; want the other one's intent, and nothing spent", in, err, w.spent(pgstore.OfValue))
	}
}

// Rule give-back-on-final: what has ended without effect is given back once that is final, without what its nonce has cost, and taken again
// if the chain takes the end back. Nothing else gives back.
func TestWhatIsGivenBack(t *testing.T) {
	t.Parallel()
	w := openTreasury(t, of(pgstore.OfValue, 100), of(pgstore.OfFee, 1000), of("0xc0", 50), of(pgstore.OfCount, 9))
	nonce := uint64(0)
	for _, step := range []struct {
		name        string
		cancel      bool
		changes     []pending.Change // of its slot, one after the other
		value, fees int64            // that stays spent after them
	}{
		{"it waits", false, nil, 10, 5},
		{"cancelled without a nonce", true, nil, 0, 0},
		{"in a block", false, []pending.Change{{Status: pending.InBlock}}, 10, 5},
		{"in a block for long", false, []pending.Change{{Status: pending.InBlock}, {Status: pending.FinalityTimeout}}, 10, 5},
		{"failed in a block", false, []pending.Change{{Status: pending.InBlock, Failed: true}}, 10, 5},
		{"cancelled, not final", true, []pending.Change{{Status: pending.InBlock}}, 10, 5},
		{"done", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Done}}, 10, 5},
		{"reverted", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Done, Failed: true}}, 0, 5},
		{"cancelled by a filler", true, []pending.Change{{Status: pending.Finalized, Intent: pending.Cancelled}}, 0, 5},
		{"rejected by a filler", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Rejected}}, 0, 5},
		{"its nonce was used by another", false, []pending.Change{{Status: pending.Usurped, Intent: pending.Again}}, 10, 5},
		{"and it was cancelled", true, []pending.Change{{Status: pending.Usurped, Intent: pending.Again}}, 0, 0},
		{"an end that was taken back", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Rejected}, {Status: pending.Retracted}}, 10, 5},
		{"and came again", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Rejected}, {Status: pending.Retracted}, {Status: pending.Finalized, Intent: pending.Rejected}}, 0, 5},
		{"another end at once", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Done, Failed: true}, {Status: pending.Finalized, Intent: pending.Done}}, 10, 5},
	} {
		w.t.Log(step.name)
		run(t, w.conn, `DELETE FROM conch.pending_spent; DELETE FROM conch.pending_reserved; DELETE FROM conch.pending_returned`)
		in := w.take("", of(pgstore.OfValue, 10), of(pgstore.OfFee, 5), of("0xc0", 7), of(pgstore.OfCount, 1))
		if len(step.changes) > 0 {
			w.write(pending.Batch{New: []pending.Slot{slotOf(nonce, in)}})
		}
		if step.cancel {
			if err := w.Cancel(t.Context(), in.ID); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range step.changes {
			if c.Index, c.Hash = nonce, hashOf(nonce); c.Status != pending.Retracted {
				c.Block = chain.Block{Number: 1, Hash: "b"}
			}
			w.write(pending.Batch{Changes: []pending.Change{c}})
		}
		nonce++
		coins := 7 * step.value / 10
		check := func(when string) {
			t.Helper()
			if value, fees, c, n := w.spent(pgstore.OfValue), w.spent(pgstore.OfFee), w.spent("0xc0"), w.spent(pgstore.OfCount); value != step.value || fees != step.fees || c != coins || n > 1 {
				t.Errorf("%s: %s, spent are %d of value, %d of fees, %d of coins, %d intents; want %d, %d, %d and at most 1", step.name, when, value, fees, c, n, step.value, step.fees, coins)
			}
		}
		check("before the next one is accepted")
		w.take("", of(pgstore.OfValue, 0)) // what was given back is taken off
		check("after it")
		if w.count("pending_returned") != 0 {
			t.Errorf("%s: what was given back is still there", step.name)
		}
	}
}
