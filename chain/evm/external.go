package evm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm/internal/budget"
	"github.com/conchhq/conch/chain/keyservice"
)

// External is a Signer that asks another process over JSON-RPC: clef ("account_signTransaction")
// or one like web3signer ("eth_signTransaction"). The driver checks every answer, so the process
// is trusted with the key and nothing else.
type External struct {
	account  chain.Account
	method   string
	endpoint *endpoint
	lull     *lull
}

var _ Signer = (*External)(nil)

// NewExternal makes a signer for an account that calls a method at a URL. It waits up to
// patience for an answer, since a person may have to confirm.
func NewExternal(account chain.Account, url, method string, patience time.Duration) *External {
	cfg := Config{URL: url, Timeout: patience}.withDefaults()
	e := newEndpoint(cfg)
	e.budget.Close()
	e.budget = budget.New(0, nil, func(error) (time.Duration, bool) { return 0, false }) // the lull waits, and not for a whole patience
	return &External{account: account, method: method, endpoint: e, lull: &lull{patience: signPatience, single: true}}
}

// Account implements Signer.
func (x *External) Account() chain.Account { return x.account }

// Close closes the connections.
func (x *External) Close() { x.endpoint.close() }

// Sign implements Signer.
func (x *External) Sign(ctx context.Context, tx *types.Transaction) (*types.Transaction, error) {
	args := arguments(x.account, chain.Call{Value: tx.Value(), Data: tx.Data()})
	if to := tx.To(); to != nil {
		args["to"] = to
	}
	if _, has := args["value"]; !has {
		args["value"] = "0x0"
	}
	args["chainId"] = (*hexutil.Big)(tx.ChainId())
	args["nonce"] = hexutil.Uint64(tx.Nonce())
	args["gas"] = hexutil.Uint64(tx.Gas())
	args["maxFeePerGas"] = (*hexutil.Big)(tx.GasFeeCap())
	args["maxPriorityFeePerGas"] = (*hexutil.Big)(tx.GasTipCap())
	var answer json.RawMessage
	err := x.lull.ask(ctx, func(ctx context.Context) error {
		if err := x.endpoint.call(ctx, &answer, x.method, args); err != nil {
			return x.fault(err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	raw, err := signedBytes(answer)
	if err != nil {
		return nil, fmt.Errorf("%w %v: the external signer's answer cannot be read", chain.ErrKey, x.account)
	}
	signed := new(types.Transaction)
	if err := signed.UnmarshalBinary(raw); err != nil {
		return nil, fmt.Errorf("%w %v: the external signer's answer is not a transaction: %w", chain.ErrKey, x.account, err)
	}
	return signed, nil
}

// fault says of which kind an error of the endpoint is.
func (x *External) fault(err error) error {
	f := &keyservice.FaultError{Kind: keyservice.Refused, Service: x.String(), Detail: err.Error(), Cause: err}
	if _, slow := limited(err); slow {
		f.Kind = keyservice.Throttled
	} else if errors.Is(err, chain.ErrUnreachable) {
		f.Kind = keyservice.Away
	}
	return f
}

// signedBytes reads the bytes alone, or an object with a member "raw".
func signedBytes(answer json.RawMessage) (raw hexutil.Bytes, err error) {
	if err = json.Unmarshal(answer, &raw); err == nil {
		return raw, nil
	}
	var object struct {
		Raw hexutil.Bytes `json:"raw"`
	}
	err = json.Unmarshal(answer, &object)
	return object.Raw, err
}

// String names the account and the host.
func (x *External) String() string {
	return "external signer of " + x.account.String() + " at " + x.endpoint.shown
}

// Format writes String, for every verb.
func (x *External) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(x.String())) }

// MarshalText returns String.
func (x *External) MarshalText() ([]byte, error) { return []byte(x.String()), nil }
