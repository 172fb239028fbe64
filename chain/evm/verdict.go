package evm

import "github.com/conchhq/conch/chain"

// Codes of JSON-RPC errors. No other code tells one error from another: most clients have -32000 for
// all of them.
const (
	codeReverted  = 3      // a contract reverted; its reason is in the text or the data
	codeRateLimit = 429    // the status of HTTP, which providers also use as a code
	codeLimit     = -32005 // a limit is exceeded, in EIP-1474
	codeVM        = -32015 // execution failed, in clients that follow OpenEthereum
	codeRequest   = -32600 // the request is not valid
	codeMethod    = -32601 // no such method
	codeParams    = -32602 // the parameters are not valid
	codeParse     = -32700 // the request cannot be read
)

// judge turns a node's error for an attempt into a verdict. An unrecognised error is Unknown,
// which costs a second look and never a transaction.
func judge(code int, text string) chain.Verdict { return classAttempt(code, text).verdict() }

// classAttempt returns what a node's error means for an attempt. A code decides where a standard
// fixes what it means, and errors.txt otherwise. The code 3 decides nothing here: zkSync has it for
// every error of an attempt, even where its node did not reach the sequencer.
func classAttempt(code int, text string) class {
	words := said()
	c := match(words.attempts, text)
	if (c == classNone || c == classInvalid) && match(words.busy, text) == classBusy {
		c = classBusy
	}
	switch code {
	case codeMethod, codeParse:
		return classRefused // the node has not carried out anything
	case codeRateLimit, codeLimit:
		// Besu, Nethermind and Hedera's relay also have -32005 for too many calls in a batch, and for
		// more gas than a block has.
		if c == classTooLarge || c == classUnfit {
			return c
		}
		return classLimit
	case codeParams:
		if c == classNone {
			return classRefused // the method did not run
		}
	}
	return c
}

// classEstimate returns what a node's error means for an estimate.
func classEstimate(code int, text string) class {
	words := said()
	if reverts(code, text) {
		return classCall
	}
	c := match(words.attempts, text)
	switch {
	case code == codeLimit || code == codeRateLimit || c == classLimit || c == classTooLarge:
		return classLimit
	case code == codeMethod || code == codeParse || match(words.busy, text) == classBusy:
		return classBusy
	case c == classNoFunds:
		return classNoFunds
	case code == codeVM || match(words.calls, text) == classCall:
		return classCall
	}
	return classNone
}
