//go:build unix

package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"encoding/hex"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport/mtls"
)

// yardNode is an organisation that runs examples/slots/node.
type yardNode struct {
	*proctest.Process
	t        *testing.T
	file     string
	settings map[string]any
	account  ledger.Account
	front    *tcpproxy.Proxy // where its peers reach it

	mu   sync.Mutex
	says map[string]string // the last value of what it logs as peers= and api=
}

// newYardNode makes an organisation's files.
func newYardNode(t *testing.T, chain, name string) *yardNode {
	t.Helper()
	dir := t.TempDir()
	at := func(file string) string { return filepath.Join(dir, file) }
	account, err := evm.WriteKeystore(at("key.json"), hex.EncodeToString(randomKey()), keystorePassword, evm.NoCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("password"), []byte(keystorePassword), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := mtls.CreateIdentity(at("identity.pem")); err != nil {
		t.Fatal(err)
	}
	return &yardNode{t: t, file: at("node.json"), account: ledger.Account(account), front: proxied(t, "127.0.0.1:1"), says: map[string]string{}, settings: map[string]any{
		"Name": name, "Database": migrated(t).URL, "API": "127.0.0.1:0", "Listen": "127.0.0.1:0", "Identity": at("identity.pem"), "Keystore": at("key.json"),
		"Password": at("password"), "Chain": chain, "ChainID": 1337, "Warehouse": "yard", "Needed": 2,
	}}
}

// write stores its settings.
func (n *yardNode) write() {
	n.t.Helper()
	text, err := json.Marshal(n.settings)
	if err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(n.file, text, 0o600); err != nil {
		n.t.Fatal(err)
	}
}

func (n *yardNode) said(key string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.says[key]
}

// start runs it, until its peers and its users can reach it.
func (n *yardNode) start() {
	n.t.Helper()
	n.says = map[string]string{}
	cmd := exec.Command(yardProgram(n.t), "run", n.file)
	cmd.Stderr = proctest.Cut(func(line string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		for word := range strings.FieldsSeq(line) {
			if key, value, is := strings.Cut(word, "="); is && (key == "peers" || key == "api") {
				n.says[key] = value
			}
		}
		n.t.Log(line)
	})
	n.Process = proctest.Start(n.t, cmd)
	pgtest.Eventually(n.t, longPatience, n.file+" runs", func() bool { return n.said("peers") != "" && n.said("api") != "" })
	n.front.Retarget(n.said("peers"))
}

// asks sends a request to its API, and returns the answer.
func (n *yardNode) asks(method, path, body string) string {
	n.t.Helper()
	_, text := sends(n.t, method, "http://"+n.said("api")+path, body, nil)
	return text
}

func yardProgram(t *testing.T) string {
	t.Helper()
	program, err := proctest.Build("slotsnode", "../../examples/slots/node")
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// P12, P28, P36: what the documentation of packages sequencer and notes teaches is enough for a domain of a user's own, on
// a real chain, real databases and mutual TLS. One organisation is killed in the middle.
func TestOrganisationsRunADomainOfTheirOwn(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	chain := startDevnode(t)
	yard, north := newYardNode(t, chain.url, "yard"), newYardNode(t, chain.url, "north")
	var members []map[string]string
	for _, n := range []*yardNode{yard, north} {
		chain.call("dev_fund", n.account.String(), "0x3b9aca00")
		id, err := mtls.LoadIdentity(n.settings["Identity"].(string), "")
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, map[string]string{
			"Name": n.settings["Name"].(string), "Account": n.account.String(), "URL": "https://" + n.front.Addr(), "Key": id.Fingerprint().String(),
		})
	}
	yard.settings["Members"], north.settings["Members"] = members, members
	yard.write()
	deploy := proctest.Listen(t, exec.Command(yardProgram(t), "deploy", yard.file))
	address := strings.TrimSpace(deploy.Says(longPatience, "0x"))
	if code := deploy.Wait(longPatience); code != 0 {
		t.Fatalf("deploy ended with %d", code)
	}
	for _, n := range []*yardNode{yard, north} {
		n.settings["Contract"] = address
		n.write()
		n.start()
	}
	confirmed := func(n *yardNode, key, body string) {
		t.Helper()
		if got := n.asks(http.MethodPost, "/requests/"+key, body); !strings.HasPrefix(got, "confirmed in block") {
			t.Fatalf("%s: %s", key, got)
		}
	}
	pass := func(to *yardNode) string {
		return fmt.Sprintf(`{"do":"pass","day":"2026-11-30","slot":1,"to":%q}`, to.account)
	}
	confirmed(yard, "monday", `{"do":"open","day":"2026-11-30","slots":2}`)
	confirmed(yard, "pass", pass(north))
	north.Signal(syscall.SIGKILL)
	north.Wait(longPatience)
	north.start()
	confirmed(yard, "pass", pass(north)) // the same key: nothing is passed twice
	pgtest.Eventually(t, longPatience, "north knows that it has the slot", func() bool {
		return strings.TrimSpace(north.asks(http.MethodGet, "/slots/2026-11-30/1", "")) == north.account.String()
	})
	confirmed(north, "back", pass(yard))
	if got := north.asks(http.MethodPost, "/requests/wrong", `{"do":"close","day":"monday"}`); !strings.Contains(got, "is no day") {
		t.Errorf("a wrong request is answered with %s", got)
	}
	if got := north.asks(http.MethodPost, "/requests/open", `{"do":"open","day":"2026-12-01","slots":2}`); !strings.HasPrefix(got, "reverted") {
		t.Errorf("a hauler opens a day: %s", got)
	}
	for _, n := range []*yardNode{yard, north} {
		n.Signal(syscall.SIGTERM)
		if code := n.Wait(time.Minute); code != 0 {
			t.Errorf("%v ended with %d", n.settings["Name"], code)
		}
	}
}
