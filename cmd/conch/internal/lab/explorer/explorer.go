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
	"net/http"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/evidence"
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

type receipt struct{ TransactionHash, Status string }

// Read reads the whole chain, from its first block to its head, and stores in a the account's
// transactions in order, their number by the chain's own count, and the newest final block.
// If the chain changes meanwhile, it returns an error, since the result would prove nothing.
func Read(ctx context.Context, url, account string, a *evidence.Account) error {
	c := &client{url: url, http: &http.Client{Timeout: patience, Transport: &http.Transport{}}}
	defer c.http.CloseIdleConnections()
	if err := c.awaitEmptyPool(ctx, account); err != nil {
		return err
	}
	var newest struct{ Number string } // its transactions are hashes only
	if err := c.ask(ctx, &newest, "eth_getBlockByNumber", "finalized", false); err != nil {
		return err
	}
	var err error
	if a.Final, err = number(newest.Number); err != nil {
		return err
	}
	last, err := c.number(ctx, "eth_blockNumber")
	if err != nil {
		return err
	}
	if a.Mined, err = c.walk(ctx, account, last); err != nil {
		return err
	}
	a.Count, err = c.number(ctx, "eth_getTransactionCount", account, hexNumber(last)) // at last, since the chain goes on
	return err
}

// walk reads all blocks up to the last. Each must follow the one before.
func (c *client) walk(ctx context.Context, account string, last uint64) (mined []evidence.Mined, err error) {
	parent := ""
	for n := range last + 1 {
		var b block
		if err := c.ask(ctx, &b, "eth_getBlockByNumber", hexNumber(n), true); err != nil {
			return nil, err
		}
		if b.Number != hexNumber(n) || parent != "" && b.ParentHash != parent {
			return nil, fmt.Errorf("block %d does not follow block %d: the chain changed while it was read", n, n-1)
		}
		parent = b.Hash
		sent, err := c.sent(ctx, b, n, account)
		if err != nil {
			return nil, err
		}
		mined = append(mined, sent...)
	}
	return mined, nil
}

// awaitEmptyPool waits until the pool has no transaction of the account that a block could
// still take, since those must be judged too.
func (c *client) awaitEmptyPool(ctx context.Context, account string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the chain does not include the transactions in its pool"))
	defer cancel()
	poll := time.NewTicker(pause)
	defer poll.Stop()
	for {
		mined, err := c.number(ctx, "eth_getTransactionCount", account, "latest")
		if err != nil {
			return err
		}
		all, err := c.number(ctx, "eth_getTransactionCount", account, "pending")
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

func (c *client) sent(ctx context.Context, b block, n uint64, account string) (all []evidence.Mined, err error) {
	for _, tx := range b.Transactions {
		if !strings.EqualFold(tx.From, account) {
			continue
		}
		nonce, err := number(tx.Nonce)
		if err != nil {
			return nil, err
		}
		does, err := tx.deed()
		if err != nil {
			return nil, err
		}
		all = append(all, evidence.Mined{Hash: tx.Hash, Nonce: nonce, Block: n, Deed: does, Failed: true})
	}
	if len(all) == 0 {
		return nil, nil
	}
	var receipts []receipt
	if err := c.ask(ctx, &receipts, "eth_getBlockReceipts", hexNumber(n)); err != nil {
		return nil, err
	}
	for i := range all {
		for _, r := range receipts {
			if r.TransactionHash == all[i].Hash && r.Status == "0x1" {
				all[i].Failed = false
			}
		}
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
