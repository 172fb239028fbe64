//go:build unix

// Package chopstickstest runs a runtime that nobody here wrote, statemine 900, under Chopsticks, and without a network: it judges
// extrinsics as a chain does. Both come from npm ([scripts/chopsticks.sh] installs them), and nothing of them is committed.
//
// What it cannot judge: a pool (the second extrinsic of one nonce is stale there, and none waits), finality (each head is final), and the
// fields of headers. Those are [substratetest]'s.
//
// [scripts/chopsticks.sh]: https://github.com/conchhq/conch/blob/main/scripts/chopsticks.sh
// [substratetest]: https://pkg.go.dev/github.com/conchhq/conch/chain/substrate/substratetest
package chopstickstest

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
)

// patience is how long the node may take to start, and to answer a call, on a busy machine.
const patience = 2 * time.Minute

// Node is the runtime behind a JSON-RPC endpoint. A block is made by [Node.Mine] alone.
type Node struct {
	Address string // host:port, for HTTP and WebSocket

	t testing.TB
}

// Start runs the chain with accounts, by their addresses in SS58, and what each has. The test is skipped if the tools are not installed;
// in CI it fails. The node ends with the test.
func Start(t testing.TB, funds map[string]uint64) *Node {
	t.Helper()
	tools := os.Getenv("CONCH_CHOPSTICKS")
	if tools == "" {
		runtest.Missing(t, "Chopsticks is not installed: scripts/chopsticks.sh installs it from npm, CONCH_CHOPSTICKS names its folder")
	}
	cmd := exec.CommandContext(context.Background(), "node", filepath.Join(tools, "node_modules/@acala-network/chopsticks/chopsticks.cjs"), //nolint:gosec // the tool that the tester named
		"--config", configure(t, tools, funds), "--host", "127.0.0.1", "--port", "0")
	cmd.Dir = t.TempDir()
	process := proctest.Listen(t, cmd)
	said := process.Says(patience, "RPC listening on")
	at := regexp.MustCompile(`http://([0-9.:]+)`).FindStringSubmatch(said)
	if at == nil {
		t.Fatalf("Chopsticks does not say where it listens: %s", said)
	}
	go func() { // what it prints later is of no use
		for range process.Lines {
		}
	}()
	return &Node{Address: at[1], t: t}
}

// configure writes the configuration of a run.
func configure(t testing.TB, tools string, funds map[string]uint64) (path string) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "genesis: %s\nbuild-block-mode: Manual\nmock-signature-host: false\nimport-storage:\n  System:\n    Account:\n", filepath.Join(tools, "spec.json"))
	for address, free := range funds {
		fmt.Fprintf(&b, "      - - - %s\n        - providers: 1\n          data:\n            free: %q\n", address, fmt.Sprint(free))
	}
	path = filepath.Join(t.TempDir(), "chopsticks.yml")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Call calls a method, and reads its result.
func (n *Node) Call(result any, method string, params ...any) {
	n.t.Helper()
	if err := n.Try(result, method, params...); err != nil {
		n.t.Fatalf("%s: %v", method, err)
	}
}

// Try is Call for a method that may fail.
func (n *Node) Try(result any, method string, params ...any) error {
	n.t.Helper()
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // also in a cleanup
	defer cancel()
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+n.Address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	ask.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(ask)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var said struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
			Data    any
		}
	}
	if err := json.Unmarshal(text, &said); err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	if said.Error != nil {
		return fmt.Errorf("%d %s (%v)", said.Error.Code, said.Error.Message, said.Error.Data)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(said.Result, result)
}

// Bytes calls a method whose result is bytes in hexadecimal.
func (n *Node) Bytes(method string, params ...any) []byte {
	n.t.Helper()
	var text string
	n.Call(&text, method, params...)
	b, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		n.t.Fatalf("%s: %v", method, err)
	}
	return b
}

// Hex returns bytes as Substrate's JSON has them.
func Hex(b []byte) string { return "0x" + hex.EncodeToString(b) }

// Mine makes a block of the extrinsics that were submitted, and returns its hash.
func (n *Node) Mine() (hash string) {
	n.t.Helper()
	n.Call(&hash, "dev_newBlock", map[string]any{"count": 1})
	return hash
}

// Body returns the extrinsics of a block.
func (n *Node) Body(hash string) []string {
	n.t.Helper()
	var block struct {
		Block struct{ Extrinsics []string }
	}
	n.Call(&block, "chain_getBlock", hash)
	return block.Block.Extrinsics
}

// invalid are the words for what is wrong with an extrinsic, in the order of the runtime's type.
var invalid = [...]string{
	"Call", "Payment", "Future", "Stale", "BadProof", "AncientBirthBlock", "ExhaustsResources", "Custom", "BadMandatory", "MandatoryValidation", "BadSigner",
}

// Validate asks the runtime what it says of an extrinsic at the head: its priority, and "OK" or why it is invalid.
func (n *Node) Validate(extrinsic []byte) (said string, priority uint64) {
	n.t.Helper()
	var head string
	n.Call(&head, "chain_getBlockHash")
	ask := append([]byte{2}, extrinsic...) // as one that came from outside
	hash, err := hex.DecodeString(strings.TrimPrefix(head, "0x"))
	if err != nil {
		n.t.Fatal(err)
	}
	answer := n.Bytes("state_call", "TaggedTransactionQueue_validate_transaction", Hex(append(ask, hash...)))
	switch {
	case len(answer) > 9 && answer[0] == 0:
		for i := range 8 {
			priority |= uint64(answer[1+i]) << (8 * i)
		}
		return "OK", priority
	case len(answer) > 2 && answer[0] == 1 && answer[1] == 0 && int(answer[2]) < len(invalid):
		return invalid[answer[2]], 0
	}
	return fmt.Sprintf("%x", answer), 0
}
