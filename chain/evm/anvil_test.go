package evm_test

import (
	"context"
	"math/big"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/internal/proctest"
)

// anvilKey is the first of anvil's public keys.
const anvilKey = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

// startAnvil runs a second client: CONCH_ANVIL, or anvil on the PATH. scripts/anvil.sh installs it.
func startAnvil(t testing.TB) (url string, call func(result any, method string, args ...any)) {
	t.Helper()
	path := os.Getenv("CONCH_ANVIL")
	if path == "" {
		found, err := exec.LookPath("anvil")
		if err != nil {
			t.Skip("anvil is not installed: scripts/anvil.sh installs it from npm, CONCH_ANVIL names it")
		}
		path = found
	}
	address := keptAddress(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "--port", port, "--no-mining", "--silent", "--order", "fifo")
	cmd.Stderr = os.Stderr
	proctest.Start(t, cmd)
	url = "http://" + address
	client, err := rpc.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for client.CallContext(ctx, new(string), "eth_chainId") != nil {
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatalf("anvil did not answer within %v", patience)
		}
	}
	return url, func(result any, method string, args ...any) {
		t.Helper()
		if err := client.CallContext(ctx, result, method, args...); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
	}
}

// TestExerciseAnvil runs the suite on a client other than geth.
func TestExerciseAnvil(t *testing.T) {
	chaintest.Exercise(t, func(t testing.TB) chaintest.Fixture {
		url, call := startAnvil(t)
		key, err := crypto.HexToECDSA(anvilKey)
		if err != nil {
			t.Fatal(err)
		}
		poor := newKey(t)
		rich, broke := evm.NewKeystore(key), evm.NewKeystore(poor)
		const id = 31337
		signers := []evm.Signer{rich, broke}
		return chaintest.Fixture{
			Chain:    open(t, evm.Config{URL: url, ChainID: id, Signers: signers, Depth: 2}),
			Down:     open(t, evm.Config{URL: unusedAddress(t, url), ChainID: id, Signers: signers}),
			Funded:   rich.Account(),
			Poor:     broke.Account(),
			Stranger: chain.Account(common.HexToAddress("0x5747").Bytes()),
			Bad:      chain.Call{Data: []byte{0xfe}}, BadGas: 100_000,
			Mine:      func() { call(nil, "evm_mine") },
			Drop:      func(h chain.Hash) { call(nil, "anvil_dropTransaction", h) },
			Final:     func() { call(nil, "anvil_mine", "0x2") },
			Foreign:   func(index uint64) chain.Signed { return foreign(t, key, id, index) },
			Elsewhere: func(index uint64) chain.Signed { return foreign(t, key, id+1, index) },
			Broke:     func() chain.Signed { return foreign(t, poor, id, 0) },
		}
	})
}

// TestAnvilTexts gets the errors from anvil that the table of phrases has to know.
func TestAnvilTexts(t *testing.T) {
	url, call := startAnvil(t)
	key, err := crypto.HexToECDSA(anvilKey)
	if err != nil {
		t.Fatal(err)
	}
	const id = 31337
	c := open(t, evm.Config{URL: url, ChainID: id})
	say := func(what string, want chain.Verdict, raw []byte) {
		t.Helper()
		o := c.Submit(t.Context(), []chain.Signed{{Hash: hashOf(raw), Bytes: raw}})[0]
		t.Logf("%-22s %-16v %s", what, o.Verdict, o.Text)
		if o.Verdict != want {
			t.Errorf("%s: got %v (%s), want %v", what, o.Verdict, o.Text, want)
		}
	}
	sign := func(change func(*types.DynamicFeeTx)) []byte {
		tx := &types.DynamicFeeTx{
			ChainID: common.Big1, To: &common.Address{1}, Gas: 21_000, GasTipCap: gwei(1), GasFeeCap: gwei(10), Value: gwei(1),
		}
		tx.ChainID = gwei(0).SetInt64(id)
		change(tx)
		signed, err := types.SignNewTx(key, types.LatestSignerForChainID(tx.ChainID), tx)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := signed.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	same := sign(func(*types.DynamicFeeTx) {})
	say("accepted", chain.Accepted, same)
	say("again", chain.Known, same)
	say("replacement", chain.Underpriced, sign(func(tx *types.DynamicFeeTx) { tx.Gas++ }))
	call(nil, "evm_mine")
	say("same bytes, mined", chain.IndexTooLow, same)
	say("gas", chain.Unfit, sign(func(tx *types.DynamicFeeTx) { tx.Nonce, tx.Gas = 1, 1<<40 }))
	say("little gas", chain.Unfit, sign(func(tx *types.DynamicFeeTx) { tx.Nonce, tx.Gas = 1, 1 }))
	say("value", chain.NoFunds, sign(func(tx *types.DynamicFeeTx) { tx.Nonce, tx.Value = 1, gwei(1<<60) }))
	say("tip above the price", chain.Invalid, sign(func(tx *types.DynamicFeeTx) { tx.Nonce, tx.GasTipCap = 1, gwei(100) }))
	say("another chain", chain.Refused, sign(func(tx *types.DynamicFeeTx) { tx.Nonce, tx.ChainID = 1, gwei(1) }))
	say("nonsense", chain.Invalid, []byte{2, 3})
}

func hashOf(raw []byte) chain.Hash {
	return chain.Hash(crypto.Keccak256(raw))
}

func gwei(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(1e9)) }
