package evm_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
	driver "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
	"github.com/conchhq/conch/sequencer/sequencertest"
	"github.com/conchhq/conch/transport/memory"
)

// purse sends from an account, each key once and in order, as long as nobody else does.
type purse struct {
	node *node
	by   account

	mu    sync.Mutex
	nonce uint64
	taken map[string]bool
}

// UnderWay implements evm.Submitter: what it knows is in a pool, and not forgotten.
func (p *purse) UnderWay(context.Context, []byte) ([]evm.Submitted, error) { return nil, nil }

// Lost implements evm.Submitter.
func (p *purse) Lost(context.Context, string) (is bool, why string, err error) { return false, "", nil }

// Heed implements evm.Submitter.
func (p *purse) Heed(func(string)) (leave func()) { return func() {} }

// Withdraw implements evm.Submitter.
func (p *purse) Withdraw(context.Context, string) error { return nil }

// Submit implements evm.Submitter.
func (p *purse) Submit(ctx context.Context, key string, call chain.Call, _ uint64) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] {
		return key, nil
	}
	id, to := new(big.Int).SetUint64(p.node.id), common.BytesToAddress(call.To)
	tx, err := types.SignNewTx(p.by.key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: p.nonce, To: &to, Gas: call.Gas, Data: call.Data, GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(100e9),
	})
	if err != nil {
		return "", err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return "", err
	}
	if err := p.node.CallContext(ctx, nil, "eth_sendRawTransaction", hexutil.Bytes(raw)); err != nil {
		return "", err
	}
	p.nonce++
	p.taken[key] = true
	return key, nil
}

// Sign implements sequencer.Keys.
func (a account) Sign(h ledger.Hash) ([]byte, error) { return a.sign(h), nil }

// P28, P33, I1, Q1, Q2: three organisations share a contract on a chain that takes blocks back now and then. Every intent
// of theirs is confirmed, and the contract says the same.
func TestNodesOnAChain(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c, all, stranger := declare(t, n, 3, 2)
	c.Life = 100
	n.fund(t, append(all, stranger)...)
	create(t, n, stranger, &c, evm.Creation)
	ctx, stop := context.WithTimeout(context.Background(), patience)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { // a chain of fast blocks
		blocks := time.NewTicker(40 * time.Millisecond)
		defer blocks.Stop()
		for i := 1; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-blocks.C:
			}
			if _ = n.CallContext(ctx, nil, "dev_mine"); i%9 == 0 { // what it has taken back returns to the pool
				_ = n.CallContext(ctx, nil, "dev_reorg", hexutil.Uint64(2), [][]hexutil.Bytes{{}, {}, {}})
			}
		}
	})
	network := memory.New(3)
	var nodes []*sequencer.Node
	var readers []*evm.Ledger
	for i, self := range all {
		followed, err := driver.New(driver.Config{URL: n.url, ChainID: n.id, Depth: c.Depth, Poll: 10 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer followed.Close()
		opened, err := evm.Open(ctx, evm.Config{
			Contract: c, Node: n, Chain: followed, Self: self.name(), Submitter: &purse{node: n, by: self, taken: map[string]bool{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		peers := map[ledger.Account]string{}
		for j, other := range all {
			if i != j {
				peers[other.name()] = fmt.Sprint(j)
			}
		}
		made, err := sequencer.New(sequencer.Config{
			Self: self.name(), Keys: self, Peers: peers, Transport: network.Join(fmt.Sprint(i)), Store: sequencertest.NewMemory(),
			Secret: sha256.Sum256([]byte{byte(i)}), Tick: 10 * time.Millisecond,
			Contracts: []sequencer.Contract{{Declared: c, Rules: notes.New(all[0].name()), Scheme: evm.Scheme{}, Ledger: opened, NudgeAfter: time.Second}},
		})
		if err != nil {
			t.Fatal(err)
		}
		nodes, readers = append(nodes, made), append(readers, opened)
		running.Go(func() { _ = made.Run(ctx) })
	}
	intents := map[string]ledger.Intent{}
	hand := func(by int, key, request string) {
		s, err := nodes[by].Submit(ctx, c.Address, key, []byte(request), 0)
		if err != nil {
			t.Fatal(err)
		}
		intents[key] = ledger.Intent{Owner: all[by].name(), Sequence: s}
	}
	hand(0, "funds", `{"issue": {"to": "office", "amount": 100}}`)
	for i := range 12 {
		hand(i%3, fmt.Sprint("payment ", i), fmt.Sprintf(`{"pay": {"from": "office", "to": "desk-%d", "amount": %d}}`, i%2, 1+i%5))
	}
	for i := range 12 {
		key := fmt.Sprint("payment ", i)
		result, err := nodes[i%3].Wait(ctx, c.Address, key)
		if err != nil || !result.Confirmed {
			t.Fatalf("%s ends as %+v, %v; want it confirmed", key, result, err)
		}
		final, err := readers[(i+1)%3].Final(ctx, []ledger.Intent{intents[key]}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if assembled, _, is := final.Landed(intents[key]); !is || assembled != result.Assembled {
			t.Errorf("%s: the contract has %v, %v; its user was told %v", key, assembled, is, result.Assembled)
		}
	}
}
