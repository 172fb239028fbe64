package chaintest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"math/big"

	"github.com/conchhq/conch/chain"
)

const (
	baseGas    = 21_000
	gasOfAByte = 16
)

// transaction is what the bytes of an attempt say. There is no signature: only a
// node makes them, for accounts that it has the key of.
type transaction struct {
	Chain string
	From  []byte
	Index uint64
	To    []byte
	Value *big.Int
	Data  []byte
	Gas   uint64
	Max   *big.Int
	Tip   *big.Int
}

func (tx transaction) account() chain.Account { return chain.Account(tx.From) }

// needs is the gas that the call uses, however much it is given.
func (tx transaction) needs() uint64 { return gasNeeded(tx.Data) }

func gasNeeded(data []byte) uint64 { return baseGas + gasOfAByte*uint64(len(data)) }

func fails(data []byte) bool { return bytes.HasPrefix(data, []byte("revert")) }

// cost is the most it can take from the account.
func (tx transaction) cost() *big.Int {
	c := new(big.Int).Mul(tx.Max, new(big.Int).SetUint64(tx.Gas))
	return c.Add(c, tx.Value)
}

func (tx transaction) signed() chain.Signed {
	raw, err := json.Marshal(tx)
	if err != nil {
		panic(err) // numbers and bytes only
	}
	return chain.Signed{
		Account: tx.account(), Index: tx.Index, Hash: hashOf(raw), Bytes: raw,
		Fee: chain.Fee{Max: tx.Max, Tip: tx.Tip}, Gas: tx.Gas,
	}
}

func decode(raw []byte) (transaction, bool) {
	var tx transaction
	err := json.Unmarshal(raw, &tx)
	ok := err == nil && tx.Value != nil && tx.Max != nil && tx.Tip != nil && len(tx.From) > 0
	return tx, ok
}

func hashOf(parts ...[]byte) chain.Hash {
	sum := sha256.Sum256(bytes.Join(parts, []byte{0}))
	return chain.Hash(sum[:])
}
