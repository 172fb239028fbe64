package transactions

import (
	"context"
	"errors"
	"math/big"
	"time"
)

// intents is where intents are accepted and looked up. All methods are safe for
// concurrent use; errors that are none of those below are the database's.
type intents interface { //nolint:interfacebloat // one for each thing that a caller can ask for
	// Accept stores a request and returns its ID, that of the first if its key was used
	// before for the same. Any node accepts; whoever leads the account sends.
	Accept(ctx context.Context, r Request) (id string, err error)
	Transaction(ctx context.Context, id string) (Transaction, error)
	Transactions(ctx context.Context, s Selection) ([]Transaction, error)
	// Cancel asks that a transaction not be made any more, which may be too late.
	Cancel(ctx context.Context, id string) error
}

// What a caller can be told beside what the database says.
var (
	errUnknownAccount = errors.New("no account is called that here")
	errUnknown        = errors.New("no transaction has this id here")
	errKeyTaken       = errors.New("this idempotency key names another transaction already: use a new one, or send the same as before")
	errBusy           = errors.New("too many ask at once: ask again in a moment")
)

// Request asks for one transaction.
type Request struct {
	Account string // its name, or its address
	To      []byte
	Value   *big.Int
	Data    []byte
	Gas     uint64
	Key     string
}

// Selection says which transactions to list. What is empty does not matter.
type Selection struct {
	Account, State, Fate string
	Most                 int
}

// Transaction is an intent and what has become of it.
type Transaction struct {
	ID         string     `json:"id"`
	Account    string     `json:"account"`
	Chain      string     `json:"chain"`
	Address    string     `json:"address"`
	To         string     `json:"to"`
	Value      string     `json:"value"`
	Data       string     `json:"data"`
	Gas        uint64     `json:"gas,omitempty"`
	Key        string     `json:"idempotency_key"`
	State      *string    `json:"state"` // null until it has a nonce
	Fate       string     `json:"fate"`
	Why        string     `json:"why,omitempty"`
	Cancelling bool       `json:"cancelling,omitempty"`
	Nonce      *uint64    `json:"nonce"`
	Hash       *string    `json:"hash"`
	Block      *BlockName `json:"block"`
	Failed     bool       `json:"failed"`
	Creator    string     `json:"creator"`
	CreatedAt  time.Time  `json:"created_at"`
}

// BlockName names the block that a transaction is in.
type BlockName struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}
