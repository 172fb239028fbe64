package evm

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/conchhq/conch/chain"
)

// Version implements chain.Chain. What was signed once is good for every fork of the rules.
func (*Chain) Version(context.Context, chain.Block) (string, error) { return "", nil }

// Replay implements chain.Chain. The state is named by its height: the block's parent is not known, and need not be.
func (c *Chain) Replay(ctx context.Context, from chain.Account, call chain.Call, height uint64) (why string, err error) {
	args := arguments(from, call)
	if call.Gas > 0 {
		args["gas"] = hexutil.Uint64(call.Gas)
	}
	var returned hexutil.Bytes
	err = c.endpoint.call(ctx, &returned, "eth_call", args, hexutil.Uint64(height))
	code, text, spoken := answered(err)
	if spoken && (reverts(code, text) || strings.Contains(strings.ToLower(text), "out of gas")) {
		return reasonOf(err, text), nil
	}
	return "", err // the node no longer has that state, say
}

const mostError = 36 // bytes of a custom error that are shown: its selector and one word

// reasonOf returns why a contract has reverted: what the data of the node's error say, or else its text.
func reasonOf(err error, text string) string {
	said, _ := errors.AsType[rpc.DataError](err)
	if said == nil {
		return text
	}
	digits, _ := said.ErrorData().(string)
	data, fault := hexutil.Decode(digits)
	if fault != nil || len(data) < len("\x08\xc3\x79\xa0") {
		return text
	}
	if reason, fault := abi.UnpackRevert(data); fault == nil { // Error(string) or Panic(uint256)
		return reason
	}
	return fmt.Sprintf("custom error 0x%s, of %d bytes", hex.EncodeToString(data[:min(len(data), mostError)]), len(data))
}
