package chain

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
	"strings"
)

// MostLogs is how many bytes of addresses, topics and data the Logs of a Receipt have at most.
const MostLogs = 64 << 10

// Receipt is what a transaction did in its block, as the endpoints in By say.
type Receipt struct { //nolint:recvcheck // a value, which only its maker changes
	Inclusion
	GasUsed  uint64
	GasPrice *big.Int // of a unit of gas, in the chain's smallest unit
	Beside   *big.Int // what it has paid beside its gas, such as for its data on another chain; nil is 0
	Created  Account  // the contract that it has created; empty if there is none
	Logs     []Log    // the first ones, of MostLogs bytes at most
	AllLogs  int      // how many there are
	By       [2]string

	sum  [sha256.Size]byte // of all logs
	size int               // of Logs
}

// Log is what a contract has told while the transaction was carried out.
type Log struct {
	Address Account
	Topics  []Hash
	Data    []byte
}

// AddLog adds the next log. It keeps it unless it, or one before it, is beyond MostLogs.
func (r *Receipt) AddLog(l Log) {
	sum, size := sha256.New(), len(l.Address)+len(l.Data)
	part := func(text string) {
		sum.Write(binary.AppendUvarint(nil, uint64(len(text))))
		sum.Write([]byte(text))
	}
	sum.Write(r.sum[:])
	part(string(l.Address))
	for _, t := range l.Topics {
		part(string(t))
		size += len(t)
	}
	sum.Write([]byte{0}) // no topic is empty
	part(string(l.Data))
	sum.Sum(r.sum[:0])
	if len(r.Logs) == r.AllLogs && r.size+size <= MostLogs {
		r.Logs, r.size = append(r.Logs, l), r.size+size
	}
	r.AllLogs++
}

// Fee returns what the transaction has paid, besides what it transferred.
func (r Receipt) Fee() *big.Int {
	fee := new(big.Int).Mul(r.GasPrice, new(big.Int).SetUint64(r.GasUsed))
	if r.Beside != nil {
		fee.Add(fee, r.Beside)
	}
	return fee
}

// Same reports whether two receipts say the same, logs that neither keeps included. By does not matter.
func (r Receipt) Same(other Receipt) bool {
	return r.Hash == other.Hash && r.Account == other.Account && r.Effect == other.Effect && r.Block.Hash == other.Block.Hash &&
		r.GasUsed == other.GasUsed && r.Fee().Cmp(other.Fee()) == 0 && r.GasPrice.Cmp(other.GasPrice) == 0 &&
		r.Created == other.Created && r.AllLogs == other.AllLogs && r.sum == other.sum
}

// Witnessed returns the receipt of a transaction in a block as two endpoints say, or the only one, asked twice: what one answer says is
// not believed. The error wraps ErrNotFound if the transaction is not in that block, and ErrDisagree if two answers differ.
func Witnessed(ctx context.Context, c Chain, in Inclusion) (Receipt, error) {
	r, err := c.Receipt(ctx, in)
	if err != nil || r.By[1] != "" {
		return r, err
	}
	again, err := c.Receipt(ctx, in)
	if err != nil {
		return Receipt{}, err
	}
	if !r.Same(again) {
		return Receipt{}, fmt.Errorf("%w about the receipt of %v: %s", ErrDisagree, in.Hash, strings.Join([]string{r.By[0], again.By[0]}, ", "))
	}
	r.By[1] = again.By[0]
	return r, nil
}

// AccountState is how an account stands after a block, as the endpoint By says.
type AccountState struct {
	Account Account
	Block   Block    // the head, when it was asked
	Balance *big.Int // in the chain's smallest unit
	Next    uint64   // the next nonce: the number of its transactions in the chain
	By      string
}
