package substrate_test

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"sync/atomic"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/substrate"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/scale"
	"github.com/conchhq/conch/chain/substrate/substratetest"
)

const patience = time.Minute

// newKey returns the key of a name.
func newKey(t testing.TB, kind key.Kind, name string) *key.Pair {
	t.Helper()
	p, err := key.FromURI(kind, "//"+name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// world is a node and a driver before it.
type world struct {
	testing.TB
	node   *substratetest.Node
	driver *substrate.Chain
	rich   *key.Pair
	poor   *key.Pair
}

func newWorld(t testing.TB, edit ...func(*substratetest.Config)) *world {
	t.Helper()
	return newWorldOf(t, key.Sr25519, edit...)
}

func newWorldOf(t testing.TB, kind key.Kind, edit ...func(*substratetest.Config)) *world {
	t.Helper()
	w := &world{TB: t, rich: newKey(t, kind, "rich"), poor: newKey(t, kind, "poor")}
	cfg := substratetest.Config{Accounts: map[string]*big.Int{string(w.rich.Account()): new(big.Int).Lsh(big.NewInt(1), 80)}}
	for _, e := range edit {
		e(&cfg)
	}
	n, err := substratetest.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	w.node = n
	w.driver = w.open(n.URL())
	return w
}

func (w *world) open(url string, edit ...func(*substrate.Config)) *substrate.Chain {
	w.Helper()
	genesis := w.node.Genesis()
	cfg := substrate.Config{URL: url, Genesis: chain.Hash(genesis[:]), Signers: []key.Signer{w.rich, w.poor}, Poll: 5 * time.Millisecond}
	for _, e := range edit {
		e(&cfg)
	}
	c, err := substrate.New(cfg)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	return c
}

func (w *world) brief() context.Context {
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	w.Cleanup(cancel)
	return ctx
}

// named makes a call.
func (w *world) named(pallet, name string, arguments ...[]byte) chain.Call {
	w.Helper()
	n, err := substrate.NameCall(w.brief(), w.driver, pallet, name, bytes.Join(arguments, nil))
	if err != nil {
		w.Fatal(err)
	}
	return substrate.Call(n)
}

func (w *world) remark(text string) chain.Call {
	return w.named("System", "remark", scale.AppendBlob(nil, []byte(text)))
}

func to(a chain.Account) []byte { return append([]byte{0}, a...) }

func amount(v *big.Int) []byte {
	if v == nil {
		v = new(big.Int)
	}
	b, err := scale.AppendBigCompact(nil, v)
	if err != nil {
		panic(err)
	}
	return b
}

func (w *world) transfer(dest chain.Account, value *big.Int) chain.Call {
	return w.named("Balances", "transfer_keep_alive", to(dest), amount(value))
}

// tooMuch is a transfer that fails.
func (w *world) tooMuch() chain.Call {
	return w.transfer(w.poor.Account(), new(big.Int).Lsh(big.NewInt(1), 100))
}

func (w *world) batch(name string, calls ...chain.Call) chain.Call {
	list := scale.AppendCompact(nil, uint64(len(calls)))
	for _, c := range calls {
		n, err := substrate.ParseCall(c)
		if err != nil {
			w.Fatal(err)
		}
		raw, err := substrate.Encode(w.brief(), w.driver, n)
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, raw...)
	}
	return w.named("Utility", name, list)
}

func (w *world) forge(c *substrate.Chain, d chain.Draft) chain.Signed {
	w.Helper()
	s, err := substrate.Forge(w.brief(), c, d)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func raws(txs []chain.Signed) (all [][]byte) {
	for _, s := range txs {
		all = append(all, s.Bytes)
	}
	return all
}

// The driver is one like any other.
func TestExercise(t *testing.T) {
	t.Parallel()
	chaintest.Exercise(t, func(t testing.TB) chaintest.Fixture {
		t.Helper()
		w := newWorld(t)
		other := newWorld(t, func(cfg *substratetest.Config) { cfg.Name = "elsewhere" })
		rich := w.rich.Account()
		var forged atomic.Int64
		foreign := func(of *world, from chain.Account, index uint64) chain.Signed {
			return of.forge(of.driver, chain.Draft{Account: from, Index: index, Call: of.remark(fmt.Sprint("foreign ", forged.Add(1)))})
		}
		return chaintest.Fixture{
			Chain: w.driver, Down: w.open("ws://127.0.0.1:1"), Funded: rich, Poor: w.poor.Account(), Stranger: newKey(t, key.Sr25519, "stranger").Account(),
			Transfer: func(a chain.Account, value *big.Int, _ string) chain.Call { return w.transfer(a, value) },
			Bad:      w.tooMuch(), BadGas: 1, NoGas: true, NoTrial: true, NoIndex: true,
			Half: w.batch("batch", w.remark("a half"), w.tooMuch()),
			Mine: func() { w.node.Mine() },
			Seal: func(txs ...chain.Signed) {
				if _, err := w.node.Seal(raws(txs)...); err != nil {
					t.Fatal(err)
				}
			},
			Reorg: func(depth int, blocks ...[]chain.Signed) {
				all := make([][][]byte, len(blocks))
				for i, txs := range blocks {
					all[i] = raws(txs)
				}
				if err := w.node.Reorg(depth, all...); err != nil {
					t.Fatal(err)
				}
			},
			Drop:      func(h chain.Hash) { w.node.Drop([32]byte([]byte(h))) },
			Final:     w.node.Finalize,
			Forget:    w.node.Forget,
			Foreign:   func(index uint64) chain.Signed { return foreign(w, rich, index) },
			Elsewhere: func(index uint64) chain.Signed { return foreign(other, rich, index) },
			Broke:     func() chain.Signed { return foreign(w, w.poor.Account(), 0) },
			Upgrade:   func() { w.node.Upgrade(substratetest.Runtime{Spec: 101, Transaction: 2, Moved: true}) },
			Reap:      func() { w.node.Reap(string(rich)) },
			Fund: func() {
				w.node.Fund(string(rich), new(big.Int).Lsh(big.NewInt(1), 80))
				w.node.Mine()
				w.node.Pass(time.Hour) // no longer banned for having been in a block
			},
		}
	})
}
