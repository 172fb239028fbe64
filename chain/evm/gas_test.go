package evm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/chaintest"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/internal/proctest"
)

// picky is a node with set answers to estimates.
type picky struct {
	says    any // answer for a call with data
	once    any // first answer for a call with data; nil: as says
	others  any // answer for a call without data; nil: 21000
	syncing any
	asked   int
}

func (n *picky) say(method string, params []json.RawMessage) any {
	switch {
	case method == "eth_syncing" && n.syncing != nil:
		return n.syncing
	case method == "eth_estimateGas" && strings.Contains(string(params[0]), "input"):
		if n.asked++; n.asked == 1 && n.once != nil {
			return n.once
		}
		return n.says
	case method == "eth_estimateGas" && n.others != nil:
		return n.others
	case method == "eth_estimateGas":
		return "0x5208"
	}
	return healthy(method, params)
}

// A filler has its own gas, not that of the call; after an error of the node that of a transfer.
func TestAFillerHasItsOwnGas(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(newKey(t))
	for name, c := range map[string]struct {
		says any
		gas  uint64
		want error
	}{
		"a transfer":                 {"0x5208", 21_000, nil},
		"less than a transfer":       {"0x2ee0", 21_000, nil},
		"more than a transfer":       {hexutil.Uint64(100_000), 120_000, nil},
		"more than a block has":      {hexutil.Uint64(1 << 40), 30_000_000, nil},
		"an account that reverts":    {fault{3, "execution reverted"}, 21_000, nil},
		"a client without estimates": {errors.New("the method eth_estimateGas does not exist"), 21_000, nil},
		"too many requests":          {errors.New("too many requests"), 0, chain.ErrAnswer},
		"no answer":                  {errNoAnswer, 0, chain.ErrUnreachable},
	} {
		for _, call := range []uint64{0, 1, 21_000, 1 << 50} {
			t.Run(fmt.Sprint(name, " ", call), func(t *testing.T) {
				t.Parallel()
				node := picky{others: c.says}
				driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, node.say), Signers: []evm.Signer{own}})
				all, err := driver.Prepare(t.Context(), []chain.Draft{{Account: own.Account(), Filler: true, Call: chain.Call{Gas: call}}})
				if err == nil {
					err = all[0].Err
				}
				if !errors.Is(err, c.want) || err == nil && all[0].Gas != c.gas {
					t.Errorf("got %+v, %v, want %d gas, %v", all, err, c.gas, c.want)
				}
			})
		}
	}
}

// A call with less gas than any chain takes is refused, unless an earlier attempt had as little.
func TestLeastGas(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(newKey(t))
	driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, new(picky).say), Signers: []evm.Signer{own}})
	to := make([]byte, 20)
	for name, c := range map[string]struct {
		call  chain.Call
		least uint64
	}{
		"a transfer":   {chain.Call{To: to}, 21_000},
		"with data":    {chain.Call{To: to, Data: []byte{0, 1, 0, 2, 3}}, 21_000 + 2*4 + 3*16},
		"a contract":   {chain.Call{Data: []byte{0xfe}}, 53_000 + 16},
		"an empty one": {chain.Call{}, 53_000},
	} {
		if got := evm.LeastGas(c.call); got != c.least {
			t.Errorf("%s: got least gas %d, want %d", name, got, c.least)
		}
		for gas, want := range map[uint64]error{c.least: nil, c.least - 1: chain.ErrCall, 1: chain.ErrCall} {
			d := chain.Draft{Account: own.Account(), Call: c.call}
			d.Call.Gas = gas
			raised := d
			all, err := driver.Prepare(t.Context(), []chain.Draft{d})
			if err != nil || !errors.Is(all[0].Err, want) || want == nil && all[0].Err != nil {
				t.Errorf("%s with %d gas: got %+v, %v, want %v", name, gas, all, err, want)
			}
			raised.Above = chain.Fee{Max: gwei(1), Tip: gwei(1)}
			if all, err = driver.Prepare(t.Context(), []chain.Draft{raised}); err != nil || all[0].Err != nil || all[0].Gas != gas {
				t.Errorf("%s, raised, with %d gas: got %+v, %v, want that gas and no error", name, gas, all, err)
			}
		}
	}
}

// Since Prague a call's data has a least gas of its own (EIP-7623). A chain with those rules says so in its blocks, and less is
// refused before there is a nonce.
func TestTheFloorOfData(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(newKey(t))
	call := chain.Call{To: make([]byte, 20), Data: append(bytes.Repeat([]byte{1}, 100), make([]byte, 100)...)}
	const intrinsic, floor = 21_000 + 100*16 + 100*4, 21_000 + 100*40 + 100*10
	for _, prague := range []bool{false, true} {
		driver := open(t, evm.Config{ChainID: 1337, Signers: []evm.Signer{own}, URL: serve(t, func(method string, params []json.RawMessage) any {
			said := healthy(method, params)
			if block, is := said.(map[string]any); is && prague && block["baseFeePerGas"] != nil {
				block["requestsHash"] = "0x" + strings.Repeat("e3", 32)
			}
			return said
		})})
		for gas, refused := range map[uint64]bool{intrinsic: prague, floor - 1: prague, floor: false} {
			d := chain.Draft{Account: own.Account(), Call: call}
			d.Call.Gas = gas
			all, err := driver.Prepare(t.Context(), []chain.Draft{d})
			if err != nil || errors.Is(all[0].Err, chain.ErrCall) != refused {
				t.Errorf("Prague %v, %d gas: got %v, %v, want it refused %v", prague, gas, all, err, refused)
			}
		}
	}
}

// What no node takes is refused before it has a nonce, with any gas limit and with none: once it has one, a transaction that
// does nothing has to be paid for it. The largest that is not refused is no larger than what pools take.
func TestOversize(t *testing.T) {
	t.Parallel()
	own := evm.NewKeystore(newKey(t))
	driver := open(t, evm.Config{ChainID: 1337, URL: serve(t, (&picky{says: "0xf4240"}).say), Signers: []evm.Signer{own}})
	to := make([]byte, 20)
	large := chain.Call{To: to, Data: make([]byte, 128<<10-256), Value: new(big.Int).SetBit(new(big.Int), 59, 1)}
	for name, c := range map[string]struct {
		call chain.Call
		want error
	}{
		"128 KiB with all":      {large, nil},
		"a byte more":           {chain.Call{To: to, Data: make([]byte, 128<<10-255)}, chain.ErrCall},
		"200 KiB":               {chain.Call{To: to, Data: make([]byte, 200<<10)}, chain.ErrCall},
		"a contract of 48 KiB":  {chain.Call{Data: make([]byte, 48<<10)}, nil},
		"a contract with more":  {chain.Call{Data: make([]byte, 48<<10+1)}, chain.ErrCall},
		"no contract of 48 KiB": {chain.Call{To: to, Data: make([]byte, 48<<10+1)}, nil},
	} {
		for _, gas := range []uint64{0, 10_000_000} {
			d := chain.Draft{Account: own.Account(), Index: 1 << 60, Call: c.call}
			d.Call.Gas = gas
			all, err := driver.Prepare(t.Context(), []chain.Draft{d})
			if err != nil || !errors.Is(all[0].Err, c.want) || (all[0].Err == nil) != (c.want == nil) {
				t.Errorf("%s with %d gas: got %v, %v, want %v", name, gas, all, err, c.want)
				continue
			}
			if n := len(all[0].Bytes); n > 128<<10 {
				t.Errorf("%s: signed with %d bytes, which pools refuse", name, n)
			}
			d.Above, d.Call.Gas = chain.Fee{Max: big.NewInt(1), Tip: big.NewInt(1)}, 10_000_000 // one that was signed before this was refused is replaced
			if all, err = driver.Prepare(t.Context(), []chain.Draft{d}); err != nil || all[0].Err != nil {
				t.Errorf("%s, in the place of another: got %v, %v", name, all, err)
			}
		}
	}
}

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
