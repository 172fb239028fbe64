package transactions

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

// makes runs conch account new, at a cost that a test with the race detector can pay, and returns what it prints.
func makes(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	a := newShell(&cli.Shell{World: cli.World{Stdout: &out, Stderr: &out}, JSON: true})
	if a.cost != evm.StandardCost {
		t.Errorf("a key costs %v to guess", a.cost)
	}
	a.cost = evm.NoCost
	cmd := a.account()
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(append([]string{"new"}, args...))
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

// A key that conch makes is one that a node opens; no file is overwritten, and only its owner reads it.
func TestNewAccounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key, password := filepath.Join(dir, "key.json"), filepath.Join(dir, "password")
	text, err := makes(t, "--keystore", key, "--password-file", password)
	var said struct{ Address, Keystore string }
	if err != nil || json.Unmarshal([]byte(text), &said) != nil {
		t.Fatalf("%v %s", err, text)
	}
	opened, err := evm.OpenKeystore(key, password)
	if err != nil || opened.Account().String() != said.Address || said.Keystore != key {
		t.Errorf("the key is of %v (%v), and %s was printed", opened, err, text)
	}
	for _, file := range []string{key, password} {
		if about, err := os.Stat(file); err != nil || about.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want it for its owner alone", file, about, err)
		}
	}
	if text, err := makes(t, "--keystore", key, "--password-file", password); err == nil {
		t.Errorf("a second key overwrote the first: %s", text)
	}
	if text, err := makes(t, "--keystore", filepath.Join(dir, "second.json"), "--password-file", password); err != nil || strings.Contains(text, said.Address) {
		t.Errorf("with the same password: %v %s, want another account", err, text)
	}
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("\nx"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := makes(t, "--keystore", filepath.Join(dir, "third.json"), "--password-file", empty); err == nil {
		t.Errorf("an empty password was taken: %s", text)
	}
}
