package providertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/internal/proctest"
)

// patience bounds the build and the start of a node.
const patience = 10 * time.Minute

// Node is a running conch-devnode: what providers stand before, and the witness of a test.
type Node struct {
	HTTP    string `json:"http"`
	ChainID uint64 `json:"chain_id"`

	client *http.Client
}

// Program builds conch-devnode from its folder. CONCH_DEVNODE names one that is built already.
func Program(t testing.TB, folder string) string {
	t.Helper()
	if named := os.Getenv("CONCH_DEVNODE"); named != "" {
		return named
	}
	path, err := proctest.Build("chain/conch-devnode", folder, "-ldflags", "-s -w")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// StartNode runs the program with flags until the test ends.
func StartNode(t testing.TB, program string, flags ...string) *Node {
	t.Helper()
	// No context: the test ends it.
	flags = append([]string{"--listen", "127.0.0.1:0", "--parent", strconv.Itoa(os.Getpid())}, flags...)
	cmd := exec.CommandContext(context.Background(), program, flags...)
	cmd.Stderr = os.Stderr
	line := proctest.Listen(t, cmd).Says(patience, "")
	n := NodeAt(t, "")
	if err := json.Unmarshal([]byte(line), n); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return n
}

// NodeAt is a node that the test runs itself.
func NodeAt(t testing.TB, url string) *Node {
	t.Helper()
	n := &Node{HTTP: url, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 32, DisableCompression: true}}}
	t.Cleanup(n.client.CloseIdleConnections)
	return n
}

// Call makes one call, directly.
func (n *Node) Call(ctx context.Context, into any, method string, params ...any) error {
	raw := make([]json.RawMessage, len(params))
	for i, param := range params {
		raw[i] = encoded(param)
	}
	a := n.ask(ctx, method, raw...)
	if a.Err != nil {
		return fmt.Errorf("%s: %w", method, a.Err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.Result, into)
}

// ask makes one call. A node without an answer is a fault too.
func (n *Node) ask(ctx context.Context, method string, params ...json.RawMessage) Answer {
	if params == nil {
		params = []json.RawMessage{}
	}
	request := map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
	var answer struct {
		Result json.RawMessage
		Error  *RPCError
	}
	if err := n.post(ctx, encoded(request), &answer); err != nil {
		return Answer{Err: &RPCError{Code: -32603, Message: err.Error()}}
	}
	return Answer{Result: answer.Result, Err: answer.Error}
}

func (n *Node) post(ctx context.Context, body []byte, into any) (err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.HTTP, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := n.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reply.Body.Close()) }()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// Height returns the height of the head, or with the tag "finalized" of the final block.
func (n *Node) Height(ctx context.Context, tag string) (uint64, error) {
	a := n.ask(ctx, "eth_getHeaderByNumber", encoded(tag))
	height, there := a.number("number")
	if !there {
		return 0, fmt.Errorf("no %s block: %s", tag, a.encode())
	}
	return height, nil
}

// Fund gives an account an amount in gwei, by a block.
func (n *Node) Fund(ctx context.Context, a chain.Account, gwei uint64) error {
	return n.Call(ctx, nil, "dev_fund", a, hex(gwei))
}

// Mined is a transaction in a block, as the node has it.
type Mined struct {
	Block, Nonce uint64
	BlockHash    string
	Hash, Input  string
}

// Count returns how many transactions of an account are in the chain.
func (n *Node) Count(ctx context.Context, a chain.Account) (uint64, error) {
	var text string
	if err := n.Call(ctx, &text, "eth_getTransactionCount", a.String(), latest); err != nil {
		return 0, err
	}
	count, ok := parseHex(text)
	if !ok {
		return 0, fmt.Errorf("the count %q", text)
	}
	return count, nil
}

// Mined returns the transactions of an account in the blocks from one height on.
func (n *Node) Mined(ctx context.Context, a chain.Account, from uint64) (all []Mined, err error) {
	head, err := n.Height(ctx, latest)
	if err != nil {
		return nil, err
	}
	for number := from; number <= head; number++ {
		var b struct {
			Hash         string
			Transactions []struct{ Hash, From, Nonce, Input string }
		}
		if err := n.Call(ctx, &b, "eth_getBlockByNumber", hex(number), true); err != nil {
			return nil, err
		}
		for _, tx := range b.Transactions {
			if strings.EqualFold(tx.From, a.String()) {
				nonce, _ := parseHex(tx.Nonce)
				all = append(all, Mined{Block: number, BlockHash: b.Hash, Nonce: nonce, Hash: tx.Hash, Input: tx.Input})
			}
		}
	}
	return all, nil
}
