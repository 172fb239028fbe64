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

// moreAnswers are answers too. Most are from the sources that errors.txt names.
var moreAnswers = []answer{
	{"geth", "invalid sender: database is closed", -32000, chain.Unknown},
	{"geth", "invalid sender", -32000, chain.Unknown},
	{"geth ~", "invalid sender: leveldb: closed", -32000, chain.Unknown},
	{"geth ~", "rlp: write /data/chain: no space left on device", -32000, chain.Unknown},
	{"nethermind ~", "FailedToResolveSender, RocksDb: too many open files", -32010, chain.Unknown},
	{"geth", "transaction would cause overdraft", -32000, chain.NoFunds},
	{"erigon ~", "txpool is disabled", -32000, chain.Refused},
	{"besu", "Priority fee per gas below configured minimum", -32000, chain.FeeTooLow},
	{"besu ~", "Initcode size of 50000 exceeds maximum size of 49152", -32000, chain.Unfit},
	{"reth", "transaction's size 200000 exceeds max_input_bytes 131072", -32000, chain.Unfit},
	{"reth ~", "rejected due to 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971 conflicting transaction type", -32000, chain.Full},
	{"bsc", "sender or to in black list", -32000, chain.Refused},
	{"avalanche", "cannot issue transaction from non-allow listed address: 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971", -32000, chain.Refused},
	{"celo", "gasprice is less than gas price minimum", -32000, chain.FeeTooLow},
	{"rootstock ~", "not enough gas price to bump transaction", -32010, chain.Underpriced},
	{"rootstock", "gas price not enough to bump transaction", -32010, chain.Underpriced},
	{"rootstock", "pending transaction with same hash already exists", -32010, chain.Known},
	{"rootstock", "transaction's gas price lower than block's minimum", -32010, chain.FeeTooLow},
	{"frontier", "submit transaction to pool failed: InvalidTransaction(InvalidTransaction::Stale)", -32603, chain.IndexTooLow},
	{"frontier", "submit transaction to pool failed: TooLowPriority { old: 1, new: 1 }", -32603, chain.Underpriced},
	{"frontier", "submit transaction to pool failed: ImmediatelyDropped", -32603, chain.Full},
	{"frontier", "submit transaction to pool failed: TemporarilyBanned", -32603, chain.Refused},
	{"frontier", "submit transaction to pool failed: AlreadyImported(0x6d)", -32603, chain.Known},
	{"filecoin ~", "message from f1 with nonce 3 already in mpool, increase GasPremium: replace by fee has too low GasPremium", 1, chain.Underpriced},
	{"evmos", "sender balance < tx cost (1 < 2): insufficient funds", -32000, chain.NoFunds},
	{"evmos", "provided fee < minimum global fee (1aevmos < 2aevmos). Please increase the gas price.: insufficient fee", -32000, chain.FeeTooLow},
	{"evmos", "the tx gasfeecap is lower than the tx baseFee: 7 (gasfeecap), 1000 (basefee) : insufficient fee", -32000, chain.FeeTooLow},
	{"hardhat", "Transaction maxFeePerGas (1) is too low for the next block, which has a baseFeePerGas of 875000000", -32000, chain.FeeTooLow},
	{"ganache", "Transaction's maxFeePerGas (1) is less than the block's baseFeePerGas (875000000) (vm hf=london)", -32000, chain.FeeTooLow},
	{"ganache", "VM Exception while processing transaction: revert no way", -32000, chain.Unknown}, // it is in a block
	{"geth ~", "err: max fee per gas less than block base fee: address 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971 (supplied gas 21000)", -32000, chain.FeeTooLow},
	{"geth", "transaction type not supported: type 2 rejected, pool not yet in London", -32000, chain.Unfit},
	{"geth", "transaction type not supported: tx type 2 not supported by this pool", -32000, chain.Unfit},
	{"geth", "max initcode size exceeded: code size 50000, limit 49152", -32000, chain.Unfit},
	{"geth", "insufficient gas for floor data gas cost: intrinsic cost 1, floor: 2", -32000, chain.Unfit},
	{"geth", "gas uint64 overflow", -32000, chain.Unfit},
	{"geth", "sender not an eoa", -32000, chain.Unfit},
	{"geth", "out of capacity", -32000, chain.Full},
	{"geth", "authority already reserved", -32000, chain.Full},
	{"geth", "nonce too high: tx nonce 7, gapped nonce 5", -32000, chain.Full},
	{"geth", "insufficient funds for gas * price + value: balance 1, queued cost 1, tx bumped 1, overshot 1", -32000, chain.NoFunds},
	{"geth", "fee cap less than base fee", -32000, chain.FeeTooLow},
	{"geth", "invalid sender: invalid transaction v, r, s values", -32000, chain.Invalid},
	{"geth", "max fee per gas higher than 2^256-1", -32000, chain.Invalid},
	{"geth", "max priority fee per gas higher than 2^256-1", -32000, chain.Invalid},
	{"geth", "nonce has max value", -32000, chain.Invalid},
	{"geth", "negative value", -32000, chain.Invalid},
	{"geth", "the method eth_sendRawTransaction does not exist/is not available", -32601, chain.Refused},
	{"geth", "parse error", -32700, chain.Refused},
	{"geth", "missing value for required argument 0", -32602, chain.Refused},
	{"geth", "invalid argument 0: json: cannot unmarshal invalid hex string into Go value of type hexutil.Bytes", -32602, chain.Refused},
	{"geth", "method handler crashed", -32603, chain.Unknown},
	{"op-geth", "exceeds maximum per-transaction gas limit", -32000, chain.Unfit},
	{"op-geth, of its sequencer", "429 Too Many Requests: {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32016,\"message\":\"over rate limit\"},\"id\":2239375}\n", -32000, chain.Refused},
	{"op-geth, of its sequencer ~", "502 Bad Gateway: <html><body>bad gateway</body></html>", -32000, chain.Unknown},
	{"op-geth, of its sequencer ~", "insufficient funds for gas * price + value + L1 data fee: balance 1, tx cost 2", -32000, chain.NoFunds},
	{"proxyd", "over rate limit", -32016, chain.Refused},
	{"proxyd", "sender is over rate limit", -32017, chain.Refused},
	{"proxyd", "backend is over capacity", -32012, chain.Refused},
	{"proxyd", "rpc method is not whitelisted", -32601, chain.Refused},
	{"proxyd", "too many RPC calls in batch request", -32014, chain.Refused},
	{"proxyd", "request body too large", -32021, chain.Refused},
	{"proxyd", "backend offline", -32010, chain.Unknown},
	{"proxyd", "no backend is currently healthy to serve traffic", -32011, chain.Unknown},
	{"proxyd", "backend returned an invalid response", -32013, chain.Unknown},
	{"proxyd", "gateway timeout", -32015, chain.Unknown},
	{"nethermind", "already known", -32010, chain.Known},
	{"nethermind", "transaction underpriced, Effective gas price is 1", -32010, chain.FeeTooLow},
	{"nethermind", "replacement transaction underpriced", -32010, chain.Underpriced},
	{"nethermind", "gas limit reached, Gas limit: 30000000, gas limit of rejected tx: 40000000", -32010, chain.Unfit},
	{"nethermind", "nonce too far in future", -32010, chain.Full},
	{"nethermind", "NonceTooFarInFuture", -32010, chain.Full},
	{"nethermind", "node is syncing", -32010, chain.Refused},
	{"nethermind", "unsupported transaction type", -32010, chain.Unfit},
	{"nethermind", "transaction too large", -32010, chain.Unfit},
	{"nethermind", "MaxTxSizeExceeded, Transaction size 200000 exceeds max of 131072", -32010, chain.Unfit},
	{"nethermind", "transaction cost overflow", -32010, chain.Unfit},
	{"nethermind", "pending transaction type conflict", -32010, chain.Full},
	{"nethermind", "delegation nonce gap", -32010, chain.Full},
	{"nethermind", "SenderIsContract, Sender is contract", -32010, chain.Unfit},
	{"nethermind", "Invalid, TxGasLimitCapExceeded: Gas limit 30000000 exceeded cap of 16777216.", -32010, chain.Unfit},
	{"nethermind", "Invalid, intrinsic gas too low", -32010, chain.Unfit},
	{"nethermind", "Invalid, InvalidTxType: Transaction type in Frontier is not supported.", -32010, chain.Unfit},
	{"nethermind", "Invalid, InvalidTxSignature: Signature is invalid.", -32010, chain.Invalid},
	{"nethermind", "Invalid, InvalidMaxPriorityFeePerGas: Cannot be higher than maxFeePerGas.", -32010, chain.Invalid},
	{"nethermind", "transaction invalid, NonceTooHigh: Nonce exceeds max nonce", -32010, chain.Invalid},
	{"nethermind", "failed to recover sender", -32010, chain.Invalid},
	{"nethermind", "transaction invalid", -32010, chain.Unknown},
	{"nethermind ~", "Batch size limit exceeded.", -32005, chain.Refused},
	{"erigon", "INTERNAL_ERROR: existing txn with same hash", -32000, chain.Known},
	{"erigon", "replaced by transaction with higher tip", -32000, chain.Underpriced},
	{"erigon", "pending sub-pool is full", -32000, chain.Full},
	{"erigon", "spammer", -32000, chain.Full},
	{"erigon", "IntrinsicGas", -32000, chain.Unfit},
	{"erigon", "GasUintOverflow", -32000, chain.Unfit},
	{"erigon", "RLPTooLong", -32000, chain.Unfit},
	{"erigon", "initcode too large", -32000, chain.Unfit},
	{"erigon", "gas limit is too high", -32000, chain.Unfit},
	{"erigon", "fork supporting this transaction type is not activated yet", -32000, chain.Unfit},
	{"erigon", "batch limit 100 exceeded: 142 requests given", -32000, chain.Refused},
	{"erigon", "server overloaded", -32005, chain.Refused},
	{"besu", "Number of requests exceeds max batch size", -32005, chain.Refused},
	{"besu", "Invalid signature", -32002, chain.Invalid},
	{"besu", "Max priority fee per gas exceeds max fee per gas", -32000, chain.Invalid},
	{"besu", "Invalid transaction type", -32602, chain.Unfit},
	{"besu", "Invalid transaction params (missing or incorrect)", -32602, chain.Refused},
	{"besu", "Gas price below current base fee", -32009, chain.FeeTooLow},
	{"besu", "Nonce too high", -32006, chain.Full},
	{"besu", "Transaction nonce is too distant from current sender nonce", -32000, chain.Full},
	{"besu", "An invalid transaction with a lower nonce exists", -32000, chain.Refused},
	{"besu", "Transaction fee cap exceeded", -32000, chain.Refused},
	{"besu", "Sender account not authorized to send transactions", -32007, chain.Refused},
	{"besu", "Initial sync is still in progress", -32008, chain.Refused},
	{"besu", "Plugin has marked the transaction as invalid", -32000, chain.Refused},
	{"besu", "ChainId is required", -32000, chain.Refused},
	{"besu", "Timeout expired", -32603, chain.Unknown},
	{"reth", "already imported", -32000, chain.Known},
	{"reth", "insufficient gas price to replace existing transaction", -32000, chain.Underpriced},
	{"reth", "insufficient funds for gas * price + value: have 1 want 2", -32003, chain.NoFunds},
	{"reth", "transaction overdraws from account", -32000, chain.NoFunds},
	{"reth", "txpool is full", -32003, chain.Full},
	{"reth before 1.0", "rejected due to 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971 being identified as a spammer", -32603, chain.Full},
	{"reth", "exceeds max transaction gas limit", -32000, chain.Unfit},
	{"reth", "gas limit too high", -32003, chain.Unfit},
	{"reth", "intrinsic gas too high", -32000, chain.Unfit},
	{"reth", "input data too large", -32000, chain.Unfit},
	{"reth", "sender is not an EOA", -32003, chain.Unfit},
	{"reth", "tx fee (1100000000000000000 wei) exceeds the configured cap (1000000000000000000 wei)", -32000, chain.Refused},
	{"reth", "failed to decode signed transaction", -32602, chain.Invalid},
	{"reth", "invalid transaction signature", -32602, chain.Invalid},
	{"reth", "empty transaction data", -32602, chain.Invalid},
	{"reth", "The batch request was too large", -32010, chain.Refused},
	{"reth", "Batched requests are not supported by this server", -32005, chain.Refused},
	{"reth", "Transaction 0xabc was added to the mempool but wasn't confirmed within 30s.", 4, chain.Unknown},
	{"nitro", "nonce too high: address 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971, tx: 5 state: 1", -32000, chain.Full},
	{"nitro", "transaction sender is not on the whitelist", -32000, chain.Refused},
	{"nitro", "currently not accepting transactions due to expected surplus being below threshold", -32000, chain.Refused},
	{"nitro", "execution reverted: nonce too low", 3, chain.Refused},
	{"nitro", "please retry transaction: not main sequencer", -32000, chain.Unknown},
	{"nitro", "sequencer temporarily not available", -32000, chain.Unknown},
	{"nitro", "context deadline exceeded", -32000, chain.Unknown},
	{"zksync", "nonce too low. allowed nonce range: 5 - 25, actual: 3", 3, chain.IndexTooLow},
	{"zksync", "nonce too high. allowed nonce range: 5 - 25, actual: 30", 3, chain.Full},
	{"zksync", "known transaction. transaction with hash 0xabc is already in the system", 3, chain.Known},
	{"zksync", "insufficient funds for gas + value. balance: 0, fee: 1, value: 2", 3, chain.NoFunds},
	{"zksync", "not enough balance to cover the fee. error message: paymaster", 3, chain.NoFunds},
	{"zksync", "max fee per gas less than block base fee", 3, chain.FeeTooLow},
	{"zksync", "exceeds block gas limit", 3, chain.Unfit},
	{"zksync", "intrinsic gas too low", 3, chain.Unfit},
	{"zksync", "invalid sender. can't start a transaction from a non-account", 3, chain.Unfit},
	{"zksync", "not enough gas to publish compressed bytecodes", 3, chain.Unfit},
	{"zksync", "transaction type 2 not supported", 3, chain.Unfit},
	{"zksync", "Failed to serialize transaction: oversized data. max: 131072; actual: 200000", 3, chain.Unfit},
	{"zksync", "Failed to serialize transaction: max fee per gas higher than 2^64-1", 3, chain.Unfit},
	{"zksync", "Failed to serialize transaction: wrong chain id 1", 3, chain.Refused},
	{"zksync", "Failed to serialize transaction: decodeRlpError RlpIsTooShort", 3, chain.Invalid},
	{"zksync", "Failed to serialize transaction: invalid signature", 3, chain.Invalid},
	{"zksync", "failed to validate the transaction. reason: Account validation error", 3, chain.Unfit},
	{"zksync", "insertion of another transaction with the same nonce is in progress", 3, chain.Unknown},
	{"zksync, not reaching the main node ~", "error trying to connect: tcp connect error: Connection refused (os error 111)", 3, chain.Unknown},
	{"zksync, not reaching the main node ~", "Request timeout", 3, chain.Unknown},
	{"anvil", "Unknown transaction type not supported", -32602, chain.Unfit},
	{"anvil", "Empty transaction data", -32602, chain.Invalid},
	{"anvil", "intrinsic gas too high -- CallerGasLimitMoreThanBlock", -32000, chain.Unfit},
	{"anvil", "Transaction gas limit is greater than the block gas limit, gas_limit: 40000000, cap: 30000000", -32003, chain.Unfit},
	{"anvil", "EIP-1559 style fee params (maxFeePerGas or maxPriorityFeePerGas) received but they are not supported by the current hardfork.", -32602, chain.Unfit},
	{"anvil", "Transaction confirmation timeout", -32603, chain.Unknown},
	{"hardhat ~", "Transaction requires at least 21000 gas but got 1", -32000, chain.Unfit},
	{"hardhat ~", "Transaction gas limit is 40000000 and exceeds block gas limit of 30000000", -32000, chain.Unfit},
	{"openethereum", "Transaction gas price 5wei is too low. There is another transaction with same nonce in the queue with gas price: 6wei. Try increasing the gas price or incrementing the nonce.", -32010, chain.Underpriced},
	{"openethereum", "Transaction gas price is too low. It does not satisfy your node's minimal gas price (minimal: 2, got: 1). Try increasing the gas price.", -32010, chain.FeeTooLow},
	{"openethereum", "Transaction gas is too low. There is not enough gas to cover minimal cost of the transaction (minimal: 21000, got: 1). Try increasing supplied gas.", -32010, chain.Unfit},
	{"openethereum", "Transaction cost exceeds current gas limit. Limit: 1, got: 2. Try decreasing supplied gas.", -32010, chain.Unfit},
	{"openethereum", "Insufficient funds. The account you tried to send transaction from does not have enough funds. Required 2 and got: 1.", -32010, chain.NoFunds},
	{"openethereum", "Sender is banned in local queue.", -32010, chain.Refused},
	{"openethereum", "Transaction is not permitted.", -32010, chain.Refused},
	{"openethereum", "Transaction type is not enabled for current block", -32010, chain.Unfit},
	{"openethereum", "Transaction is too big, see chain specification for the limit.", -32010, chain.Unfit},
	{"openethereum", "Invalid chain id.", -32010, chain.Refused},
	{"openethereum", "Invalid RLP.", -32602, chain.Invalid},
	{"openethereum", "Unknown error when sending transaction.", -32009, chain.Unknown},
	{"openethereum", "Request has been rejected because of queue limit.", -32041, chain.Refused},
	{"linea", "Calldata of transaction is greater than the allowed max of 30000", -32000, chain.Unfit},
	{"linea ~", "Transaction line count for module HUB=2097153 is above the limit 2097152", -32000, chain.Unfit},
	{"linea ~", "sender 0x6d2D50B5d17B86bF964D636751Ed84b7B9Fc8971 is blocked as appearing on the SDN or other legally prohibited list", -32000, chain.Refused},
	{"linea ~", "Gas price too low", -32000, chain.FeeTooLow},
	{"hedera", "Transaction gas limit '15000001' exceeds max gas per sec limit '15000000'", -32005, chain.Unfit},
	{"hedera", "Transaction gas limit provided '1' is insufficient of intrinsic gas required '21000'", -32003, chain.Unfit},
	{"hedera", "Gas price '1' is below configured minimum gas price '2'", -32009, chain.FeeTooLow},
	{"hedera", "Nonce too low. Provided nonce: 1, current nonce: 2", 32001, chain.IndexTooLow},
	{"hedera", "ChainId (0x1) not supported. The correct chainId is 0x127", -32000, chain.Refused},
	{"hedera", "HBAR Rate limit exceeded", -32606, chain.Refused},
	{"hedera", "Value can't be non-zero and less than 10_000_000_000 wei which is 1 tinybar", -32602, chain.Refused},
	{"hedera", "Batch request amount 200 exceeds max 100", -32203, chain.Refused},
	{"cosmos ~", "tx already exists in cache", -32000, chain.Known},
	{"cosmos ~", "mempool is full: number of txs 5000 (max: 5000), total txs bytes 1 (max: 2)", -32000, chain.Full},
	{"cosmos ~", "invalid nonce; got 5, expected 6: invalid sequence", -32000, chain.Unknown},
	{"infura", "project ID request rate exceeded", -32005, chain.Refused},
	{"infura", "Payment Required", 402, chain.Refused},
	{"alchemy ~", "Must be authenticated!", -32600, chain.Refused},
	{"alchemy ~", "Monthly capacity limit exceeded. Visit https://dashboard.alchemyapi.io/settings/billing to upgrade your scaling policy for continued service.", 429, chain.Refused},
	{"quicknode ~", "50/second request limit reached - reduce calls per second or upgrade your account", -32007, chain.Refused},
	{"drpc ~", "Batch of more than 3 requests are not allowed on free tier", 31, chain.Refused},
	{"drpc", "Request timeout on the free tier, please upgrade your tier to the paid one", 30, chain.Unknown},
	{"blockvision", "The call limit has been reached, please upgrade your subscription", -32607, chain.Refused},
	{"flashbots ~", "no x-flashbots-signature header: invalid signature", -32600, chain.Refused},
	{"a proxy over several", "proxy-infura.error: replacement transaction underpriced, proxy-grove.error: invalid sender", -32000, chain.Underpriced},
	{"a proxy over several", "all failed: rlp: expected input list, request timed out", -32000, chain.Unknown},
	{"anybody", "failed to decode answer of upstream", -32603, chain.Unknown},
	{"anybody", "execution reverted: already known", -32000, chain.Refused},
	{"anybody", "unknown transaction", -32000, chain.Unknown},
	{"anybody", "transaction is invalid", -32000, chain.Unknown},
}
