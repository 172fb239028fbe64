package chain

// Claim says that a transaction is in a final block, on the word of one endpoint. Before anything
// ends by it, a second opinion is asked for.
//
// With an empty Inclusion.Hash it says only that Block is final, and with Reaped that the account has ceased to exist in it. With Counts it says that the account's nonce
// Index counts as used in the state after Block, which is a recent one and need not be final: nodes keep the
// states only of recent blocks (W14).
type Claim struct {
	Inclusion
	// By is the endpoint that said so, and At the final block as of which it did. An endpoint that is
	// asked about its own claim, or about one with an empty By, answers only once its final block has
	// passed At. With Still the chain's head has not moved for Description.StillAfter, and At itself will do: the
	// endpoint is asked for it anew.
	By    string
	At    Block
	Still bool
	// Counts: see above.
	Counts bool
}

// ReceiptsApart is from how many claims about transactions of one block on a driver may read all receipts of that block at
// once. Of fewer it reads each: a block has hundreds.
const ReceiptsApart = 4

// Passed reports whether an endpoint whose final block has a height may be asked about its own claim.
func (c Claim) Passed(final uint64) bool {
	return final > c.At.Number || c.Still && final == c.At.Number
}

// Opinion is an answer to a Claim.
type Opinion struct {
	Stand Stand
	By    string // the endpoint asked, without secrets; empty if none was
	Why   string // for people, unless it agrees
	// Blind says that it agrees, and cannot say with which effect, since its node no longer has that.
	Blind bool
}

// Stand is what an endpoint says to a Claim.
type Stand uint8

const (
	// Mute means that the endpoint cannot say yet: its final block is below the claim's or has not
	// moved on, or it lacks what is asked about. That is no contradiction.
	Mute Stand = iota
	// Agrees means that the endpoint has the same transaction in the same block, with the same effect unless it is Blind or the
	// claim says none, and that this block is its final block or an ancestor of it; or that it counts the nonce as used.
	Agrees
	// Differs means that the endpoint calls another block final at that height, or that the block does
	// not have the transaction, or that its effect is another; or that it does not count the nonce as used.
	Differs
)

func (s Stand) String() string { return [...]string{"mute", "agrees", "differs"}[s] }
