//go:build unix

package transactions

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/internal/proctest"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/pending"
)

// publicKey is the first of the keys that anvil and hardhat publish, and clientChain their chain's ID.
const (
	publicKey   = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
	clientChain = 31337
)

// Clients of others that make blocks on demand, and none while nobody sends: each of twenty transactions ends, also those of
// the last block, behind a call that the chain refuses, and from an account that was used before. scripts/anvil.sh and
// scripts/clients.sh install them.
func TestProvidersOnDemand(t *testing.T) {
	t.Parallel()
	if !runtest.Nightly() {
		t.Skip("runs by night")
	}
	others := os.Getenv("CONCH_CLIENTS")
	for name, c := range map[string]struct {
		folder, program string
		args            []string
	}{
		"anvil":   {"", os.Getenv("CONCH_ANVIL"), []string{"--silent", "--port"}},
		"hardhat": {others, filepath.Join(others, "node_modules", ".bin", "hardhat"), []string{"node", "--port"}},
		"ganache": {others, filepath.Join(others, "node_modules", ".bin", "ganache"), []string{"--chain.chainId", strconv.Itoa(clientChain), "--wallet.accounts", "0x" + publicKey + ",0x56BC75E2D63100000", "--server.port"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(c.program); err != nil {
				t.Skipf("%s is not installed: scripts/anvil.sh and scripts/clients.sh install it from npm, CONCH_ANVIL and CONCH_CLIENTS name it", name)
			}
			port := strconv.Itoa(20_000 + rand.IntN(10_000)) // below those that systems give away
			cmd := exec.Command(c.program, append(c.args, port)...)
			cmd.Dir, cmd.Env = c.folder, append(os.Environ(), "HARDHAT_DISABLE_TELEMETRY_PROMPT=true")
			proctest.Start(t, cmd)
			sendOnDemand(t, "http://127.0.0.1:"+port)
		})
	}
}

// sendOnDemand sends transactions to a client that listens soon.
func sendOnDemand(t *testing.T, url string) {
	t.Helper()
	folder := t.TempDir()
	file, password := filepath.Join(folder, "key"), filepath.Join(folder, "password")
	account, err := evm.WriteKeystore(file, publicKey, "worthless", evm.NoCost)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(password, []byte("worthless"), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := evm.OpenKeystore(file, password)
	if err != nil {
		t.Fatal(err)
	}
	earlier := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_sendTransaction","params":[{"from":"%v","to":"%v","gas":"0x5208"}]}`, account, account)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	pgtest.Eventually(t, 2*time.Minute, "the client takes a transaction of somebody else", func() bool {
		answer, err := http.Post(url, "application/json", strings.NewReader(earlier))
		if err == nil {
			_ = answer.Body.Close()
		}
		return err == nil
	})
	driver, err := evm.New(evm.Config{URL: url, ChainID: clientChain, Instant: true, Signers: []evm.Signer{key}})
	if err != nil {
		t.Fatal(err)
	}
	defer driver.Close()
	store := &pending.Memory{}
	manager, err := pending.New(pending.Config{Account: account, Chain: driver, Store: store, Events: pending.Events{Trouble: func(err error) { t.Log(err) }}})
	if err != nil {
		t.Fatal(err)
	}
	calls := []chain.Call{{Data: []byte{0xfe}}} // an invalid instruction
	for n := range 20 {
		calls = append(calls, chain.Call{To: []byte(account), Data: []byte{byte(n)}})
	}
	ids := make([]pending.ID, len(calls))
	for i, call := range calls {
		in, err := store.Accept(t.Context(), pending.Intent{Account: account, Call: call})
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = in.ID
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = manager.Lead(ctx, fence.Standalone("s", "n1"), fence.Token{Scope: "s"})
	}()
	defer func() { stop(); <-over }()
	for i, id := range ids {
		want := pending.Done
		if i == 0 {
			want = pending.Rejected
		}
		pgtest.Eventually(t, 2*time.Minute, fmt.Sprintf("transaction %d is %v", i, want), func() bool {
			r, err := store.Get(t.Context(), id)
			return err == nil && r.Fate == want
		})
	}
}
