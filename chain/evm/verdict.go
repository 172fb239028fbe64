package evm

import (
	"strings"

	"github.com/conchhq/conch/chain"
)

// saying is a part of what a client answers to eth_sendRawTransaction, in lower case.
type saying struct {
	words   string
	verdict chain.Verdict
}

// sayings are tried in this order: "replacement transaction underpriced" has to come
// before "transaction underpriced". The clients give no codes that tell these apart.
// Each is held against the real texts in verdict_test.go.
var sayings = []saying{
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
	// Another attempt is in the pool.
	{"replacement transaction underpriced", chain.Underpriced},
	{"transaction replacement underpriced", chain.Underpriced},
	{"replacementnotallowed", chain.Underpriced},
	{"could not replace existing", chain.Underpriced},
	{"another transaction with same nonce", chain.Underpriced},
	// A limit that somebody set, which no fee and no time changes.
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
	// No room.
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
	// Too cheap. A price that is below the tip comes first: it stays wrong.
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
	// No money.
	{"insufficient funds", chain.NoFunds},
	{"insufficientfunds", chain.NoFunds},
	{"insufficient balance", chain.NoFunds},
	{"exceeds account balance", chain.NoFunds},
	{"doesn't have enough funds", chain.NoFunds},
	{"insufficient sender balance", chain.NoFunds},
	{"outoffund", chain.NoFunds},
}

// elsewhere is what a node of another chain says. What is signed here carries the chain
// ID that is configured, whoever signed it, so it says nothing of the transaction. They
// come before never: to go-ethereum it is the sender that is invalid then.
var elsewhere = []saying{
	{"chain id", chain.Refused},
	{"chainid", chain.Refused},
	{"signed for another chain", chain.Refused},
}

// never is what no time and no other node changes.
var never = []saying{
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

// judge reads what a node said to an attempt. What it does not know is Unknown, which
// costs a second look and never a transaction.
func judge(code int, text string) chain.Verdict {
	if v, known := find(text, sayings, elsewhere, never); known {
		return v
	}
	if code == -32005 || code == 429 { // limit exceeded, in EIP-1474 and among providers
		return chain.Refused
	}
	return chain.Unknown
}

// foreign tells whether a node refused for being of another chain.
func foreign(text string) bool {
	_, is := find(text, elsewhere)
	return is
}

// find looks for the first saying that is part of a text.
func find(text string, tables ...[]saying) (v chain.Verdict, known bool) {
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
