package transactions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/pending"
)

const toAccounts = "/v1/accounts"

// payerStands is the account of the tests, as it stands.
var payerStands = `{"name":"payer","chain":"evm:1","address":"` + payerAccount.Address.String() + `","scope":"pending:evm:1:payer","leads":false,"balance":"1000000000000000000000","nonce":3,"next_nonce":4,` +
	`"block":{"number":12,"hash":"0xee"},"by":"https://a","queued":2,"in_flight":1,"in_block":1,"gaps":1,"oldest_at":"1970-01-01T00:00:02Z",` +
	`"waiting_for":{"reason":"behind transaction ` + firstID + `: it cannot pay","intent":"` + firstID + `","since":"1970-01-01T00:00:03Z"},"alarms":null}`

// receiptsOf has what endpoints answer about receipts.
type receiptsOf struct {
	mu      sync.Mutex
	asked   []chain.Inclusion
	err     error
	created chain.Account
	logs    []chain.Log
}

func (rs *receiptsOf) ask(in chain.Inclusion) (r chain.Receipt, err error) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.asked = append(rs.asked, in)
	r = chain.Receipt{Inclusion: in, GasUsed: 21_000, GasPrice: big.NewInt(7), Created: rs.created, By: [2]string{"https://a", "https://b"}}
	for _, l := range rs.logs {
		r.AddLog(l)
	}
	return r, rs.err
}

func (w *world) hasLogs() {
	w.receipts.created = chain.Account(strings.Repeat("\x02", 20))
	w.receipts.logs = []chain.Log{{Address: "\x03", Topics: []chain.Hash{"\x04"}, Data: []byte{5}}}
}

func (w *world) hasManyLogs() {
	w.receipts.logs = []chain.Log{{Data: make([]byte, chain.MostLogs+1)}, {}}
}

// isRefused gives the second transaction a nonce, and has an endpoint refuse it.
func (w *world) isRefused() {
	r := w.store.kept[testID(secondID)]
	r.Index, r.Last.Waits = new(uint64(3)), "not accepted: https://a: no\u202e"
	w.store.kept[r.ID] = r
}

func (w *world) chainIsAway() {
	w.stands = func(Chain, []chain.Account) ([]chain.AccountState, error) {
		return nil, errors.New("https://a\u202e is away")
	}
}

// othersSend has the chain count more nonces than the store has.
func (w *world) othersSend() {
	w.stands = func(_ Chain, accounts []chain.Account) ([]chain.AccountState, error) {
		all, err := standing(accounts)
		all[0].Next = 9
		return all, err
	}
}

func standing(accounts []chain.Account) (all []chain.AccountState, err error) {
	has, _ := new(big.Int).SetString("1000000000000000000000", 10)
	for _, a := range accounts {
		all = append(all, chain.AccountState{Account: a, Block: chain.Block{Number: 12, Hash: "\xee"}, Balance: has, Next: 3, By: "https://a"})
	}
	return all, nil
}

// Attempts has two for the nonce 3.
func (f *fakeStore) Attempts(ctx context.Context, _ chain.Account, index uint64) ([]pending.Attempt, error) {
	return []pending.Attempt{
		{Hash: "\xaa", Fee: chain.Fee{Max: big.NewInt(9), Tip: big.NewInt(1)}, Gas: 30_000, Signed: time.Unix(5, 0)},
		{Hash: "\xab", Fee: chain.Fee{Max: big.NewInt(12)}, Gas: 30_000, Signed: time.Unix(6, 0)},
	}, f.ready(ctx)
}

func (f *fakeStore) Backlog(ctx context.Context, _ chain.Account) (pending.Backlog, error) {
	return pending.Backlog{
		Next: 4, Queued: 2, InFlight: 1, InBlock: 1, Gaps: 1, Oldest: time.Unix(2, 0),
		Hold: pending.Hold{Intent: testID(firstID), Why: "it cannot pay"}, HoldSince: time.Unix(3, 0),
	}, f.ready(ctx)
}

// details returns what one transaction is told to be.
func (w *world) details(ctx context.Context, id string) Detailed {
	d := Detailed{Transaction: w.api.transactions.show(payerAccount.Chain.ID(), w.store.kept[testID(id)])}
	w.api.transactions.explain(ctx, &d)
	return d
}

// A receipt is asked for as of the very block that the row names, once. Once the transaction has left the block none is shown, and in
// another block, or as another attempt, it is asked for anew.
func TestAReceiptOfADeadBlockIsNotShown(t *testing.T) {
	t.Parallel()
	w := newWorld()
	shows := func(when string, want bool, asked int) {
		t.Helper()
		d := w.details(t.Context(), firstID)
		if (d.Receipt != nil) != want || len(w.receipts.asked) != asked {
			t.Errorf("%s: got %+v, %q after %d questions, want one: %v, after %d", when, d.Receipt, d.ReceiptUnknown, len(w.receipts.asked), want, asked)
		}
	}
	becomes := func(change func(*pending.Change)) {
		r := w.store.kept[testID(firstID)]
		change(&r.Last)
		w.store.kept[r.ID] = r
	}
	shows("final", true, 1)
	shows("again", true, 1)
	becomes(func(c *pending.Change) { c.Status, c.Block = pending.Retracted, chain.Block{} })
	shows("its block has left the chain", false, 1)
	becomes(func(c *pending.Change) { c.Status, c.Block = pending.InBlock, chain.Block{Number: 9, Hash: "\xce"} })
	w.receipts.err = chain.ErrNotFound
	shows("it is in another block, which endpoints do not have", false, 2)
	if got := w.receipts.asked[1].Block; got.Hash != "\xce" || got.Number != 9 {
		t.Errorf("asked about block %+v", got)
	}
	w.receipts.err = nil
	shows("a moment later", false, 2)
	at := time.Now().Add(receiptSoon)
	w.api.transactions.receipts.now = func() time.Time { return at }
	shows("a second later", true, 3)
	becomes(func(c *pending.Change) { c.Hash = "\xaa" })
	shows("another attempt is in that block", true, 4)
}

// A transaction that lost its nonce, or whose nonce is used without a transaction, has no receipt.
func TestWhatIsInNoBlockHasNoReceipt(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*pending.Record){
		"it has lost its nonce":         func(r *pending.Record) { r.Index = nil },
		"no transaction used the nonce": func(r *pending.Record) { r.Last.Hash = "" },
	} {
		w := newWorld()
		r := w.store.kept[testID(firstID)]
		change(&r)
		w.store.kept[r.ID] = r
		if d := w.details(t.Context(), firstID); d.Receipt != nil || d.ReceiptUnknown != "" || len(w.receipts.asked) > 0 {
			t.Errorf("%s: got %+v", name, d)
		}
	}
}

// What is remembered is bounded by its bytes, and so is what is asked at a time: a thousand requests for what endpoints do not say are
// answered in time, without a receipt, and leave nothing behind.
func TestReceiptsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.receipts.logs = []chain.Log{{Data: make([]byte, chain.MostLogs/2)}}
		rs, r := w.api.transactions.receipts, w.store.kept[testID(firstID)]
		for i := range 200 {
			r.Last.Block.Hash = chain.Hash(fmt.Sprint(i))
			if got, err := rs.of(t.Context(), payerAccount, r); err != nil || got.receipt == nil {
				t.Fatal(got, err)
			}
			if rs.bytes > mostFound || len(rs.known) > mostFound/chain.MostLogs {
				t.Fatalf("%d receipts of %d bytes are remembered", len(rs.known), rs.bytes)
			}
		}
		w.store.hangs = true
		began := time.Now()
		var asking sync.WaitGroup
		for i := range 1000 {
			r.Last.Block.Hash = chain.Hash(fmt.Sprint("silent ", i))
			one := r
			asking.Go(func() {
				if got, err := rs.of(t.Context(), payerAccount, one); err == nil && got.unknown == "" {
					t.Error("there is a receipt")
				}
			})
		}
		asking.Wait()
		if took := time.Since(began); took > 2*findPatience || len(rs.places) > 0 { // of the bubble
			t.Errorf("took %v, and %d places are taken", took, len(rs.places))
		}
	})
}

// A caller that has gone leaves no answer behind that another one would be told.
func TestACallerThatHasGoneIsNoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld()
	ctx, cancel := context.WithCancel(t.Context())
	w.store.hangs = true
	time.AfterFunc(time.Millisecond, cancel)
	_ = w.details(ctx, firstID)
	w.store.hangs = false
	if d := w.details(t.Context(), firstID); d.Receipt == nil {
		t.Errorf("got %q, want the receipt", d.ReceiptUnknown)
	}
}

// The rows of an account are told also while its chain says nothing, and one chain that is silent takes nothing from another. What a
// chain has said once is not told again.
func TestAccountsOfASilentChain(t *testing.T) {
	t.Parallel()
	w, silent := newWorld(), false
	other := payerAccount
	other.Name, other.Chain.ChainID = "other", 2
	w.api.transactions.accounts.stores[other.Chain.ID()] = w.store
	w.stands = func(c Chain, accounts []chain.Account) ([]chain.AccountState, error) {
		if silent && c == payerAccount.Chain {
			return nil, chain.ErrUnreachable
		}
		return standing(accounts)
	}
	for _, silent = range []bool{false, true, false} {
		all, err := w.api.transactions.view(t.Context(), []Account{payerAccount, other, payerAccount})
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range all {
			known := v.Balance != nil && *v.NextNonce == 4 && v.Block != nil && v.Unknown == ""
			if mute := silent && i != 1; known == mute || v.Queued != 2 || mute && (v.Nonce != nil || v.NextNonce != nil || v.Unknown == "") {
				t.Errorf("silent: %v, account %d: got %+v", silent, i, v)
			}
		}
	}
}

// conch tx show prints what a transaction did, or why that is not known, and what was signed for it.
func TestShowSaysWhatATransactionDid(t *testing.T) {
	t.Parallel()
	contract, fee := "0x02", "12"
	for _, c := range []struct {
		shown Detailed
		want  []string
		not   string
	}{
		{Detailed{}, nil, "ATTEMPT"},
		{Detailed{ReceiptUnknown: "they disagree"}, []string{"receipt  they disagree\n"}, "contract"},
		{
			Detailed{Receipt: &Receipt{Status: "succeeded", GasUsed: 5, GasPrice: "2", Fee: "10", Contract: &contract, Logs: []Log{{}}, LogsCut: true, LogCount: 3}},
			[]string{"receipt  succeeded, fee 10 (5 gas at 2), logs: 3, of which --json has 1\n", "contract 0x02\n"}, "ATTEMPT",
		},
		{
			Detailed{Attempts: []Attempt{{Hash: "0xaa", InBlock: true}, {Hash: "0xab", Filler: true, MaxFee: &fee, Error: "not accepted"}}},
			[]string{"0xaa call - - ", "in a block", "0xab filler 12 - ", "not accepted"}, "receipt",
		},
	} {
		var out bytes.Buffer
		if err := newShell(&cli.Shell{World: cli.World{Stdout: &out}}).show(nil, c.shown); err != nil {
			t.Fatal(err)
		}
		plain := strings.Join(strings.Fields(out.String()), " ")
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) && !strings.Contains(plain, want) {
				t.Errorf("got %s\nwant it to say %q", out.String(), want)
			}
		}
		if strings.Contains(out.String(), c.not) {
			t.Errorf("got %s\nwant it not to say %q", out.String(), c.not)
		}
	}
}
