package transactions

import (
	"errors"
	"time"

	"github.com/conchhq/conch/pending"
)

// What transactions says to callers.
var (
	errUnknownAccount = errors.New("this node has no account with that name or address")
	errUnknown        = errors.New("this node knows no transaction with this id")
	errKeyTaken       = errors.New("another transaction has this idempotency key already: use a new key, or repeat the first request unchanged")
	errBusy           = errors.New("the node has too many requests now: ask again in a moment")
)

// Selection says which transactions to list. An empty field selects all.
type Selection struct {
	pending.Filter

	Name string // or address, of the account
}

// Transaction is an intent and its state.
type Transaction struct {
	ID         string     `json:"id"`
	Version    uint64     `json:"version"`
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
	Outcome    *string    `json:"outcome"`          // null until it has ended
	Revert     *Revert    `json:"revert,omitempty"` // of one transaction alone, if that is its outcome
	Why        string     `json:"why,omitempty"`
	Cancelling bool       `json:"cancelling,omitempty"`
	WaitingFor *Waiting   `json:"waiting_for"` // null once it has ended
	Nonce      *uint64    `json:"nonce"`
	Hash       *string    `json:"hash"`
	Block      *BlockName `json:"block"`
	Witnesses  []string   `json:"witnesses"` // null until it is final
	Failed     bool       `json:"failed"`
	Effect     *string    `json:"effect"` // null until it is in a block
	Creator    string     `json:"creator"`
	CreatedAt  time.Time  `json:"created_at"`
	ChangedAt  *time.Time `json:"changed_at"` // when its state was last stored; null until it has a nonce
	Said

	record pending.Record
}

// Revert says why the call of a transaction in the chain had no effect, as far as that can be found out: by the same call on the
// state after the block before its own.
type Revert struct {
	Reason     string `json:"reason,omitempty"`
	Unknown    string `json:"unknown,omitempty"` // why there is no reason
	ReplayedAt uint64 `json:"replayed_at"`       // the height of that block
}

// BlockName names the block that a transaction is in.
type BlockName struct {
	Number uint64 `json:"number"`
	Hash   string `json:"hash"`
}
