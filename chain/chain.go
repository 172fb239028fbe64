package chain

import (
	"context"
	"iter"
	"time"
)

// Chain is one blockchain behind one endpoint. All methods are safe for concurrent use
// and return an error that wraps [ErrUnreachable] if the endpoint gave no answer.
type Chain interface { //nolint:interfacebloat // one call a step of a transaction's life; a driver has all of them
	// Describe returns the chain's identity and limits, which stay while it is the same chain.
	Describe(ctx context.Context) (Description, error)
	// Next returns the account's next nonce at the head, which is the number of its transactions
	// in the chain. A pool does not count.
	Next(ctx context.Context, account Account) (uint64, error)
	// Counts returns what Next returns for each of some accounts, in as few requests as possible.
	Counts(ctx context.Context, accounts []Account) ([]uint64, error)
	// Pooled returns the account's next nonce, its transactions in the node's pool included. The
	// error wraps ErrAnswer if the node cannot say.
	Pooled(ctx context.Context, account Account) (uint64, error)
	// Prepare signs one attempt for each draft and sends nothing. The results are in the
	// order of the drafts; a fault of one draft is in its own result.
	Prepare(ctx context.Context, drafts []Draft) ([]Prepared, error)
	// Submit sends signed attempts to the node, in their order and in as few requests as
	// possible. It returns one outcome for each attempt; without an answer it is Unknown.
	Submit(ctx context.Context, attempts []Signed) []Outcome
	// Probe looks up attempts in the best chain and the node's pool, in the order of the hashes. A
	// block that it names is where to look, and no proof: see Linked and Confirm. It is not asked for where the Description
	// says NoIndex.
	Probe(ctx context.Context, hashes []Hash) ([]Sighting, error)
	// Scan lists the transactions that an account has in the block of and its ancestors, by parent
	// hashes, from a height on, also those that others signed, and where it has ceased to exist. It reads at most so many blocks, and
	// returns the height at which to go on.
	Scan(ctx context.Context, of Block, account Account, from uint64, most int) (found []Inclusion, next uint64, err error)
	// Prove reads the transaction In.Hash of a block, checks its bytes, and returns what was signed, with its Gas: they have this
	// hash, and the signature of the account. The error wraps ErrNotFound if the endpoint does not have it, and
	// ErrUnproven if it has something else, or what the driver cannot decode. That the block has it is for Confirm to say.
	Prove(ctx context.Context, in Inclusion) (Draft, error)
	// Version returns the version of the chain's runtime in the state after a block, which decides what the next block takes; see
	// Signed. It is only asked for where the Description has an Era. The error wraps ErrNotFound if the endpoint does not know
	// the block.
	Version(ctx context.Context, of Block) (string, error)
	// Block looks up a block by its hash. The error wraps ErrThread if the endpoint does not know it.
	Block(ctx context.Context, hash Hash) (Block, error)
	// Linked reports which of some blocks are the block of, or ancestors of it, by the parent hashes
	// that the endpoint showed. A number alone proves nothing (W1). The error wraps ErrThread if the
	// blocks between are too many, or unknown.
	Linked(ctx context.Context, of Block, blocks []Block) ([]bool, error)
	// Confirm asks for a second opinion about final transactions, in the order of the claims. It
	// comes from another endpoint than Claim.By, or from the same one, which is asked anew for all
	// of it after its final block has passed Claim.At, or its head has stood for a while (W2).
	Confirm(ctx context.Context, claims []Claim) ([]Opinion, error)
	// Heads follows the best chain until ctx ends and yields every block that joins it,
	// leaves it (final or not) or becomes final. From the zero Block it begins by applying
	// the present head. From any other it first reverts that block and its ancestors as far
	// as they have left the chain, then applies the blocks up to the head. It ends with an
	// error of ctx or the endpoint, or one that wraps ErrThread if the chain has changed
	// further back than the driver remembers.
	Heads(ctx context.Context, from Block) iter.Seq2[Turn, error]
	// Inclusions lists the transactions that the accounts have in a block, in block order,
	// including those that another holder of the key signed. The error wraps ErrNotFound
	// if the node does not know the block.
	Inclusions(ctx context.Context, block Block, accounts []Account) ([]Inclusion, error)
	// Replay carries a call out on the state after the block of a height, and changes nothing. It returns why the
	// call fails there, in words of the contract or its node; an empty text if it does not. The error wraps
	// ErrAnswer if the endpoint cannot say.
	Replay(ctx context.Context, from Account, call Call, height uint64) (why string, err error)
	// Receipt returns what a transaction did in its block. A driver of one endpoint has that endpoint's word, in the first
	// place of By: call Witnessed. The error wraps ErrNotFound if the endpoint does not have the transaction in this very
	// block, ErrDisagree if in has another effect than it, or if endpoints contradict one another.
	Receipt(ctx context.Context, in Inclusion) (Receipt, error)
	// AccountStates returns how accounts stand at the head, in their order, all as of one block.
	AccountStates(ctx context.Context, accounts []Account) ([]AccountState, error)
	// Quote tries a call out on the head, and changes, signs and sends nothing. It needs no key.
	Quote(ctx context.Context, from Account, call Call, speed Speed) (Quote, error)
}

// Description is the identity and the limits of a chain.
type Description struct {
	// ID is such as "evm:1337". Transactions for one ID are worthless on another chain.
	ID string
	// MaxBatch is the most attempts one Submit should carry.
	MaxBatch int
	// MaxPending is how many transactions of one account the node's pool keeps; 0 if unknown.
	MaxPending int
	// BlockGas is the most gas one transaction may spend; 0 if there is no limit.
	BlockGas uint64
	// MinRaise is by how many percent a replacement has to outbid the attempt it replaces; 0: the chain has another measure, such as
	// a priority, which its driver knows.
	MinRaise int
	// Depth is how many blocks below the head a block is final; 0 if the chain names it.
	Depth uint64
	// StillAfter is for how long the head has to stand until time counts in the place of blocks; 0: it never does.
	StillAfter time.Duration
	// Era is for how many blocks an attempt may be included after it was signed, at most (see Signed.Until); 0: for ever, and
	// by every version of the chain's runtime.
	Era uint64
	// NoIndex says that no node finds a transaction by its hash: only blocks have it, and of a pool Pooled says all that is known.
	NoIndex bool
	// Lives says that an account may cease to exist, and begin anew with the first nonces: what was signed in its life before is
	// then good once more, as long as it has not worn out. Where and when that happens, Inclusion.Reaped says.
	Lives bool
	// By is the endpoint, without secrets.
	By string
	// Genesis is the hash of the first block, empty if the endpoint does not return it. Chains that were
	// forked from one another share their ID.
	Genesis Hash
}
