package chain

import (
	"context"
	"iter"
)

// Chain is one chain seen through one endpoint. All methods are safe for
// concurrent use. They return an error that wraps [ErrUnreachable] when the
// endpoint gave no answer at all.
type Chain interface { //nolint:interfacebloat // one call a step of a transaction's life; a driver has all of them
	// Describe asks what the chain is and can do. The answer does not change while
	// the endpoint serves the same chain.
	Describe(ctx context.Context) (Description, error)
	// Next is the index of the account's next transaction as of that level: the
	// number of its transactions in the chain up to there. Transactions in a pool do
	// not count.
	Next(ctx context.Context, account Account, at Level) (uint64, error)
	// Prepare signs an attempt for each draft and sends nothing. The results are in
	// the order of the drafts. What is wrong with one draft is in its own result.
	Prepare(ctx context.Context, drafts []Draft) ([]Prepared, error)
	// Submit hands signed bytes to the node, in this order and in as few calls as
	// possible. There is one outcome for each, whatever happens: no answer is Unknown.
	Submit(ctx context.Context, attempts []Signed) []Outcome
	// Probe looks up attempts by their hashes, in the best chain and in the node's pool.
	// The answers are in the order of the hashes.
	Probe(ctx context.Context, hashes []Hash) ([]Sighting, error)
	// Find looks in the best chain, from that block number on, for the transaction that
	// used a slot up, whoever signed it. It may take long: blocks are searched. The error
	// wraps ErrNotFound if there is none.
	Find(ctx context.Context, account Account, index, from uint64) (Inclusion, Block, error)
	// Heads follows the chain from a block on until ctx ends: every block that
	// becomes part of the best chain, that leaves it again, and that is finalized. With
	// the zero Block it begins at the present head, which is applied first. Blocks after
	// from are applied first, or from and those before it reverted, if they are no longer
	// in the chain. Final blocks that leave the chain are reverted like any others.
	// The sequence ends with an error, of ctx or of the endpoint, and with one that wraps
	// ErrThread when the chain has changed further back than the driver remembers.
	Heads(ctx context.Context, from Block) iter.Seq2[Turn, error]
	// Inclusions lists the transactions that the accounts sent in a block, ours and
	// foreign ones, in their order there. The error wraps ErrNotFound if the node does
	// not know the block (any more).
	Inclusions(ctx context.Context, block Block, accounts []Account) ([]Inclusion, error)
}

// Warmer is a Chain that can be asked beforehand for what Prepare will want to know for
// an account. Optional: what it has not found out Prepare asks for.
type Warmer interface {
	Warm(ctx context.Context, account Account)
}

// Level says how settled an answer has to be.
type Level uint8

const (
	// Best is as of the head, which may be taken back.
	Best Level = iota
	// Final is as of the last finalized block.
	Final
)

func (l Level) String() string {
	if l == Final {
		return "finalized"
	}
	return "best"
}

// Description is what a chain is and can do.
type Description struct {
	// ID tells chains apart, such as "evm:1337" or "substrate:0x91b1…": transactions for
	// one are worthless on another.
	ID string
	// MaxBatch is how many attempts a Submit should carry at most.
	MaxBatch int
	// MaxPending is how many of one account's transactions the node is known to keep
	// in its pool without dropping any; 0 if not known.
	MaxPending int
	// BlockGas is what one transaction may spend at most; 0 if there is no such limit.
	BlockGas uint64
	// MinRaise is by how many percent a replacement has to pay more than the attempt
	// it replaces.
	MinRaise int
	// Depth is how many blocks below the head a block counts as finalized; 0 if the
	// chain itself says which are.
	Depth uint64
}
