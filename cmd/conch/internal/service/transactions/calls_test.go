package transactions

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/pending"
)

// queue is an account's, in memory, as another service uses it.
type queue struct {
	calls

	t      *testing.T
	memory *pending.Memory
	writes uint64
}

func newQueue(t *testing.T) *queue {
	t.Helper()
	m := &pending.Memory{}
	a := Account{Name: "ops", Address: "an account of 20 byt", Chain: Chain{Name: "dev", Kind: KindEVM, ChainID: 1}}
	n := newNews(nil, nil)
	m.Told = func(e pending.Event) { n.pass(a.Chain.ID(), e, "", false) }
	return &queue{calls: calls{a, m, n}, t: t, memory: m}
}

// contract is whom the calls of a test go to.
var contract = []byte("a contract of 20 byt")

func (q *queue) accept(key string, data byte) string {
	q.t.Helper()
	id, err := q.Accept(q.t.Context(), key, chain.Call{To: contract, Gas: 21000, Data: []byte{data}}, 0)
	if err != nil {
		q.t.Fatal(err)
	}
	return id
}

func (q *queue) write(b pending.Batch) {
	q.t.Helper()
	q.writes++
	b.Account, b.Number = q.account.Address, q.writes
	if err := q.memory.Write(q.t.Context(), fence.Token{}, b); err != nil {
		q.t.Fatal(err)
	}
}

// slot gives a call a nonce, and what has become of it.
func (q *queue) slot(nonce uint64, id string, c pending.Change) {
	q.t.Helper()
	in, err := parseID(id)
	if err != nil {
		q.t.Fatal(err)
	}
	q.write(pending.Batch{New: []pending.Slot{{Index: nonce, Intent: &in, Attempts: []chain.Signed{{}}}}})
	c.Index = nonce
	q.write(pending.Batch{Changes: []pending.Change{c}})
}

func (q *queue) underWay() []node.Accepted {
	q.t.Helper()
	all, err := q.UnderWay(q.t.Context(), contract)
	if err != nil {
		q.t.Fatal(err)
	}
	return all
}

// The calls of another service have keys of their own: a user who has taken the same key, past the API, has another transaction, and
// the service does not see it.
func TestAServiceHasKeysOfItsOwn(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	theirs, err := q.memory.Accept(t.Context(), pending.Intent{Account: q.account.Address, Key: "conch:nudge 0xab", Call: chain.Call{Value: big.NewInt(5)}})
	if err != nil {
		t.Fatal(err)
	}
	id := q.accept("nudge 0xab", 1)
	if again := q.accept("nudge 0xab", 1); again != id || id == idText(theirs.ID) {
		t.Errorf("got %s and again %s, and the user has %s; want one and another", id, again, idText(theirs.ID))
	}
	if _, err := q.Accept(t.Context(), "nudge 0xab", chain.Call{Data: []byte{2}}, 0); !errors.Is(err, errKeyTaken) {
		t.Errorf("the key for another call: got error %v, want errKeyTaken", err)
	}
	if all := q.underWay(); len(all) != 1 || all[0].ID != id || all[0].Key != "nudge 0xab" || all[0].Call.Data[0] != 1 {
		t.Errorf("under way are %+v, want the service's own", all)
	}
}

// P33: it is told how far a call has come, what is in its way, and of those that have ended which are lost.
func TestWhatBecomesOfCalls(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	ids := map[string]string{}
	for i, key := range []string{"queued", "signed", "included", "late", "done", "failed", "rejected", "cancelled", "expired"} {
		ids[key] = q.accept(key, byte(i))
	}
	block := chain.Block{Number: 7, Hash: "b"}
	q.slot(0, ids["done"], pending.Change{Status: pending.Finalized, Block: block, Intent: pending.Done, Effect: chain.EffectOf(false)})
	q.slot(1, ids["failed"], pending.Change{Status: pending.Finalized, Block: block, Intent: pending.Done, Effect: chain.EffectOf(true)})
	q.slot(2, ids["included"], pending.Change{Status: pending.InBlock, Block: block})
	q.slot(3, ids["late"], pending.Change{Status: pending.FinalityTimeout, Block: block})
	q.slot(4, ids["signed"], pending.Change{Status: pending.Ready, Waits: "fees"})
	rejected, queued := testID(ids["rejected"]), testID(ids["queued"])
	q.write(pending.Batch{Expired: []pending.ID{testID(ids["expired"])}, Rejects: []pending.Hold{{Intent: rejected, Why: "nonsense"}}, Hold: &pending.Hold{Intent: queued, Why: "it cannot pay"}})
	if err := q.Withdraw(t.Context(), ids["cancelled"]); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range q.underWay() {
		got = append(got, fmt.Sprintf("%s %v %v %q", one.Key, one.Signed, one.Included, one.Waits))
	}
	want := []string{`queued false false "account \"ops\": it cannot pay"`, `signed true false "account \"ops\": fees"`, `included true true ""`, `late true true ""`}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("under way are %v, want %v", got, want)
	}
	ids["unknown"] = "00000000-0000-4000-8000-000000000001"
	for key, says := range map[string]string{
		"queued": "", "signed": "", "included": "", "done": "",
		"failed": "had no effect", "rejected": "was rejected: nonsense", "expired": "had no nonce when its last block came", "cancelled": "was cancelled", "unknown": "its row is gone",
	} {
		is, why, err := q.Lost(t.Context(), ids[key])
		if is != (says != "") || !strings.Contains(why, says) || err != nil {
			t.Errorf("%s: lost %v, %q, error %v; want %q", key, is, why, err, says)
		}
	}
	if all, err := q.UnderWay(t.Context(), []byte("another contract's")); err != nil || len(all) > 0 {
		t.Errorf("of another contract of the account: %+v, error %v", all, err)
	}
	if _, err := q.Accept(t.Context(), "timely", chain.Call{To: contract}, 90); err != nil {
		t.Fatal(err)
	}
	if w, err := q.memory.Queue(t.Context(), q.account.Address, false, 9); err != nil || w.Oldest[1].LastBlock != 90 {
		t.Errorf("the queue is %+v, error %v; want the last block in it", w, err)
	}
	away := calls{q.account, &fakeStore{kept: map[pending.ID]pending.Record{rejected: {}}, err: context.DeadlineExceeded}, nil}
	if is, _, err := away.Lost(t.Context(), ids["rejected"]); is || err == nil {
		t.Errorf("while the database is away: lost %v, error %v; want that nobody knows", is, err)
	}
}

// P33: a service hears at once of each call that ends without an effect, and of no other end; not of other accounts, and not any more
// once it has left.
func TestAServiceHearsOfWhatIsLost(t *testing.T) {
	t.Parallel()
	q := newQueue(t)
	var heard []string
	leave := q.Heed(func(id string) { heard = append(heard, id) })
	if !q.news.wanted() {
		t.Error("nobody follows the events")
	}
	deaf := q.news.heed(accountID{"another chain", q.account.Address}, func(e pending.Event) { t.Errorf("told of %v", e) })
	defer deaf()
	ids := map[string]string{}
	for i, key := range []string{"open", "done", "failed", "rejected", "expired", "cancelled", "cancelling", "later"} {
		ids[key] = q.accept(key, byte(i))
	}
	block := chain.Block{Number: 7, Hash: "b"}
	q.slot(0, ids["done"], pending.Change{Status: pending.Finalized, Block: block, Intent: pending.Done, Effect: chain.EffectOf(false)})
	q.slot(1, ids["failed"], pending.Change{Status: pending.Finalized, Block: block, Intent: pending.Done, Effect: chain.EffectOf(true)})
	q.slot(2, ids["cancelling"], pending.Change{Status: pending.InBlock, Block: block})
	q.write(pending.Batch{Rejects: []pending.Hold{{Intent: testID(ids["rejected"])}}, Expired: []pending.ID{testID(ids["expired"])}})
	for _, key := range []string{"cancelled", "cancelling"} { // that with a nonce has not ended before its filler is final
		if err := q.Withdraw(t.Context(), ids[key]); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	if err := q.Withdraw(t.Context(), ids["later"]); err != nil {
		t.Fatal(err)
	}
	if want := []string{ids["failed"], ids["rejected"], ids["expired"], ids["cancelled"]}; fmt.Sprint(heard) != fmt.Sprint(want) {
		t.Errorf("heard of %v, want %v", heard, want)
	}
}
