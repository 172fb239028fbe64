// Package explorer reads from an EVM chain what one account did, or what became of the entries
// of one contract of the sequencer: whole blocks and their receipts, by plain JSON-RPC. It shares
// no code with the sender or the sequencer, so that it can contradict them.
package explorer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
	"github.com/conchhq/conch/cmd/conch/internal/lab/rpc"
)

const (
	patience = 10 * time.Second // for one question to a local node
	pause    = 50 * time.Millisecond
)

// block has the fields of a block that are used. Numbers are hexadecimal strings.
type block struct {
	Number       string
	Hash         string
	ParentHash   string
	Transactions []transaction
}

// transaction has an empty To if it creates a contract.
type transaction struct{ Hash, From, To, Value, Input, Nonce, Gas string }

// receipt has what contracts have said, too.
type receipt struct {
	TransactionHash, Status  string
	ContractAddress, GasUsed string
	Logs                     []struct {
		Address, Data string
		Topics        []string
	}
}

// client asks one chain.
type client struct{ *rpc.Client }

// Read reads the whole chain, from its first block to its head, and stores in a the account's
// transactions in order, their number by the chain's own count, and the newest final block.
// If the chain changes meanwhile, it returns an error, since the result would prove nothing.
func Read(ctx context.Context, url, account string, a *evidence.Account) error {
	c := client{rpc.New(url, patience)}
	defer c.Close()
	if err := c.awaitEmptyPool(ctx, account); err != nil {
		return err
	}
	var newest struct{ Number string } // its transactions are hashes only
	if err := c.Ask(ctx, &newest, "eth_getBlockByNumber", "finalized", false); err != nil {
		return err
	}
	var err error
	if a.Final, err = rpc.Number(newest.Number); err != nil {
		return err
	}
	last, err := c.Number(ctx, "eth_blockNumber")
	if err != nil {
		return err
	}
	err = c.blocks(ctx, 0, last, func(b block, n uint64) error {
		sent, err := c.sent(ctx, b, n, account)
		a.Mined = append(a.Mined, sent...)
		return err
	})
	if err == nil {
		a.Count, err = c.Count(ctx, account, rpc.Hex(last)) // at last, since the chain goes on
	}
	return err
}

// blocks calls each with every block from one to another. Each must follow the one before.
func (c client) blocks(ctx context.Context, from, to uint64, each func(block, uint64) error) error {
	parent := ""
	for n := from; n <= to; n++ {
		var b block
		if err := c.Ask(ctx, &b, "eth_getBlockByNumber", rpc.Hex(n), true); err != nil {
			return err
		}
		if b.Number != rpc.Hex(n) || parent != "" && b.ParentHash != parent {
			return fmt.Errorf("block %d does not follow block %d: the chain changed while it was read", n, n-1)
		}
		parent = b.Hash
		if err := each(b, n); err != nil {
			return err
		}
	}
	return nil
}

// receipts returns those of a block, in the order of its transactions.
func (c client) receipts(ctx context.Context, b block) (all []receipt, err error) {
	if len(b.Transactions) == 0 {
		return nil, nil
	}
	if err := c.Ask(ctx, &all, "eth_getBlockReceipts", b.Number); err != nil {
		return nil, err
	}
	if len(all) != len(b.Transactions) {
		return nil, fmt.Errorf("block %s has %d transactions and %d receipts", b.Number, len(b.Transactions), len(all))
	}
	for i, tx := range b.Transactions {
		if all[i].TransactionHash != tx.Hash {
			return nil, fmt.Errorf("block %s has the receipt of %s in the place of %s", b.Number, all[i].TransactionHash, tx.Hash)
		}
	}
	return all, nil
}

// awaitEmptyPool waits until the pool has no transaction of the account that a block could
// still take, since those must be judged too.
func (c client) awaitEmptyPool(ctx context.Context, account string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the chain does not include the transactions in its pool"))
	defer cancel()
	poll := time.NewTicker(pause)
	defer poll.Stop()
	for {
		mined, err := c.Count(ctx, account, "latest")
		if err != nil {
			return err
		}
		all, err := c.Count(ctx, account, "pending")
		if err != nil {
			return err
		}
		if mined == all {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c client) sent(ctx context.Context, b block, n uint64, account string) (all []evidence.Mined, err error) {
	if !slices.ContainsFunc(b.Transactions, func(tx transaction) bool { return strings.EqualFold(tx.From, account) }) {
		return nil, nil
	}
	receipts, err := c.receipts(ctx, b)
	if err != nil {
		return nil, err
	}
	for i, tx := range b.Transactions {
		if !strings.EqualFold(tx.From, account) {
			continue
		}
		nonce, err := rpc.Number(tx.Nonce)
		if err != nil {
			return nil, err
		}
		does, err := tx.deed()
		if err != nil {
			return nil, err
		}
		all = append(all, evidence.Mined{Hash: tx.Hash, Nonce: nonce, Block: n, Deed: does, Failed: receipts[i].Status != "0x1"})
	}
	return all, nil
}

func (tx transaction) deed() (string, error) {
	value, ok := new(big.Int).SetString(strings.TrimPrefix(tx.Value, "0x"), 16)
	switch {
	case !ok:
		return "", fmt.Errorf("the chain says %q where a value belongs", tx.Value)
	case strings.EqualFold(tx.To, tx.From) && value.Sign() == 0 && tx.Input == "0x":
		return evidence.Nothing, nil
	default:
		return evidence.Deed(cmp.Or(tx.To, "0x"), value.String(), tx.Input), nil
	}
}
