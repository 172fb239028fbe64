// Package explorer reads from an EVM chain what one account did there: whole blocks
// and their receipts, by plain JSON-RPC. It shares no code with what sends, so that
// it can bear witness against it.
package explorer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/evidence"
)

const (
	patience = 10 * time.Second // with one question to a node that stands beside us
	pause    = 50 * time.Millisecond
)

// block is what a block says that we look at. Numbers are hexadecimal texts.
type block struct {
	Number       string
	Hash         string
	ParentHash   string
	Transactions []struct{ Hash, From, Nonce, Input string }
}

type receipt struct{ TransactionHash, Status string }

// Read walks the whole chain, from its first block to its head, and returns what the
// account sent, in order, and the newest final block. A chain that changes meanwhile
// is an error: nothing could be said of it.
func Read(ctx context.Context, url, account string) (mined []evidence.Mined, final uint64, err error) {
	c := &client{url: url, http: &http.Client{Timeout: patience, Transport: &http.Transport{}}}
	defer c.http.CloseIdleConnections()
	if err := c.still(ctx, account); err != nil {
		return nil, 0, err
	}
	var newest struct{ Number string } // its transactions are hashes alone here
	if err := c.ask(ctx, &newest, "eth_getBlockByNumber", "finalized", false); err != nil {
		return nil, 0, err
	}
	final, err = number(newest.Number)
	if err != nil {
		return nil, 0, err
	}
	var head string
	if err := c.ask(ctx, &head, "eth_blockNumber"); err != nil {
		return nil, 0, err
	}
	last, err := number(head)
	if err != nil {
		return nil, 0, err
	}
	parent := ""
	for n := range last + 1 {
		var b block
		if err := c.ask(ctx, &b, "eth_getBlockByNumber", hex(n), true); err != nil {
			return nil, 0, err
		}
		if b.Number != hex(n) || parent != "" && b.ParentHash != parent {
			return nil, 0, fmt.Errorf("block %d does not follow block %d: the chain changed while it was read", n, n-1)
		}
		parent = b.Hash
		sent, err := c.sent(ctx, b, n, account)
		if err != nil {
			return nil, 0, err
		}
		mined = append(mined, sent...)
	}
	return mined, final, nil
}

// still waits until nothing of the account is left that a next block would take: what
// is on its way is to be judged too.
func (c *client) still(ctx context.Context, account string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the chain does not take what waits in its pool"))
	defer cancel()
	poll := time.NewTicker(pause)
	defer poll.Stop()
	for {
		var mined, all string
		if err := c.ask(ctx, &mined, "eth_getTransactionCount", account, "latest"); err != nil {
			return err
		}
		if err := c.ask(ctx, &all, "eth_getTransactionCount", account, "pending"); err != nil {
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

// sent are the account's transactions in a block.
func (c *client) sent(ctx context.Context, b block, n uint64, account string) (all []evidence.Mined, err error) {
	for _, tx := range b.Transactions {
		if !strings.EqualFold(tx.From, account) {
			continue
		}
		nonce, err := number(tx.Nonce)
		if err != nil {
			return nil, err
		}
		all = append(all, evidence.Mined{Hash: tx.Hash, Nonce: nonce, Block: n, Mark: tx.Input, Failed: true})
	}
	if len(all) == 0 {
		return nil, nil
	}
	var receipts []receipt
	if err := c.ask(ctx, &receipts, "eth_getBlockReceipts", hex(n)); err != nil {
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

type client struct {
	url  string
	http *http.Client
}

// ask calls a method and reads its result, which must be there.
func (c *client) ask(ctx context.Context, out any, method string, args ...any) error {
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": append([]any{}, args...)})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("asking the chain: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	var said struct {
		Result json.RawMessage
		Error  *struct{ Message string }
	}
	err = json.NewDecoder(answer.Body).Decode(&said)
	switch {
	case err != nil:
	case said.Error != nil:
		err = errors.New(said.Error.Message)
	case len(said.Result) == 0 || string(said.Result) == "null":
		err = errors.New("it has none")
	default:
		err = json.Unmarshal(said.Result, out)
	}
	if err != nil {
		return fmt.Errorf("asking the chain for %s%v: %w", method, args, err)
	}
	return nil
}

func hex(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }

func number(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("the chain says %q where a number belongs", text)
	}
	return n, nil
}
