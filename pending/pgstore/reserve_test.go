package pgstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/pg"
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

// race is what callers of two nodes got who ask at once, of policies for a day's value, for a minute's count and for a transaction's value.
type race struct {
	*treasury

	days, minutes []*limited
	latest        atomic.Pointer[pgstore.Policy] // the last policy for a transaction's value that was surely written before it was read
	change        chan struct{}                  // it is to be written again

	asked, accepted, late atomic.Int64

	mu     sync.Mutex
	doubts map[string]*doubt // by kind
}

// limited is a policy with limits that callers race to, and then to those of the next one.
type limited struct {
	pgstore.Policy

	value, coins, many atomic.Int64 // accepted
	over               atomic.Bool  // somebody was refused
}

// limit makes so many policies with the same limits.
func (r *race) limit(token string, n int, limits ...pgstore.Take) (all []*limited) {
	for i := range n {
		at := &limited{Policy: pgstore.Policy{Token: fmt.Sprint(token, "/", i), Chain: "evm:1", Rules: []byte(`{}`), Limits: limits}}
		err := r.own.SetPolicy(r.t.Context(), at.Policy)
		if err == nil {
			at.Policy, err = r.own.Policy(r.t.Context(), at.Token, "evm:1")
		}
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, at)
	}
	return all
}

// doubt is what callers get instead of an answer: their intents may be stored, or not.
type doubt struct {
	first     error
	n, silent int // of them, those that have never got an answer
}

// gaveUp is the kind of doubt of callers who do not wait.
const gaveUp = "gave up"

// doubt counts an error by its kind.
func (r *race) doubt(err error, hasty, silent bool) {
	kind := pg.Code(err)
	switch late := errors.Is(err, context.DeadlineExceeded); {
	case late && hasty:
		kind = gaveUp
	case late:
		kind = "no answer in time"
	case kind == "":
		kind = fmt.Sprintf("%T", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doubts[kind] == nil {
		r.doubts[kind] = &doubt{first: err}
	}
	if r.doubts[kind].n++; silent {
		r.doubts[kind].silent++
	}
}

const (
	aDay    = 1000 // of value, up to 3 an intent; half of it in coins
	aMinute = 500  // intents
	callers = 500
)

// write gives the token each a policy under which a transaction has so much value at most. Among so many callers it may have no answer in time.
func (r *race) write(most int64) {
	at := pgstore.Policy{Token: "each", Chain: "evm:1", Rules: fmt.Appendf(nil, `{"most":%d}`, most)}
	err := r.own.SetPolicy(r.t.Context(), at)
	if err == nil {
		at, err = r.own.Policy(r.t.Context(), "each", "evm:1")
	}
	if err != nil {
		r.doubt(fmt.Errorf("write a policy: %w", err), false, false)
		return
	}
	r.latest.Store(&at)
}

// mostTimes is how often a caller asks in all that gets no answer.
const mostTimes = 20

// from asks at a node under a policy, and after a doubt again, as the page tells a caller to. One who is hasty gives up at once the first time.
func (r *race) from(node int, key string, hasty time.Duration, by pgstore.Policy, value int64, takes ...pgstore.Take) error {
	r.asked.Add(1)
	for times := 1; ; times++ {
		ctx, end := r.t.Context(), func() {}
		if hasty > 0 {
			ctx, end = context.WithTimeout(ctx, hasty)
		}
		in, err := r.nodes[node].AcceptWithin(ctx, pending.Intent{Account: pendingtest.Account, Key: key, Call: chain.Call{Value: big.NewInt(value), Gas: 1}},
			pgstore.Reservation{Token: by.Token, Version: by.Version, Takes: takes})
		end()
		switch {
		case err == nil && in.Key == key:
			r.accepted.Add(1)
			return nil
		case over(err) != nil || errors.Is(err, pending.ErrBusy) || errors.Is(err, pgstore.ErrPolicyChanged):
			return err
		case err == nil:
			err = fmt.Errorf("the key %q is answered with the intent of %q", key, in.Key)
		}
		silent := times == mostTimes || r.t.Context().Err() != nil
		if r.doubt(err, hasty > 0, silent); silent {
			return err
		}
		hasty = 0
	}
}

// run asks so often, of one policy after the other until each is used up.
func (r *race) run(caller, asks int) {
	dice := rand.New(rand.NewPCG(7, uint64(caller)))
	by, days, minutes := *r.latest.Load(), r.days, r.minutes
	next := func(all []*limited, err error) []*limited {
		if over(err) == nil {
			return all
		}
		all[0].over.Store(true)
		return all[min(1, len(all)-1):]
	}
	for n := range asks {
		node, key, v, hasty := (caller+n)%2, fmt.Sprint(caller, "/", n), int64(1+dice.IntN(3)), time.Duration(0)
		if dice.IntN(10) == 0 {
			hasty = time.Duration(1 + dice.IntN(20_000_000))
		}
		switch n % 4 {
		case 0, 1:
			c := int64(dice.IntN(2))
			err := r.from(node, key, hasty, days[0].Policy, v, of(pgstore.OfValue, v), of("0xc0", c))
			if err == nil {
				days[0].value.Add(v)
				days[0].coins.Add(c)
			}
			days = next(days, err)
		case 2: // nobody is hasty: what is refused in one minute might be stored in the next
			err := r.from(node, key, 0, minutes[0].Policy, v, of(pgstore.OfCount, 1))
			if err == nil {
				minutes[0].many.Add(1)
			}
			minutes = next(minutes, err)
		case 3: // as a node does that has read the policy a while ago
			if dice.IntN(64) == 0 {
				select {
				case r.change <- struct{}{}:
				default:
				}
			}
			written := r.latest.Load().Version
			switch err := r.from(node, key, hasty, by, v); {
			case err == nil && by.Version < written:
				r.late.Add(1)
			case errors.Is(err, pgstore.ErrPolicyChanged):
				by = *r.latest.Load()
			}
		}
	}
}

// Rule reserve-with-accept (C4.7): whatever callers of two nodes ask for at once, no limit of a day or a minute is exceeded by one unit, what is
// spent is what was accepted, and nothing is accepted by a policy that has changed before. Callers who give up, and those whom a statement
// leaves without an answer, ask again under the same key: each has one intent in the end, or a refusal. A limit that is used up is followed by another
// one, so that all of the run is a race to the end of some. CONCH_ACCEPTS says how many ask.
func TestRacingAcceptsOvershootNothing(t *testing.T) {
	t.Parallel()
	asks, longest := runtest.ByDay(10_000, 1_000_000), runtest.ByDay(5*time.Minute, 2*time.Hour)
	if n, err := strconv.Atoi(os.Getenv("CONCH_ACCEPTS")); err == nil {
		asks, longest = n, 2*time.Hour
	}
	r := &race{doubts: map[string]*doubt{}, change: make(chan struct{}, 1), treasury: openTreasury(t)}
	r.days = r.limit("payout", 1+asks/2/(aDay/2+callers), of(pgstore.OfValue, aDay), of("0xc0", aDay/2))
	r.minutes = r.limit("counted", 1+asks/4/(aMinute+callers), of(pgstore.OfCount, aMinute))
	if r.write(0); r.latest.Load() == nil {
		t.Fatal("there is no policy")
	}
	var all, writing sync.WaitGroup
	for caller := range callers {
		all.Go(func() { r.run(caller, asks/callers) })
	}
	writing.Go(func() {
		for most := int64(1); ; most++ {
			if _, is := <-r.change; !is {
				return
			}
			r.write(most)
		}
	})
	began := time.Now()
	pgtest.Within(t, longest, "all callers are answered", all.Wait)
	close(r.change)
	pgtest.Within(t, time.Minute, "the policies are written", writing.Wait)
	t.Logf("%d accepts raced for %v at two nodes to the ends of %d limits: %d were accepted, %d by a policy that had changed",
		r.asked.Load(), time.Since(began).Round(time.Second), len(r.days)+len(r.minutes), r.accepted.Load(), r.late.Load())
	r.judge()
}

// judge compares what was accepted with the limits, and with what the database says.
func (r *race) judge() {
	if n := r.late.Load(); n > 0 {
		r.t.Errorf("%d were accepted by a policy that had changed", n)
	}
	if r.doubts[gaveUp] == nil {
		r.t.Error("nobody gave up")
	}
	for kind, d := range r.doubts {
		r.t.Logf("%d times no answer (%s), first: %v", d.n, kind, d.first)
		if d.silent > 0 {
			r.t.Errorf("%d callers (%s) have got no answer: %v", d.silent, kind, d.first)
		}
	}
	if n := r.count("intents"); int64(n) != r.accepted.Load() {
		r.t.Errorf("%d intents are stored, and %d were accepted", n, r.accepted.Load())
	}
	full := 0
	for _, at := range slices.Concat(r.days, r.minutes) {
		var value, coins, many, most int64
		if err := r.conn.QueryRow(r.t.Context(), `SELECT coalesce(sum(spent) FILTER (WHERE what = 'value'), 0), coalesce(sum(spent) FILTER (WHERE what = '0xc0'), 0),
			coalesce(sum(spent) FILTER (WHERE what = 'count'), 0), coalesce(max(spent) FILTER (WHERE what = 'count'), 0)
			FROM conch.pending_spent WHERE token = $1`, at.Token).Scan(&value, &coins, &many, &most); err != nil {
			r.t.Fatal(err)
		}
		if v, c, n := at.value.Load(), at.coins.Load(), at.many.Load(); value != v || coins != c || many != n {
			r.t.Errorf("%s: spent are %d, %d and %d; accepted were %d of value, %d of coins and %d by count", at.Token, value, coins, many, v, c, n)
		}
		if value > aDay || coins > aDay/2 || most > aMinute {
			r.t.Errorf("%s: spent are %d of value, %d of coins and %d in a minute", at.Token, value, coins, most)
		}
		if at.over.Load() {
			if full++; value < aDay-2 && coins < aDay/2 && many < aMinute {
				r.t.Errorf("%s: somebody was refused, and spent are only %d of value, %d of coins and %d by count", at.Token, value, coins, many)
			}
		}
	}
	if full == 0 {
		r.t.Error("no limit was reached")
	}
	r.t.Logf("%d limits were reached", full)
}

// Rule key-before-policy: a repeated key answers the same, whatever is left, and takes nothing: also one whose first request is under way at
// the other node, and one that is archived (C4.11).
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
	w.set(of(pgstore.OfValue, 25)) // so that it could be taken again
	pgtest.Within(t, time.Minute, "it is answered while something is left", func() {
		if in, err := w.ask(1, "one", 10, of(pgstore.OfValue, 10)); err != nil || in.ID != ids[0] || w.spent(pgstore.OfValue) != 10 {
			t.Errorf("while something is left it is answered with %x, %v, and %d is spent", in.ID, err, w.spent(pgstore.OfValue))
		}
	})
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
		{"failed in a block", false, []pending.Change{{Status: pending.InBlock, Effect: chain.EffectOf(true)}}, 10, 5},
		{"cancelled, not final", true, []pending.Change{{Status: pending.InBlock}}, 10, 5},
		{"done", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Done, Effect: chain.EffectOf(false)}}, 10, 5},
		{"reverted", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Done, Effect: chain.EffectOf(true)}}, 0, 5},
		{"cancelled by a filler", true, []pending.Change{{Status: pending.Finalized, Intent: pending.Cancelled}}, 0, 5},
		{"rejected by a filler", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Rejected}}, 0, 5},
		{"its nonce was used by another", false, []pending.Change{{Status: pending.Usurped, Intent: pending.Again}}, 10, 5},
		{"and it was cancelled", true, []pending.Change{{Status: pending.Usurped, Intent: pending.Again}}, 0, 0},
		{"an end that was taken back", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Rejected}, {Status: pending.Retracted}}, 10, 5},
		{"and came again", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Rejected}, {Status: pending.Retracted}, {Status: pending.Finalized, Intent: pending.Rejected}}, 0, 5},
		{"another end at once", false, []pending.Change{{Status: pending.Finalized, Intent: pending.Done, Effect: chain.EffectOf(true)}, {Status: pending.Finalized, Intent: pending.Done, Effect: chain.EffectOf(false)}}, 10, 5},
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
