package evm_test

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"
	"go.uber.org/goleak"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/chain/evm/internal/providertest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

const patience = 2 * time.Minute

// Most tests wait for blocks of a node.
func TestMain(m *testing.M) {
	runtest.MostlyWait()
	goleak.VerifyTestMain(m)
}

// binary builds the node, once.
func binary(t testing.TB) string {
	t.Helper()
	return providertest.Program(t, filepath.Join("cmd", "conch-devnode"))
}

// devnode is a running conch-devnode.
type devnode struct {
	HTTP       string `json:"http"`
	WS         string `json:"ws"`
	ChainID    uint64 `json:"chain_id"`
	PrivateKey string `json:"private_key"`

	t    testing.TB
	life *proctest.Process
	rpc  *rpc.Client
	key  *ecdsa.PrivateKey
}

func startNode(t testing.TB, args ...string) *devnode {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"--listen", "127.0.0.1:0", "--parent", strconv.Itoa(os.Getpid())}, args...)...)
	cmd.Stderr = os.Stderr
	n := &devnode{t: t, life: proctest.Listen(t, cmd)}
	line := n.life.Says(patience, "")
	if err := json.Unmarshal([]byte(line), n); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var err error
	if n.rpc, err = rpc.Dial(n.HTTP); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.rpc.Close)
	n.key, err = crypto.HexToECDSA(n.PrivateKey[2:])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// kill ends the node by SIGKILL.
func (n *devnode) kill() { n.end(syscall.SIGKILL) }

func (n *devnode) end(with os.Signal) {
	n.t.Helper()
	n.life.Signal(with)
	n.life.Wait(patience)
}

func (n *devnode) call(result any, method string, args ...any) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := n.rpc.CallContext(ctx, result, method, args...); err != nil {
		n.t.Fatalf("%s: %v", method, err)
	}
}

func (n *devnode) mine() { n.call(nil, "dev_mine") }

func raws(txs []chain.Signed) []hexutil.Bytes {
	list := make([]hexutil.Bytes, len(txs))
	for i, s := range txs {
		list[i] = hexutil.Bytes(s.Bytes)
	}
	return list
}

// foreign signs with the key, without the driver.
func foreign(t testing.TB, key *ecdsa.PrivateKey, chainID, index uint64) chain.Signed {
	t.Helper()
	to := common.HexToAddress("0xf0e1")
	id := new(big.Int).SetUint64(chainID)
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(id), &types.DynamicFeeTx{
		ChainID: id, Nonce: index, To: &to, Value: big.NewInt(1), Gas: 21_000,
		GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(10e9),
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	h, a := tx.Hash(), crypto.PubkeyToAddress(key.PublicKey)
	return chain.Signed{Account: chain.Account(a[:]), Index: index, Hash: chain.Hash(h[:]), Bytes: raw}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := crypto.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func open(t testing.TB, cfg evm.Config) *evm.Chain {
	t.Helper()
	if cfg.Poll == 0 {
		cfg.Poll = 20 * time.Millisecond
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = patience
	}
	c, err := evm.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// fixtureOf returns a complete fixture.
func fixtureOf(t testing.TB, n *devnode, url string) chaintest.Fixture {
	poor := newKey(t)
	rich, broke := evm.NewKeystore(n.key), evm.NewKeystore(poor)
	return chaintest.Fixture{
		Chain:    open(t, evm.Config{URL: url, ChainID: n.ChainID, Signers: []evm.Signer{rich, broke}}),
		Down:     open(t, evm.Config{URL: unusedAddress(t, url), ChainID: n.ChainID, Signers: []evm.Signer{rich, broke}}),
		Funded:   rich.Account(),
		Poor:     broke.Account(),
		Stranger: chain.Account(common.HexToAddress("0x5747").Bytes()),
		Bad:      chain.Call{Data: []byte{0xfe}}, BadGas: 100_000, // creates a contract by an invalid opcode
		Mine: n.mine,
		Seal: func(txs ...chain.Signed) { n.call(nil, "dev_block", raws(txs)) },
		Reorg: func(depth int, blocks ...[]chain.Signed) {
			list := [][]hexutil.Bytes{}
			for _, b := range blocks {
				list = append(list, raws(b))
			}
			n.call(nil, "dev_reorg", hexutil.Uint64(depth), list)
		},
		Drop:      func(h chain.Hash) { n.call(nil, "dev_drop", []chain.Hash{h}) },
		Final:     func() { n.mine(); n.mine(); n.call(nil, "dev_finalize") }, // two blocks on top: Config.MinDepth
		Foreign:   func(index uint64) chain.Signed { return foreign(t, n.key, n.ChainID, index) },
		Elsewhere: func(index uint64) chain.Signed { return foreign(t, n.key, n.ChainID+1, index) },
		Broke:     func() chain.Signed { return foreign(t, poor, n.ChainID, 0) },
	}
}
