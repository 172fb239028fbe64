package substrate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

// prepare signs drafts, and wants no error.
func (w *world) prepare(c *substrate.Chain, drafts ...chain.Draft) (all []chain.Signed) {
	w.Helper()
	prepared, err := c.Prepare(w.brief(), drafts)
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range prepared {
		if p.Err != nil {
			w.Fatal(p.Err)
		}
		all = append(all, p.Signed)
	}
	return all
}

// refused returns the error of one draft.
func (w *world) refused(c *substrate.Chain, d chain.Draft) error {
	w.Helper()
	prepared, err := c.Prepare(w.brief(), []chain.Draft{d})
	if err != nil {
		w.Fatal(err)
	}
	return prepared[0].Err
}

// submit sends attempts, and wants a verdict for each.
func (w *world) submit(c *substrate.Chain, want chain.Verdict, attempts ...chain.Signed) {
	w.Helper()
	for i, o := range c.Submit(w.brief(), attempts) {
		if o.Verdict != want {
			w.Fatalf("attempt %d: got %v (%s), want %v", i, o.Verdict, o.Text, want)
		}
	}
}

// head returns the node's head.
func (w *world) head() chain.Block {
	b := w.node.Head()
	return chain.Block{Number: uint64(b.Number), Hash: chain.Hash(b.Hash[:])}
}

// included returns what the head has of rich.
func (w *world) included() []chain.Inclusion {
	w.Helper()
	all, err := w.driver.Inclusions(w.brief(), w.head(), []chain.Account{w.rich.Account()})
	if err != nil {
		w.Fatal(err)
	}
	return all
}

// S20, Z15: keys of all kinds sign what the chain takes, also those of Ethereum, and what is in a block is proven to be the account's.
func TestEachKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []key.Kind{key.Ed25519, key.Sr25519, key.ECDSA, key.Ethereum} {
		w := newWorldOf(t, kind, func(cfg *substratetest.Config) { cfg.Ethereum = kind == key.Ethereum })
		long := w.remark(strings.Repeat("long ", 13_000)) // what is signed is its hash
		ours := w.prepare(w.driver, chain.Draft{Account: w.rich.Account(), Call: w.remark("short")}, chain.Draft{Account: w.rich.Account(), Index: 1, Call: long})
		w.submit(w.driver, chain.Accepted, ours...)
		w.node.Mine()
		in := w.included()
		if len(in) != 2 || in[1].Hash != ours[1].Hash || in[1].Effect.Kind != chain.EffectOK {
			t.Fatalf("%v: the block has %+v", kind, in)
		}
		d, err := w.driver.Prove(w.brief(), in[1])
		if err != nil || d.Account != w.rich.Account() || d.Index != 1 || !d.Call.Equal(long) {
			t.Errorf("%v: proven is nonce %d of %v, %v", kind, d.Index, d.Account, err)
		}
		if n, err := w.driver.Pooled(w.brief(), w.rich.Account()); err != nil || n != 2 {
			t.Errorf("%v: got the next nonce %d, %v, want 2", kind, n, err)
		}
	}
}

// Z13, Z14: a call is kept by its names. A runtime with other numbers gets the same call, what is in blocks is read by the runtime that
// made them, and arguments of another shape are held and not read as others.
func TestCallsAreNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rich := w.rich.Account()
	call := w.transfer(w.rich.Account(), big.NewInt(1))
	before := w.prepare(w.driver, chain.Draft{Account: rich, Call: call})[0]
	w.submit(w.driver, chain.Accepted, before)
	w.node.Upgrade(substratetest.Runtime{Spec: 101, Transaction: 2, Moved: true})
	w.node.Mine() // this block brings the runtime, and was made by the one before
	first := w.included()
	after := w.prepare(w.driver, chain.Draft{Account: rich, Index: 1, Call: call})[0]
	if after.Version == before.Version || after.Version != "substratetest/101/2" {
		t.Errorf("signed for %q, and then for %q", before.Version, after.Version)
	}
	w.submit(w.driver, chain.Accepted, after)
	w.node.Mine()
	for i, in := range append(first, w.included()...) {
		if d, err := w.driver.Prove(w.brief(), in); err != nil || !d.Call.Equal(call) || d.Index != uint64(i) || in.Effect.Kind != chain.EffectOK {
			t.Errorf("proven of %+v is %+v, %v", in, d, err)
		}
	}
	remark := w.remark("hello")
	w.node.Upgrade(substratetest.Runtime{Spec: 102, Transaction: 3, Moved: true, Reshaped: true})
	w.node.Mine()
	err := w.refused(w.driver, chain.Draft{Account: rich, Index: 2, Call: remark})
	if !errors.Is(err, chain.ErrCall) || !strings.Contains(fmt.Sprint(err), "System.remark has other arguments") {
		t.Errorf("with other arguments: got %v", err)
	}
	for _, other := range []chain.Call{{To: []byte(rich)}, {Data: []byte("hello")}, {Data: call.Data, Value: big.NewInt(1)}, {Data: call.Data[:20]}, {}} {
		if err := w.refused(w.driver, chain.Draft{Account: rich, Index: 2, Call: other}); !errors.Is(err, chain.ErrCall) {
			t.Errorf("%v, which is no call of this chain: got %v", other, err)
		}
	}
}

// Z15: a chain with an extension that is not understood is refused from the start, by its name and type.
func TestUnknownExtension(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(cfg *substratetest.Config) { cfg.Runtime.Extension = "CheckCreatedAtHeight" })
	_, err := w.driver.Describe(w.brief())
	if !errors.Is(err, chain.ErrUnsupported) || !strings.Contains(fmt.Sprint(err), "CheckCreatedAtHeight") || !strings.Contains(fmt.Sprint(err), "u32") {
		t.Errorf("got %v", err)
	}
}

// watched is a key that keeps what it has signed.
type watched struct {
	*key.Pair
	mu   sync.Mutex
	seen [][]byte
}

func (k *watched) Sign(ctx context.Context, payload []byte) ([]byte, error) {
	k.mu.Lock()
	k.seen = append(k.seen, bytes.Clone(payload))
	k.mu.Unlock()
	return k.Pair.Sign(ctx, payload)
}

// Z16: a raise is by as much as the runtime needs to give a higher priority. What is shown to the endpoint for that has a nonce that the
// account does not come to: nothing else could be carried out that is not stored.
func TestARaiseIsMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(cfg *substratetest.Config) { cfg.TipUnit = 1e9 })
	k := &watched{Pair: w.rich}
	c := w.open(w.node.URL(), func(cfg *substrate.Config) { cfg.Signers = []key.Signer{k} })
	draft := chain.Draft{Account: w.rich.Account(), Call: w.remark("hello")}
	one := w.prepare(c, draft)[0]
	w.submit(c, chain.Accepted, one)
	draft.Above = one.Fee
	k.seen = nil
	two := w.prepare(c, draft)[0]
	if two.Fee.Tip.Cmp(big.NewInt(1e9)) < 0 {
		t.Errorf("a tip of %v raises nothing on this chain", two.Fee.Tip)
	}
	far := scale.AppendCompact(nil, 1<<32-1)
	for i, text := range k.seen[:len(k.seen)-1] {
		if !bytes.Contains(text, far) {
			t.Errorf("signature %d of %d is over %x, which the account may come to", i, len(k.seen), text)
		}
	}
	w.submit(c, chain.Accepted, two)
	if ready, future := w.node.Pending(); len(ready)+len(future) != 1 {
		t.Errorf("the pool has %d transactions, want one", len(ready)+len(future))
	}
	draft.Above, draft.Most = two.Fee, chain.Fee{Max: new(big.Int).Lsh(big.NewInt(1), 100), Tip: two.Fee.Tip}
	if err := w.refused(c, draft); !errors.Is(err, chain.ErrFee) {
		t.Errorf("above what is allowed: got %v", err)
	}
	draft.Above.Tip, draft.Most = new(big.Int).Lsh(big.NewInt(1), 79), chain.Fee{}
	if err := w.refused(c, draft); !errors.Is(err, chain.ErrFunds) {
		t.Errorf("above what the account has: got %v", err)
	}
	other := newWorld(t) // where each planck counts
	draft.Above.Tip = new(big.Int).Lsh(big.NewInt(1), 49)
	if err := other.refused(other.driver, draft); !errors.Is(err, chain.ErrFee) || !strings.Contains(fmt.Sprint(err), "at its end") {
		t.Errorf("at the end of the priorities: got %v", err)
	}
}

// Z20, Z9: what would end the account is refused, also in a batch, unless that is allowed; one that does not exist signs nothing.
func TestReapingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rich, poor := w.rich.Account(), w.poor.Account()
	all := w.named("Balances", "transfer_all", to(poor), []byte{0})
	most := w.named("Balances", "transfer_allow_death", to(poor), amount(new(big.Int).Sub(w.node.Free(string(rich)), big.NewInt(1))))
	some := w.named("Balances", "transfer_allow_death", to(poor), amount(big.NewInt(1e12)))
	keeps := w.named("Balances", "transfer_all", to(poor), []byte{1})
	free := w.open(w.node.URL(), func(cfg *substrate.Config) { cfg.AllowReaping = true })
	for name, c := range map[string]struct {
		call  chain.Call
		reaps bool
	}{
		"all": {all, true}, "nearly all": {most, true}, "some": {some, false}, "all but the deposit": {keeps, false},
		"all in a batch": {w.batch("batch_all", some, all), true}, "a batch": {w.batch("batch", some, some, keeps), false},
	} {
		d := chain.Draft{Account: rich, Call: c.call}
		if err := w.refused(w.driver, d); errors.Is(err, chain.ErrCall) != c.reaps || (err != nil) != c.reaps {
			t.Errorf("%s: got %v, want that it is refused: %t", name, err, c.reaps)
		}
		if err := w.refused(free, d); err != nil {
			t.Errorf("%s, where it is allowed: got %v", name, err)
		}
	}
	if err := w.refused(free, chain.Draft{Account: poor, Call: some}); !errors.Is(err, chain.ErrFunds) || !strings.Contains(fmt.Sprint(err), "does not exist") {
		t.Errorf("of an account that does not exist: got %v", err)
	}
}

// Z11: an endpoint whose bodies do not fit their headers is not believed in anything that rests on them.
func TestALyingEndpoint(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.prepare(w.driver, chain.Draft{Account: w.rich.Account(), Call: w.remark("hello")})
	w.submit(w.driver, chain.Accepted, ours...)
	w.node.Mine()
	in := w.included()[0]
	w.node.Mine()
	w.node.Finalize()
	e, err := w.node.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	e.Lie(true)
	c := w.open(e.URL())
	_, of := c.Inclusions(w.brief(), in.Block, []chain.Account{w.rich.Account()})
	_, _, by := c.Scan(w.brief(), w.head(), w.rich.Account(), 1, 9)
	_, as := c.Prove(w.brief(), in)
	said, own := c.Confirm(w.brief(), []chain.Claim{{Inclusion: in, By: "another", At: in.Block}})
	for _, err := range []error{of, by, as, own} {
		if !errors.Is(err, chain.ErrAnswer) || !strings.Contains(fmt.Sprint(err), "does not fit") {
			t.Errorf("got %v (%+v), want that the body does not fit", err, said)
		}
	}
	e.Lie(false)
	if said, err := c.Confirm(w.brief(), []chain.Claim{{Inclusion: in, By: "another", At: in.Block}}); err != nil || said[0].Stand != chain.Agrees {
		t.Errorf("once it is true: got %+v, %v", said, err)
	}
}

// Z10: effects have the names that the chain has for them, also of what a batch has carried out in part.
func TestEffects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hello, bad := w.remark("hello"), w.tooMuch()
	var drafts []chain.Draft
	for i, call := range []chain.Call{hello, bad, w.batch("batch", hello, bad), w.batch("force_batch", bad, hello), w.batch("batch_all", hello, bad)} {
		drafts = append(drafts, chain.Draft{Account: w.rich.Account(), Index: uint64(i), Call: call})
	}
	w.submit(w.driver, chain.Accepted, w.prepare(w.driver, drafts...)...)
	w.node.Mine()
	var got []string
	for _, in := range w.included() {
		got = append(got, in.Effect.String())
	}
	want := []string{"ok", "failed: Arithmetic.Underflow", "partly: Utility.BatchInterrupted: Arithmetic.Underflow", "partly: Utility.ItemFailed: Arithmetic.Underflow", "failed: Arithmetic.Underflow"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Bytes that a node calls a bad proof are outworn if they are, and refused by one that is behind their birth; both say nothing of the call.
func TestBadProofs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.node.MineBlocks(3)
	w.node.Finalize()
	e, err := w.node.Endpoint()
	if err != nil {
		t.Fatal(err)
	}
	e.Lag(2)
	behind := w.open(e.URL())
	draft := chain.Draft{Account: w.rich.Account(), Call: w.remark("hello")}
	s := w.prepare(w.driver, draft)[0]
	e.Answer("author_submitExtrinsic", 1010, "Invalid Transaction", "Transaction has a bad signature")
	w.submit(behind, chain.Refused, s)
	broken := s
	broken.Bytes = bytes.Clone(s.Bytes)
	broken.Bytes[60] ^= 1
	w.submit(w.driver, chain.Outworn, broken)
	draft.Brief = true
	brief := w.prepare(w.driver, draft)[0]
	if want := w.head().Number + 3; brief.Until != want {
		t.Errorf("a brief attempt is good until %d, want %d", brief.Until, want)
	}
	w.node.MineBlocks(4)
	w.submit(w.driver, chain.Outworn, brief)
	w.submit(w.driver, chain.Accepted, s)
}

// The metadata of a version is read once, and a block costs few calls.
func TestFewCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rich := w.rich.Account()
	w.node.Mine()
	w.included()
	calls := func(do func()) (n int) {
		count := func() (all int) {
			for _, m := range []string{"chain_getHeader", "chain_getBlock", "chain_getBlockHash", "chain_getFinalizedHead", "state_getStorage", "state_call", "state_getMetadata", "state_getRuntimeVersion"} {
				all += w.node.Front().Calls(m)
			}
			return all
		}
		before := count()
		do()
		return count() - before
	}
	w.node.Mine()
	if n := calls(func() { w.included() }); n > 3 {
		t.Errorf("a block took %d calls, want its header, its body and its events", n)
	}
	call := w.remark("hello")
	if n := calls(func() { w.prepare(w.driver, chain.Draft{Account: rich, Call: call}) }); n > 4 {
		t.Errorf("to sign took %d calls, want the head, the final block, the account and the fee", n)
	}
	if n := calls(func() {
		w.prepare(w.driver, chain.Draft{Account: rich, Call: call}, chain.Draft{Account: rich, Index: 1, Call: call})
	}); n > 3 {
		t.Errorf("to sign two more took %d calls, want three", n)
	}
}

// Every fault of a configuration is said at once, and no secret is in what is printed.
func TestConfig(t *testing.T) {
	t.Parallel()
	k := newKey(t, key.Ed25519, "rich")
	cfg := substrate.Config{URL: "http://user:sesame1@host/sesame2", Genesis: "short", Signers: []key.Signer{k, k}, Mortality: 48, Timeout: -1}
	_, err := substrate.New(cfg)
	for _, part := range []string{"scheme", "genesis has 5 bytes", "two signers", "48 blocks", "below zero"} {
		if !strings.Contains(fmt.Sprint(err), part) {
			t.Errorf("got %v, want also %q", err, part)
		}
	}
	w := newWorld(t)
	c := w.open(strings.Replace(w.node.URL(), "ws://", "ws://user:sesame1@", 1) + "/sesame2")
	text, _ := c.MarshalJSON()
	if all := fmt.Sprintf("%v %+v %#v %s %v %+v", c, c, c, text, cfg, cfg); strings.Contains(all, "sesame") {
		t.Errorf("printed is %s", all)
	}
}

// W2: an endpoint answers its own claim only when its final block has moved on, and another's at once.
func TestItsOwnClaim(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.submit(w.driver, chain.Accepted, w.prepare(w.driver, chain.Draft{Account: w.rich.Account(), Call: w.remark("hello")})...)
	w.node.Mine()
	in := w.included()[0]
	w.node.Finalize()
	d, err := w.driver.Describe(w.brief())
	if err != nil {
		t.Fatal(err)
	}
	wants := func(want ...chain.Stand) {
		t.Helper()
		own := chain.Claim{Inclusion: in, By: d.By, At: w.blockAt(in.Block.Number)}
		still := own
		still.Still = true
		said, err := w.driver.Confirm(w.brief(), []chain.Claim{own, {Inclusion: in, By: "another", At: own.At}, still})
		if err != nil {
			t.Fatal(err)
		}
		for i, o := range said {
			if o.Stand != want[i] || o.Stand == chain.Mute && o.Why == "" {
				t.Errorf("claim %d: got %+v, want %v", i, o, want[i])
			}
		}
	}
	wants(chain.Mute, chain.Agrees, chain.Agrees)
	w.node.Mine()
	w.node.Finalize()
	wants(chain.Agrees, chain.Agrees, chain.Agrees)
}

// blockAt returns the block of a height.
func (w *world) blockAt(number uint64) chain.Block {
	b := w.node.Blocks()[number]
	return chain.Block{Number: uint64(b.Number), Hash: chain.Hash(b.Hash[:])}
}
