package evm_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
)

// answer is an error of eth_sendRawTransaction, and the verdict that it must have.
type answer struct {
	client, text string
	code         int
	want         chain.Verdict
}

// answers are the clients' own texts: those of geth and anvil from running ones (TestExercise,
// TestAnvilTexts), the others from their sources. A ~ marks a text that is not known to be verbatim.
var answers = []answer{
	{"geth", "already known", -32000, chain.Known},
	{"geth", "nonce too low: next nonce 2, tx nonce 0", -32000, chain.IndexTooLow},
	{"geth", "replacement transaction underpriced", -32000, chain.Underpriced},
	{"geth", "transaction underpriced", -32000, chain.FeeTooLow},
	{"geth", "transaction gas price below minimum: gas tip cap 0, minimum needed 1000000", -32000, chain.FeeTooLow},
	{"geth before 1.16", "transaction underpriced: tip needed 1000000, tip permitted 0", -32000, chain.FeeTooLow},
	{"geth", "max fee per gas less than block base fee: address 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971, maxFeePerGas: 1, baseFee: 7", -32000, chain.FeeTooLow},
	{"geth", "max priority fee per gas higher than max fee per gas", -32000, chain.Invalid},
	{"geth", "insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000", -32000, chain.NoFunds},
	{"geth", "txpool is full", -32000, chain.Full},
	{"geth", "account limit exceeded: pooled 16 txs", -32000, chain.Full},
	{"geth", "address already reserved", -32000, chain.Full},
	{"geth", "in-flight transaction limit reached for delegated accounts", -32000, chain.Full},
	{"geth", "gapped-nonce tx from delegated accounts", -32000, chain.Full},
	{"geth", "future transaction tries to replace pending", -32000, chain.Full},
	{"geth", "invalid sender: invalid chain id for signer: have 1338 want 1337", -32000, chain.Refused},
	{"geth", "exceeds block gas limit", -32000, chain.Unfit},
	{"geth", "transaction gas limit too high (cap: 16777216, tx: 16777217)", -32000, chain.Unfit},
	{"geth", "intrinsic gas too low: gas 1, minimum needed 21000", -32000, chain.Unfit},
	{"geth", "insufficient gas for floor data gas cost: gas 21000, minimum needed 22000", -32000, chain.Unfit},
	{"geth", "oversized data: transaction size 200000, limit 131072", -32000, chain.Unfit},
	{"geth", "rlp: element is larger than containing list", -32000, chain.Invalid},
	{"geth", "typed transaction too short", -32000, chain.Invalid},
	{"geth", "transaction type not supported", -32000, chain.Unfit},
	{"geth", "only replay-protected (EIP-155) transactions allowed over RPC", -32000, chain.Unfit},
	{"geth", "tx fee (1.10 ether) exceeds the configured cap (1.00 ether)", -32000, chain.Refused},
	{"geth", "batch too large", -32600, chain.Refused},
	{"geth", "request timed out", -32002, chain.Unknown},
	{"geth", "response too large", -32003, chain.Unknown},
	{"reth", "transaction priority fee below minimum required priority fee 1", -32003, chain.FeeTooLow},
	{"reth", "invalid chain ID", -32000, chain.Refused},
	{"erigon", "INTERNAL_ERROR: existing tx with same hash", -32000, chain.Known},
	{"erigon", "INTERNAL_ERROR: could not replace existing tx", -32000, chain.Underpriced},
	{"erigon", "INTERNAL_ERROR: insufficient funds", -32000, chain.NoFunds},
	{"erigon", "INTERNAL_ERROR: fee too low", -32000, chain.FeeTooLow},
	{"nethermind", "AlreadyKnown", -32010, chain.Known},
	{"nethermind", "OldNonce, Current nonce: 5, nonce of rejected tx: 3", -32010, chain.IndexTooLow},
	{"nethermind", "ReplacementNotAllowed, existing transaction cannot be replaced", -32010, chain.Underpriced},
	{"nethermind", "FeeTooLow, EffectiveGasPrice too low", -32010, chain.FeeTooLow},
	{"nethermind", "InsufficientFunds, Account balance: 0, cumulative cost: 21000", -32010, chain.NoFunds},
	{"nethermind", "InvalidTxChainId: Expected 1338, got 1337.", -32010, chain.Refused},
	{"nethermind", "NonceGap, Future nonce. Expected nonce: 3", -32010, chain.Full},
	{"nethermind", "GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 40000000", -32010, chain.Unfit},
	{"besu", "Known transaction", -32000, chain.Known},
	{"besu", "Nonce too low", -32001, chain.IndexTooLow},
	{"besu", "Transaction nonce below sender account nonce", -32001, chain.IndexTooLow},
	{"besu", "Replacement transaction underpriced", -32000, chain.Underpriced},
	{"besu", "Gas price below configured minimum gas price", -32009, chain.FeeTooLow},
	{"besu", "Upfront cost exceeds account balance", -32004, chain.NoFunds},
	{"besu", "Intrinsic gas exceeds gas limit", -32003, chain.Unfit},
	{"besu", "Transaction gas limit exceeds block gas limit", -32005, chain.Unfit},
	{"besu", "Wrong chainId", -32000, chain.Refused},
	{"besu", "Nonce too far in the future", -32000, chain.Full},
	{"anvil", "transaction already imported", -32003, chain.Known},
	{"anvil", "nonce too low", -32003, chain.IndexTooLow},
	{"anvil", "replacement transaction underpriced", -32003, chain.Underpriced},
	{"anvil", "Insufficient funds for gas * price + value", -32003, chain.NoFunds},
	{"anvil", "max fee per gas less than block base fee", -32003, chain.FeeTooLow},
	{"anvil", "Failed to decode transaction", -32602, chain.Invalid},
	{"hardhat", "Nonce too low. Expected nonce to be 1 but got 0.", -32000, chain.IndexTooLow},
	{"hardhat", "Nonce too high. Expected nonce to be 0 but got 5. Note that transactions can't be queued when automining.", -32000, chain.Full},
	{"hardhat", "Known transaction: 0xabc", -32000, chain.Known},
	{"hardhat", "Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 2 is necessary to replace the existing transaction with nonce 0.", -32000, chain.Underpriced},
	{"hardhat", "Sender doesn't have enough funds to send tx. The max upfront cost is: 2 and the sender's balance is: 1.", -32000, chain.NoFunds},
	{"hardhat", "Trying to send an incompatible EIP-155 transaction, signed for another chain.", -32000, chain.Refused},
	{"hardhat", "Transaction gas price is 1, which is below the minimum of 5", -32000, chain.FeeTooLow},
	{"nitro", "nonce too low: address 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971, tx: 0 state: 1", -32000, chain.IndexTooLow},
	{"openethereum", "Transaction with the same hash was already imported.", -32010, chain.Known},
	{"openethereum", "Transaction nonce is too low. Try incrementing the nonce.", -32010, chain.IndexTooLow},
	{"openethereum", "Transaction gas price is too low. There is another transaction with same nonce in the queue. Try increasing the gas price or incrementing the nonce.", -32010, chain.Underpriced},
	{"openethereum", "There are too many transactions in the queue. Your transaction was dropped due to limit. Try increasing the fee.", -32010, chain.Full},
	{"a provider", "limit exceeded", -32005, chain.Refused},
	{"a provider", "Too Many Requests", 429, chain.Refused},
	{"a provider", "Your app has exceeded its compute units per second capacity.", 429, chain.Refused},
	{"a provider", "daily request count exceeded, request rate limited", -32005, chain.Refused},
	{"anybody", "internal error", -32603, chain.Unknown},
	{"anybody", "", 0, chain.Unknown},
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(answers, moreAnswers) {
		if got := evm.Judge(c.code, c.text); got != c.want {
			t.Errorf("%s says %q (%d): got %v, want %v", c.client, c.text, c.code, got, c.want)
		}
	}
}

// bytesAlone are the reasons why a chain never takes an attempt, whatever its state and whatever the node.
var bytesAlone = map[string][]string{
	"it cannot be decoded":      {"rlp:", "typed transaction too short", "failed to decode signed transaction", "failed to decode transaction", "decode transaction", "empty transaction data", "invalid rlp", "decoderlperror"},
	"its signature is wrong":    {"invalid signature", "invalid transaction signature", "invalid transaction v, r, s values", "invalidtxsignature", "failedtoresolvesender", "failed to recover sender"},
	"its tip is above its fee":  {"max priority fee per gas higher than max fee per gas", "max priority fee per gas exceeds max fee per gas", "invalidmaxpriorityfeepergas"},
	"a number has too many bit": {"higher than 2^256"},
	"its nonce is the last":     {"nonce has max value", "nonce exceeds max nonce"},
	"its value is negative":     {"negative value"},
}

// Only what the bytes alone decide is invalid. This is the dangerous way to be wrong, since an
// invalid attempt may end its intent.
func TestOnlyTheBytesMakeAnAttemptInvalid(t *testing.T) {
	t.Parallel()
	var reasons []string
	for _, all := range bytesAlone {
		reasons = append(reasons, all...)
	}
	for _, words := range evm.InvalidPhrases() {
		if !slices.Contains(reasons, words) {
			t.Errorf("errors.txt has %q as invalid: is it for a reason in the bytes alone?", words)
		}
	}
	for _, c := range slices.Concat(answers, moreAnswers) {
		reason := slices.ContainsFunc(reasons, func(words string) bool { return strings.Contains(strings.ToLower(c.text), words) })
		for _, code := range []int{c.code, 0, 3, 4, 402, 429, -32000, -32003, -32005, -32010, -32600, -32601, -32602, -32603, -32700} {
			got := evm.Judge(code, c.text)
			if got == chain.Invalid && (!reason || c.want != chain.Invalid) {
				t.Errorf("%s says %q (%d): got invalid, want %v", c.client, c.text, code, c.want)
			}
		}
	}
}

// A text that also says something else is not invalid: a proxy may join the answers of several nodes.
func TestInvalidLosesAgainstEverything(t *testing.T) {
	t.Parallel()
	for _, a := range slices.Concat(answers, moreAnswers) {
		if a.want == chain.Invalid || a.want == chain.Unknown || a.code == -32602 || a.code == -32601 || a.code == -32700 {
			continue
		}
		for _, text := range []string{a.text + "; invalid signature", "rlp: bad; " + a.text} {
			if got := evm.Judge(a.code, text); got == chain.Invalid {
				t.Errorf("%s and another say %q (%d): got invalid", a.client, text, a.code)
			}
		}
	}
}

// No verdict comes from nothing: a code without words that are known is Unknown, if no standard fixes it.
func TestACodeAlone(t *testing.T) {
	t.Parallel()
	for code, want := range map[int]chain.Verdict{
		3: chain.Unknown, 4: chain.Unknown, -32000: chain.Unknown, -32001: chain.Unknown, -32003: chain.Unknown,
		-32010: chain.Unknown, -32015: chain.Unknown, -32600: chain.Unknown, -32603: chain.Unknown,
		429: chain.Refused, -32005: chain.Refused, -32601: chain.Refused, -32602: chain.Refused, -32700: chain.Refused,
	} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			t.Parallel()
			if got := evm.Judge(code, "a flux capacitor is missing"); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
