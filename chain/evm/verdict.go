package evm

import (
	"strings"

	"github.com/conchhq/conch/chain"
)

// phrase is a part of a client's error for eth_sendRawTransaction, in lower case.
type phrase struct {
	words   string
	verdict chain.Verdict
}

// phrases are tried in this order: "replacement transaction underpriced" has to come before
// "transaction underpriced". No error code tells these apart. verdict_test.go has the real texts.
var phrases = []phrase{
	// The node has it.
	{"already known", chain.Known},
	{"alreadyknown", chain.Known},
	{"known transaction", chain.Known},
	{"already imported", chain.Known},
	{"already in the pool", chain.Known},
	{"existing tx with same hash", chain.Known},
	// The slot is used up.
	{"nonce too low", chain.IndexTooLow},
	{"nonce is too low", chain.IndexTooLow},
	{"oldnonce", chain.IndexTooLow},
	{"nonce below", chain.IndexTooLow},
	{"nonce is below", chain.IndexTooLow},
	// The pool has another attempt for the slot.
	{"replacement transaction underpriced", chain.Underpriced},
	{"transaction replacement underpriced", chain.Underpriced},
	{"replacementnotallowed", chain.Underpriced},
	{"could not replace existing", chain.Underpriced},
	{"another transaction with same nonce", chain.Underpriced},
	// A limit of this node, which no fee and no time changes.
	{"exceeds the configured cap", chain.Refused},
	{"too many requests", chain.Refused},
	{"rate limit", chain.Refused},
	{"request count exceeded", chain.Refused},
	{"compute units", chain.Refused},
	{"batch too large", chain.Refused},
	{"nonce too high", chain.Refused},
	{"noncegap", chain.Refused},
	{"nonce too far", chain.Refused},
	{"nonce has too large gap", chain.Refused},
	// The pool has no room.
	{"txpool is full", chain.Full},
	{"pool is full", chain.Full},
	{"account limit exceeded", chain.Full},
	{"too many transactions in the queue", chain.Full},
	{"address already reserved", chain.Full},
	{"authority already reserved", chain.Full},
	{"in-flight transaction limit", chain.Full},
	{"gapped-nonce tx from delegated", chain.Full},
	{"tries to replace pending", chain.Full},
	{"out of capacity", chain.Full},
	{"toomanytransactions", chain.Full},
	// Too cheap. A price below the tip comes first, since it stays invalid.
	{"max priority fee per gas higher than max fee per gas", chain.Invalid},
	{"higher than 2^256", chain.Invalid},
	{"underpriced", chain.FeeTooLow},
	{"feetoolow", chain.FeeTooLow},
	{"fee too low", chain.FeeTooLow},
	{"gas price below", chain.FeeTooLow},
	{"below configured minimum gas price", chain.FeeTooLow},
	{"below the minimum", chain.FeeTooLow},
	{"below minimum required priority fee", chain.FeeTooLow},
	{"less than block base fee", chain.FeeTooLow},
	{"lower than the block base fee", chain.FeeTooLow},
	{"gas price is too low", chain.FeeTooLow},
	// The account cannot pay.
	{"insufficient funds", chain.NoFunds},
	{"insufficientfunds", chain.NoFunds},
	{"insufficient balance", chain.NoFunds},
	{"exceeds account balance", chain.NoFunds},
	{"doesn't have enough funds", chain.NoFunds},
	{"insufficient sender balance", chain.NoFunds},
	{"outoffund", chain.NoFunds},
}

// otherChainPhrases are the errors of a node of another chain: every attempt has the configured chain
// ID. They come before invalidPhrases, since go-ethereum's text also says that the sender is invalid.
var otherChainPhrases = []phrase{
	{"chain id", chain.Refused},
	{"chainid", chain.Refused},
	{"signed for another chain", chain.Refused},
}

// invalidPhrases are errors that stay, at any time and on any node.
var invalidPhrases = []phrase{
	{"invalid sender", chain.Invalid},
	{"only replay-protected", chain.Invalid},
	{"exceeds block gas limit", chain.Invalid},
	{"gas limit too high", chain.Invalid},
	{"gaslimitexceeded", chain.Invalid},
	{"gas limit is greater than", chain.Invalid},
	{"intrinsic gas", chain.Invalid},
	{"insufficient gas for floor", chain.Invalid},
	{"negative value", chain.Invalid},
	{"oversized data", chain.Invalid},
	{"max initcode size", chain.Invalid},
	{"nonce has max value", chain.Invalid},
	{"transaction type not supported", chain.Invalid},
	{"rlp:", chain.Invalid},
	{"typed transaction too short", chain.Invalid},
	{"failed to decode", chain.Invalid},
	{"decode transaction", chain.Invalid},
	{"invalid signature", chain.Invalid},
	{"sender not an eoa", chain.Invalid},
}

// judge turns a node's error for an attempt into a verdict. An unrecognised error is Unknown,
// which costs a second look and never a transaction.
func judge(code int, text string) chain.Verdict {
	if v, known := match(text, phrases, otherChainPhrases, invalidPhrases); known {
		return v
	}
	if code == -32005 || code == 429 { // limit exceeded, in EIP-1474 and with providers
		return chain.Refused
	}
	return chain.Unknown
}

// otherChain reports whether a node's refusal means that it serves another chain.
func otherChain(text string) bool {
	_, is := match(text, otherChainPhrases)
	return is
}

// match returns the verdict of the first phrase that is part of a text.
func match(text string, tables ...[]phrase) (v chain.Verdict, known bool) {
	text = strings.ToLower(text)
	for _, table := range tables {
		for _, s := range table {
			if strings.Contains(text, s.words) {
				return s.verdict, true
			}
		}
	}
	return chain.Unknown, false
}
