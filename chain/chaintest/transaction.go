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

// transaction is a decoded attempt. It needs no signature, since only the node makes them.
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

	Version string `json:",omitempty"` // of the runtime for which it was signed
	Birth   uint64 `json:",omitempty"` // the height of the block Born, from which its Era counts
	Born    []byte `json:",omitempty"`
	Era     uint64 `json:",omitempty"`
}

func (tx transaction) account() chain.Account { return chain.Account(tx.From) }

// needs returns the gas that the call uses.
func (tx transaction) needs() uint64 { return gasNeeded(tx.Data) }

func gasNeeded(data []byte) uint64 { return baseGas + gasOfAByte*uint64(len(data)) }

func fails(data []byte) bool { return bytes.HasPrefix(data, []byte("revert")) }

// effectOf returns what a call does in a block.
func effectOf(data []byte) chain.Effect {
	if bytes.HasPrefix(data, []byte("half")) {
		return chain.Effect{Kind: chain.EffectPartly, Why: "its second half"}
	}
	return chain.EffectOf(fails(data))
}

// cost returns the most that the account may pay.
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
		Fee: chain.Fee{Max: tx.Max, Tip: tx.Tip}, Gas: tx.Gas, Until: tx.until(), Version: tx.Version,
	}
}

func decode(raw []byte) (transaction, bool) {
	var tx transaction
	err := json.Unmarshal(raw, &tx)
	ok := err == nil && tx.Value != nil && tx.Max != nil && tx.Tip != nil && len(tx.From) > 0
	return tx, ok
}

// read decodes a transaction once: the same bytes are sent, mined and taken back again and again. The lock is held.
func (n *Node) read(raw []byte) (included, bool) {
	if tx, is := n.texts[string(raw)]; is {
		return tx, true
	}
	tx, ok := decode(raw)
	if !ok {
		return included{}, false
	}
	one := included{transaction: tx, signed: tx.signed(), effect: effectOf(tx.Data)}
	n.texts[string(raw)] = one
	return one, true
}

// sign makes a transaction, and remembers it as it is decoded. The lock is held.
func (n *Node) sign(tx transaction) chain.Signed {
	signed := tx.signed()
	own := func(i *big.Int) *big.Int { return new(big.Int).Set(i) }
	tx.From, tx.To, tx.Data, tx.Born = bytes.Clone(tx.From), bytes.Clone(tx.To), bytes.Clone(tx.Data), bytes.Clone(tx.Born)
	tx.Value, tx.Max, tx.Tip = own(tx.Value), own(tx.Max), own(tx.Tip)
	raw := string(signed.Bytes)
	kept := signed
	kept.Bytes, kept.Fee = []byte(raw), chain.Fee{Max: tx.Max, Tip: tx.Tip}
	n.texts[raw] = included{transaction: tx, signed: kept, effect: effectOf(tx.Data)}
	return signed
}

func hashOf(parts ...[]byte) chain.Hash {
	sum := sha256.Sum256(bytes.Join(parts, []byte{0}))
	return chain.Hash(sum[:])
}
