package evm_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/common/math"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/ethereum/go-ethereum/signer/core/apitypes"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

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
