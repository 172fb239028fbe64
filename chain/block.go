package chain

// Block identifies a block. The zero Block means no block.
type Block struct {
	Number uint64
	Hash   Hash
	Parent Hash
}

// Turn is one change of the best chain.
type Turn struct {
	Kind  TurnKind
	Block Block
	By    string // the endpoint that showed it, without secrets
}

// TurnKind says what happened to a block.
type TurnKind uint8

const (
	// Applied means that the block is the new head and its parent was the head before.
	Applied TurnKind = iota
	// Reverted means that the block, which was the head, has left the best chain.
	Reverted
	// Finalized means that the block and its ancestors are final. It is the last applied block or an
	// ancestor of it, by parent hashes that the endpoint showed.
	Finalized
)

func (k TurnKind) String() string { return [...]string{"applied", "reverted", "finalized"}[k] }
