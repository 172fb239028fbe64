//go:build unix

package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/proctest"
)

const (
	keystorePassword = "a password nobody must see"
	// worthlessKey is the key that conch-devnode funds, as in testdata/keystore.json.
	worthlessKey    = "098d92f435cd50256cba6c56eec13aa7c66bf777b96619abad28b985daae5ad7"
	fundedAddress   = "0x6d2d50b5d17b86bf964d636751ed84b7b9fc8971"
	nobodysAddress  = "0x00000000000000000000000000000000000000aa"
	anothersAddress = "0x00000000000000000000000000000000000000bb"
)

// devnodeProgram builds conch-devnode, unless CONCH_DEVNODE names one. That may take minutes, so callers ask for it before they start
// their own clocks.
func devnodeProgram(t testing.TB) string {
	t.Helper()
	if named := os.Getenv("CONCH_DEVNODE"); named != "" {
		return named
	}
	path, err := proctest.Build("chain/conch-devnode", "../../chain/evm/cmd/conch-devnode", "-ldflags", "-s -w")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// devnode is a chain that ends with the test.
type devnode struct {
	t           testing.TB
	url         string
	life        *proctest.Process
	byHand      bool // it makes blocks only when a test asks for one
	finalByHand bool // it makes no block final by itself
}

func startDevnode(t testing.TB, args ...string) *devnode {
	t.Helper()
	args = append([]string{"--block-time", "200ms", "--parent", strconv.Itoa(os.Getpid())}, args...)
	if !strings.Contains(strings.Join(args, " "), "--listen") {
		args = append(args, "--listen", "127.0.0.1:0")
	}
	cmd := exec.Command(devnodeProgram(t), args...)
	cmd.Stderr = os.Stderr
	life := proctest.Listen(t, cmd)
	var ready struct {
		HTTP    string `json:"http"`
		Account string `json:"account"`
	}
	line := life.Says(patience, "")
	if err := json.Unmarshal([]byte(line), &ready); err != nil || !strings.EqualFold(ready.Account, fundedAddress) {
		t.Fatalf("conch-devnode: %v %q", err, line)
	}
	all := strings.Join(args, " ")
	return &devnode{t: t, url: ready.HTTP, life: life, byHand: strings.Contains(all, "--block-time 0"), finalByHand: strings.Contains(all, "--finality 0")}
}

// call asks the chain's node directly.
func (d *devnode) call(method string, args ...any) any {
	d.t.Helper()
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": args})
	if err != nil {
		d.t.Fatal(err)
	}
	answer, err := d.takes(body)
	if err != nil {
		d.t.Fatal(err)
	}
	var out struct{ Result, Error any }
	if err := json.Unmarshal(answer, &out); err != nil || out.Error != nil {
		d.t.Fatalf("%s: %v %v", method, err, out.Error)
	}
	return out.Result
}

// takes passes a request of one or more calls to the node, and returns the answer.
func (d *devnode) takes(request []byte) ([]byte, error) {
	answer, err := http.Post(d.url, "application/json", bytes.NewReader(request))
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	return io.ReadAll(answer.Body)
}

func (d *devnode) balance(address string) string {
	d.t.Helper()
	return quantity(d.t, d.call("eth_getBalance", address, "latest")).String()
}

func (d *devnode) count() string {
	return d.call("eth_getTransactionCount", fundedAddress, "latest").(string)
}

// account returns the configuration of the funded account, and writes its files.
func (d *devnode) account(n *daemon, more string) string {
	return accountAt(n, d.url, 1337, more)
}

func accountAt(n *daemon, url string, chainID int, more string) string {
	n.t.Helper()
	sealed, err := os.ReadFile("testdata/keystore.json")
	if err != nil {
		n.t.Fatal(err)
	}
	for name, text := range map[string]string{"key.json": string(sealed), "password": keystorePassword + "\n"} {
		if err := os.WriteFile(filepath.Join(n.dir, name), []byte(text), 0o600); err != nil {
			n.t.Fatal(err)
		}
	}
	return fmt.Sprintf("[[chains]]\nname = \"dev\"\nkind = \"evm\"\nurl = %q\nchain_id = %d\nfinality = 2\n"+
		"[[accounts]]\nname = \"payer\"\nchain = \"dev\"\nkeystore = \"key.json\"\npassword_file = \"password\"\nraise_after = \"500ms\"\n%s", url, chainID, more)
}
