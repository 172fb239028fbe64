package explorer

import (
	"context"
	"errors"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

// Call is what an account has sent to a contract.
type Call struct {
	Hash     string // of the transaction
	To, Data string
	Gas      uint64 // limit
}

// Spool is a part of what was sent to a contract, and what the contract has said.
type Spool struct {
	Calls []Call
	Said  map[auditor.Event]int
	Gas   uint64 // used
}

// Tape reads from a chain what was sent to one contract, part by part, so that the same can be sent on another chain. It
// belongs to one goroutine.
type Tape struct {
	client   client
	contract string
	next     uint64 // block
}

// NewTape begins with the first block.
func NewTape(url, contract string) *Tape {
	return &Tape{client{rpc.New(url, patience)}, contract, 1}
}

// Close ends the connections.
func (t *Tape) Close() { t.client.Close() }

// blocks calls each with every block that has transactions and was not read yet, up to the head.
func (t *Tape) blocks(ctx context.Context, each func(block, uint64) error) error {
	last, err := t.client.Number(ctx, "eth_blockNumber")
	if err != nil {
		return err
	}
	return t.client.blocks(ctx, t.next, last, func(b block, n uint64) error {
		if len(b.Transactions) > 0 {
			if err := each(b, n); err != nil {
				return err
			}
		}
		t.next = n + 1
		return nil
	})
}

// Copy makes, on a devnode with the same first block, blocks of all that was not read yet: with the same signatures, so
// that its contracts have the same addresses and contents.
func (t *Tape) Copy(ctx context.Context, url string) error {
	to := client{rpc.New(url, patience)}
	defer to.Close()
	return t.blocks(ctx, func(b block, n uint64) error {
		raw := make([]string, len(b.Transactions))
		for i, tx := range b.Transactions {
			if err := t.client.Ask(ctx, &raw[i], "eth_getRawTransactionByHash", tx.Hash); err != nil {
				return err
			}
		}
		if err := to.grow(ctx, n-1); err != nil {
			return err
		}
		return to.Ask(ctx, new(string), "dev_block", raw)
	})
}

// grow makes empty blocks up to a number: they lower the price of gas to what it was where the transactions were signed.
func (c client) grow(ctx context.Context, to uint64) error {
	head, err := c.Number(ctx, "eth_blockNumber")
	if err != nil || head >= to {
		return err
	}
	return c.Ask(ctx, new(string), "dev_mine", rpc.Hex(to-head))
}

// Read returns what was sent to the contract and was not read yet, in the order of the chain. Of what others have sent
// meanwhile it tells nothing.
func (t *Tape) Read(ctx context.Context) (s Spool, err error) {
	s.Said = map[auditor.Event]int{}
	return s, t.blocks(ctx, func(b block, _ uint64) error {
		receipts, err := t.client.receipts(ctx, b)
		if err != nil {
			return err
		}
		for i, tx := range b.Transactions {
			if strings.EqualFold(tx.To, t.contract) {
				if err := s.add(tx, receipts[i], t.contract); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s *Spool) add(tx transaction, receipt receipt, contract string) error {
	limit, err := rpc.Number(tx.Gas)
	used, other := rpc.Number(receipt.GasUsed)
	if err := errors.Join(err, other); err != nil {
		return err
	}
	s.Calls, s.Gas = append(s.Calls, Call{Hash: tx.Hash, To: tx.To, Data: tx.Input, Gas: limit}), s.Gas+used
	for _, l := range receipt.Logs {
		if !strings.EqualFold(l.Address, contract) {
			continue
		}
		e, err := event(l.Topics, l.Data)
		if err != nil {
			return err
		}
		s.Said[e.Event]++
	}
	return nil
}
