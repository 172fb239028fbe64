package chain

// Block names a block. The zero Block is none.
type Block struct {
	Number uint64
	Hash   Hash
	Parent Hash
}

// Turn is a step of the best chain.
type Turn struct {
	Kind  TurnKind
	Block Block
}

// TurnKind says what became of a block.
type TurnKind uint8

const (
	// Applied: the block is the new head; its parent was the head before.
	Applied TurnKind = iota
	// Reverted: the block was the head and is not in the chain any more. Those after
	// it were reverted before.
	Reverted
	// Finalized: the block and all before it stay.
	Finalized
)

func (k TurnKind) String() string { return [...]string{"applied", "reverted", "finalized"}[k] }
