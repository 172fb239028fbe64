package evm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// logOf is a log as the contract writes it.
func logOf(name string, index uint, words ...common.Hash) types.Log {
	_, events := evm.Signatures()
	l := types.Log{Address: common.Address{1}, BlockHash: common.Hash{2}, Index: index}
	l.Topics = []common.Hash{events[name], common.BytesToHash([]byte("aaaaaaaaaaaaaaaaaaaa")), common.BytesToHash([]byte("lineage.counter."))}
	for _, w := range words {
		l.Data = append(l.Data, w[:]...)
	}
	return l
}

// What the contract writes is a fact, in its order; everything else is an error.
func TestFacts(t *testing.T) {
	t.Parallel()
	payload, assembled, missing := common.Hash{3}, common.Hash{4}, common.BytesToHash([]byte{byte(ledger.Missing)})
	good := func() []types.Log {
		return []types.Log{logOf("Skipped", 4, payload, assembled, missing), logOf("Landed", 7, payload, assembled), logOf("Cancelled", 8)}
	}
	in := ledger.Intent{Owner: "aaaaaaaaaaaaaaaaaaaa", Sequence: ledger.Sequence{Lineage: 0x6c696e656167652e, Counter: 0x636f756e7465722e}}
	want := []ledger.Fact{
		{Intent: in, Payload: ledger.Hash(payload), Assembled: ledger.Hash(assembled), Skipped: ledger.Missing},
		{Intent: in, Payload: ledger.Hash(payload), Assembled: ledger.Hash(assembled)},
		{Intent: in},
	}
	if got, err := evm.Facts(common.Address{1}, common.Hash{2}, good()); err != nil || !slices.Equal(got, want) {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	for name, spoil := range map[string]func([]types.Log){
		"another contract":    func(l []types.Log) { l[1].Address[0]++ },
		"another block":       func(l []types.Log) { l[1].BlockHash[0]++ },
		"taken back":          func(l []types.Log) { l[1].Removed = true },
		"out of order":        func(l []types.Log) { l[1].Index = 9 },
		"one twice":           func(l []types.Log) { l[1] = l[0] },
		"another event":       func(l []types.Log) { l[1].Topics[0][0]++ },
		"no topics":           func(l []types.Log) { l[1].Topics = nil },
		"a topic too few":     func(l []types.Log) { l[1].Topics = l[1].Topics[:2] },
		"a topic too many":    func(l []types.Log) { l[1].Topics = append(l[1].Topics, payload) },
		"a long owner":        func(l []types.Log) { l[1].Topics[1][11] = 1 },
		"a long sequence":     func(l []types.Log) { l[1].Topics[2][15] = 1 },
		"short":               func(l []types.Log) { l[1].Data = l[1].Data[:63] },
		"long":                func(l []types.Log) { l[1].Data = append(l[1].Data, 0) },
		"a cancelled payload": func(l []types.Log) { l[2].Data = payload[:] },
		"no reason":           func(l []types.Log) { l[0].Data[95] = 0 },
		"a new reason":        func(l []types.Log) { l[0].Data[95] = byte(ledger.Missing) + 1 },
		"a long reason":       func(l []types.Log) { l[0].Data[64] = 1 },
		"an attempt unnamed":  func(l []types.Log) { clear(l[1].Data[32:]) },
	} {
		logs := good()
		spoil(logs)
		if got, err := evm.Facts(common.Address{1}, common.Hash{2}, logs); !errors.Is(err, evm.ErrLog) {
			t.Errorf("%s: got %+v, %v; want ErrLog", name, got, err)
		}
	}
}

// A chain refuses a transaction that has more gas than its blocks, and the sequencer does not hear of that: its entries
// would wait until their grants are over, and then again in the next batch. One that is too large alone takes no others
// with it.
func TestSmallBlocks(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	small := liar{at.node, func(method string, _ []any, answer json.RawMessage) json.RawMessage {
		var b map[string]any
		if method != "eth_getBlockByNumber" || json.Unmarshal(answer, &b) != nil || b == nil {
			return answer
		}
		b["gasLimit"] = "0x2dc6c0" // 3,000,000
		out, err := json.Marshal(b)
		if err != nil {
			t.Error(err)
		}
		return out
	}}
	k, by := &desk{}, named(t, "stranger")
	r := newReader(t, at, k)
	r.stop()
	l, err := evm.Open(t.Context(), evm.Config{Contract: at.contract, Self: by.name(), Chain: r.chain, Submitter: k, Node: small})
	if err != nil {
		t.Fatal(err)
	}
	var entries []ledger.Entry
	for i := range 50 {
		e := ledger.Entry{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: by.name(), Sequence: ledger.Sequence{Counter: uint64(i)}}}}
		if e.Outputs = make([]ledger.Hash, 4); i == 20 {
			e.Outputs = make([]ledger.Hash, 250)
		}
		entries = append(entries, e)
	}
	if err := l.Submit(t.Context(), ledger.Sent{By: by.name(), Entries: entries}); err != nil {
		t.Fatal(err)
	}
	large := 0
	for _, c := range k.calls {
		if c.Gas > 3_000_000 {
			large++
			if alone, err := evm.Calldata(ledger.Sent{Entries: entries[20:21]}); err != nil || !bytes.Equal(alone, c.Data) {
				t.Errorf("a transaction of several entries has %d gas, and a block has less", c.Gas)
			}
		}
	}
	if large != 1 || len(k.calls) < 4 {
		t.Errorf("%d transactions, of which %d are too large; want the one entry that is", len(k.calls), large)
	}
}

// Q18: a key of one call is never that of another one: the submitter would refuse the second, and everything behind it
// would wait for ever. A later version may compute another limit for the same entries.
func TestKeys(t *testing.T) {
	t.Parallel()
	one := chain.Call{To: []byte("a"), Data: []byte("data"), Gas: 7}
	keys := map[string]bool{evm.Key(one): true}
	for _, change := range []func(*chain.Call){
		func(c *chain.Call) { c.To = []byte("b") }, func(c *chain.Call) { c.Data = []byte("date") }, func(c *chain.Call) { c.Gas++ },
	} {
		other := one
		change(&other)
		keys[evm.Key(other)] = true
	}
	if len(keys) != 4 {
		t.Errorf("four calls have %d keys", len(keys))
	}
}

// Q2: a rewind below a final block is never told, though many final blocks are remembered: the machines would refuse it and
// go on with what they had, and an endpoint on a dead branch would be believed.
func TestNoRewindBelowFinal(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		s := newStreet(t)
		_, at := opened(t, s.node, 3, 2)
		c := &cancels{at: at, owner: named(t, "member 0")}
		c.block()
		r := newReader(t, at, nobody{})
		for range 8 {
			fact := c.block()
			r.await(at.Number(), fact)
		}
		r.stop()
		leave := func() {
			at.node.call(t, nil, "dev_reorg", hexutil.Uint64(at.contract.Depth+2), [][]hexutil.Bytes{{}, {}, {}, {}, {}, {}, {}})
		}
		ctx, stop := context.WithTimeout(t.Context(), patience)
		last, top := r.last(), r.last()
		if live {
			at.Block()
		} else {
			leave()
		}
		err := r.ledger.Follow(ctx, last, func(in any) {
			switch back, is := in.(ledger.Rewind); {
			case live && !is:
				live = false
				top++
				leave()
			case !is || top == last || back.To+at.contract.Depth < top:
				t.Errorf("told %+v", in)
				stop()
			}
		})
		if !errors.Is(err, ledger.ErrDeep) {
			t.Errorf("got error %v, want ErrDeep", err)
		}
		stop()
	}
}

// An address that an operator has written in any case is the one that the contract's declaration is compared with.
func TestAnAddressHasOneSpelling(t *testing.T) {
	t.Parallel()
	made := evm.AddressOf(ledger.Account(strings.Repeat("\xa1", 20)), 7)
	for _, text := range []string{made, strings.ToLower(made), "0x" + strings.ToUpper(made[2:])} {
		if got := evm.Spelled(text); got != made {
			t.Errorf("%s is spelled %s, want %s", text, got, made)
		}
	}
	if got := evm.Spelled("0x12"); got != "0x12" {
		t.Errorf("what is no address became %s", got)
	}
}

// wallet hashes a structure as wallets and remote signers do, with a library that knows nothing of this package.
func wallet(t *testing.T, c ledger.Contract, primary string, fields []apitypes.Type, message map[string]any) ledger.Hash {
	t.Helper()
	hash, _, err := apitypes.TypedDataAndHash(apitypes.TypedData{
		Types: apitypes.Types{
			"EIP712Domain": {{Name: "name", Type: "string"}, {Name: "version", Type: "string"}, {Name: "chainId", Type: "uint256"}, {Name: "verifyingContract", Type: "address"}},
			primary:        fields,
		},
		PrimaryType: primary,
		Domain:      apitypes.TypedDataDomain{Name: "conch ledger", Version: "1", ChainId: math.NewHexOrDecimal256(int64(c.Chain)), VerifyingContract: c.Address},
		Message:     message,
	})
	if err != nil {
		t.Fatal(err)
	}
	return ledger.Hash(hash)
}

// What a node signs is what a wallet shows for the same words.
func TestAWalletHashesTheSame(t *testing.T) {
	t.Parallel()
	owner := named(t, "a")
	c := ledger.Contract{Chain: 1337, Address: "0x00000000000000000000000000000000C0fFee00"}
	in := ledger.Intent{Owner: owner.name(), Sequence: ledger.Sequence{Lineage: 0x0102030405060708, Counter: 9}}
	const sequence = "0x1020304050607080000000000000009"
	a := ledger.Attempt{Intent: in, Payload: hashOf("p"), Inputs: []ledger.StateID{{1}, {2}}, Outputs: []ledger.Hash{{3}}, Data: []byte("data of the domain")}
	list := func(all ...[32]byte) (out []any) {
		for _, one := range all {
			out = append(out, hexutil.Encode(one[:]))
		}
		return out
	}
	if got, want := (evm.Scheme{}).Assembled(c, a), wallet(t, c, "Attempt", []apitypes.Type{
		{Name: "owner", Type: "address"}, {Name: "sequence", Type: "uint128"}, {Name: "payload", Type: "bytes32"}, {Name: "inputs", Type: "bytes32[]"},
		{Name: "reads", Type: "bytes32[]"}, {Name: "outputs", Type: "bytes32[]"}, {Name: "data", Type: "bytes"},
	}, map[string]any{
		"owner": owner.address().Hex(), "sequence": sequence, "payload": a.Payload.String(), "inputs": list([32]byte{1}, [32]byte{2}),
		"reads": []any{}, "outputs": list([32]byte{3}), "data": hexutil.Encode(a.Data),
	}); got != want {
		t.Errorf("an attempt is %v, and to a wallet %v", got, want)
	}
	g := ledger.Grant{Assembled: hashOf("a"), Coordinator: owner.name(), Delegation: hashOf("d"), ValidUntil: 77}
	if got, want := (evm.Scheme{}).Granted(c, g), wallet(t, c, "Grant", []apitypes.Type{
		{Name: "assembled", Type: "bytes32"}, {Name: "coordinator", Type: "address"}, {Name: "delegation", Type: "bytes32"}, {Name: "validUntil", Type: "uint64"},
	}, map[string]any{
		"assembled": g.Assembled.String(), "coordinator": owner.address().Hex(), "delegation": g.Delegation.String(), "validUntil": "77",
	}); got != want {
		t.Errorf("a grant is %v, and to a wallet %v", got, want)
	}
	if got, want := (evm.Scheme{}).Cancelled(c, in), wallet(t, c, "Cancellation", []apitypes.Type{
		{Name: "owner", Type: "address"}, {Name: "sequence", Type: "uint128"},
	}, map[string]any{"owner": owner.address().Hex(), "sequence": sequence}); got != want {
		t.Errorf("a cancellation is %v, and to a wallet %v", got, want)
	}
}

// mute is an endpoint that never answers, or fails with its address in the error.
type mute struct{ fails error }

func (m mute) CallContext(ctx context.Context, _ any, _ string, _ ...any) error {
	if m.fails != nil {
		return m.fails
	}
	<-ctx.Done()
	return ctx.Err()
}

func (m mute) BatchCallContext(ctx context.Context, _ []rpc.BatchElem) error {
	return m.CallContext(ctx, nil, "")
}

// An endpoint that does not answer holds nobody up for ever, and its errors do not tell its URL.
func TestAMuteEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if _, err := evm.Read(t.Context(), mute{}, "0x00000000000000000000000000000000C0fFee00"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > time.Minute {
			t.Errorf("after %v: error %v, want a deadline", time.Since(began), err)
		}
	})
	refused := errors.New("connection refused")
	_, err := evm.Read(t.Context(), mute{&url.Error{Op: "Post", URL: "https://example.com/secret", Err: refused}}, "0x00000000000000000000000000000000C0fFee00")
	if !errors.Is(err, refused) || strings.Contains(err.Error(), "secret") {
		t.Errorf("got error %v, want the cause without the URL", err)
	}
}
