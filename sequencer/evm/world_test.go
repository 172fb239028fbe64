package evm_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"go.uber.org/goleak"

	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/internal/ledgertest"
	"github.com/conchhq/conch/sequencer/ledger"
)

const patience = 2 * time.Minute

// Most tests wait for a node's answers.
func TestMain(m *testing.M) {
	runtest.MostlyWait()
	goleak.VerifyTestMain(m)
}

// node is a chain that makes the blocks that a test wants.
type node struct {
	*rpc.Client
	url string
	id  uint64
}

func startNode(t testing.TB, flags ...string) *node {
	t.Helper()
	program := evmtest.Program(t, filepath.Join("..", "..", "chain", "evm", "cmd", "conch-devnode"))
	started := evmtest.StartNode(t, program, append([]string{"--finality", "0"}, flags...)...)
	client, err := rpc.Dial(started.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &node{client, started.HTTP, started.ChainID}
}

func (n *node) call(t testing.TB, into any, method string, args ...any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := n.CallContext(ctx, into, method, args...); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

// account is an account of a test.
type account struct{ key *ecdsa.PrivateKey }

func named(t testing.TB, name string) account {
	t.Helper()
	seed := sha256.Sum256([]byte(name))
	key, err := crypto.ToECDSA(seed[:])
	if err != nil {
		t.Fatal(err)
	}
	return account{key}
}

func (a account) address() common.Address { return crypto.PubkeyToAddress(a.key.PublicKey) }

func (a account) name() ledger.Account { at := a.address(); return ledger.Account(at[:]) }

// sign signs as wallets do: v is 27 or 28.
func (a account) sign(h ledger.Hash) []byte {
	s, err := crypto.Sign(h[:], a.key)
	if err != nil {
		panic(err)
	}
	s[64] += 27
	return s
}

func (a account) member() ledgertest.Member {
	return ledgertest.Member{Account: a.name(), Sign: a.sign}
}

// mostGas of one transaction (EIP-7825).
const mostGas = 1 << 24

// transaction signs a transaction, as the account's n-th from its next nonce on.
func (n *node) transaction(t testing.TB, a account, later uint64, to *common.Address, data []byte) hexutil.Bytes {
	t.Helper()
	return n.limited(t, a, later, to, data, mostGas)
}

func (n *node) limited(t testing.TB, a account, later uint64, to *common.Address, data []byte, gas uint64) hexutil.Bytes {
	t.Helper()
	var nonce hexutil.Uint64
	n.call(t, &nonce, "eth_getTransactionCount", a.address(), "latest")
	tx, err := types.SignNewTx(a.key, types.LatestSignerForChainID(new(big.Int).SetUint64(n.id)), &types.DynamicFeeTx{
		ChainID: new(big.Int).SetUint64(n.id), Nonce: uint64(nonce) + later, To: to, Gas: gas, Data: data,
		GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(100e9),
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// receipt is what a transaction did.
type receipt struct {
	Status          hexutil.Uint64
	GasUsed         hexutil.Uint64
	ContractAddress *common.Address
	Logs            []types.Log
}

// seal makes a block of transactions and returns what they did.
func (n *node) seal(t testing.TB, raw ...hexutil.Bytes) (receipts []receipt) {
	t.Helper()
	if raw == nil {
		raw = []hexutil.Bytes{}
	}
	var hash common.Hash
	n.call(t, &hash, "dev_block", raw)
	n.call(t, &receipts, "eth_getBlockReceipts", hash)
	if len(receipts) != len(raw) {
		t.Fatalf("the block has %d of %d transactions", len(receipts), len(raw))
	}
	return receipts
}

func (n *node) fund(t testing.TB, all ...account) {
	t.Helper()
	for _, a := range all {
		n.call(t, nil, "dev_fund", a.address(), hexutil.Uint64(1e12)) // gwei
	}
}

// place is a contract on a chain, as the suite of ledgers sees it.
type place struct {
	t        *testing.T
	node     *node
	at       common.Address
	contract ledger.Contract
	by       map[ledger.Account]account
	reader   *evm.Reader
}

// declare has members with funds, and an account that is none.
func declare(t testing.TB, n *node, members, needed int) (c ledger.Contract, all []account, stranger account) {
	t.Helper()
	stranger = named(t, "stranger")
	c = ledger.Contract{Chain: n.id, Needed: needed, Range: 50, Depth: 3, Life: 20, Domain: "notes/1"}
	for i := range members {
		one := named(t, fmt.Sprint("member ", i))
		all = append(all, one)
		c.Members, c.Committee = append(c.Members, one.name()), append(c.Committee, one.name())
	}
	return c, all, stranger
}

// create puts a contract on the chain.
func create(t testing.TB, n *node, by account, c *ledger.Contract, compiled func(ledger.Contract) ([]byte, error)) (at common.Address, gas uint64) {
	t.Helper()
	data, err := compiled(*c)
	if err != nil {
		t.Fatal(err)
	}
	done := n.seal(t, n.transaction(t, by, 0, nil, data))[0]
	if done.Status != 1 || done.ContractAddress == nil {
		t.Fatalf("the contract was not created: %+v", done)
	}
	c.Address = done.ContractAddress.Hex()
	return *done.ContractAddress, uint64(done.GasUsed)
}

// opened creates a contract and checks it.
func opened(t *testing.T, n *node, members, needed int) (ledgertest.Fixture, *place) {
	t.Helper()
	c, all, stranger := declare(t, n, members, needed)
	p := &place{t: t, node: n, by: map[ledger.Account]account{stranger.name(): stranger}}
	p.at, _ = create(t, n, stranger, &c, evm.Creation)
	p.contract = c
	f := ledgertest.Fixture{Contract: c, Scheme: evm.Scheme{}, Stranger: stranger.member(), Ledger: p}
	for _, a := range all {
		f.Members = append(f.Members, a.member())
		p.by[a.name()] = a
	}
	var err error
	if p.reader, err = evm.Check(t.Context(), n, c); err != nil {
		t.Fatal(err)
	}
	return f, p
}

// Block implements ledgertest.Ledger.
func (p *place) Block(sent ...ledger.Sent) (facts []ledger.Fact) {
	p.t.Helper()
	var raw []hexutil.Bytes
	count := map[ledger.Account]uint64{}
	for _, tx := range sent {
		data, err := evm.Calldata(tx)
		if err != nil {
			p.t.Fatal(err)
		}
		raw = append(raw, p.node.limited(p.t, p.by[tx.By], count[tx.By], &p.at, data, evm.Gas(p.contract, tx, data)))
		count[tx.By]++
	}
	var logs []types.Log
	for i, r := range p.node.seal(p.t, raw...) {
		if r.Status != 1 {
			p.t.Fatalf("transaction %d failed: %+v", i, r)
		}
		logs = append(logs, r.Logs...)
	}
	var head struct{ Hash common.Hash }
	p.node.call(p.t, &head, "eth_getBlockByNumber", "latest", false)
	facts, err := evm.Facts(p.at, head.Hash, logs)
	if err != nil {
		p.t.Fatal(err)
	}
	return facts
}

func (p *place) head(intents []ledger.Intent, states []ledger.StateID) ledger.View {
	p.t.Helper()
	v, err := p.reader.At(p.t.Context(), "latest", intents, states)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// Number implements ledger.View.
func (p *place) Number() uint64 { return p.head(nil, nil).Number() }

// Landed implements ledger.View.
func (p *place) Landed(in ledger.Intent) (assembled, payload ledger.Hash, is bool) {
	return p.head([]ledger.Intent{in}, nil).Landed(in)
}

// Unspent implements ledger.View.
func (p *place) Unspent(s ledger.StateID) bool { return p.head(nil, []ledger.StateID{s}).Unspent(s) }

// street is a chain of several contracts. One test uses it at a time: each counts its blocks.
type street struct {
	*node
	sync.Mutex
}

// open has a test wait for the chain, and gives it a contract there.
func (s *street) open(t *testing.T, members, needed int) ledgertest.Fixture {
	s.Lock()
	t.Cleanup(s.Unlock)
	f, _ := opened(t, s.node, members, needed)
	return f
}

func newStreet(t testing.TB) *street {
	t.Helper()
	n := startNode(t)
	_, all, stranger := declare(t, n, 6, 1)
	n.fund(t, append(all, stranger)...)
	return &street{node: n}
}

// hashOf is a hash of anything.
func hashOf(parts ...any) ledger.Hash { return sha256.Sum256([]byte(fmt.Sprint(parts...))) }

func sorted(states []ledger.StateID) []ledger.StateID {
	slices.SortFunc(states, ledger.StateID.Compare)
	return states
}
