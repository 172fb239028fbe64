package evm_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/evm"
)

// The committed bytes were made from this source, by this compiler: a change of any of them needs make contract.
func TestTheBytesAreOfThisSource(t *testing.T) {
	t.Parallel()
	sums, err := os.ReadFile(filepath.Join("solidity", "Ledger.sum"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Ledger.sol", "compile.js", "package-lock.json", "Ledger.json", "MapLedger.json"} {
		b, err := os.ReadFile(filepath.Join("solidity", name))
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("%x  %s\n", sha256.Sum256(b), name); !strings.Contains(string(sums), line) {
			t.Errorf("%s has changed since the contract was compiled: run make contract", name)
		}
	}
}

// The committed bytes are those that the pinned compiler makes of the source, of which TestTheBytesAreOfThisSource compares the sums
// by day: to compile takes longer than all other tests of this package. In CI there has to be a compiler; scripts/solc.sh
// installs it.
func TestTheBytesAreTheSources(t *testing.T) {
	t.Parallel()
	if os.Getenv("CI") == "" && !runtest.Whole() {
		t.Skip("left to make test-whole: run it with CONCH_WHOLE=1")
	}
	compiler := os.Getenv("CONCH_SOLC")
	if compiler == "" {
		const missing = "CONCH_SOLC does not name a folder with the compiler: scripts/solc.sh installs one"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	out := t.TempDir()
	made := exec.CommandContext(t.Context(), "node", filepath.Join("solidity", "compile.js"), compiler, out)
	if said, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, name := range []string{"Ledger.json", "MapLedger.json", "Ledger.sum"} {
		fresh, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join("solidity", name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(fresh, committed) {
			t.Errorf("%s is not what the compiler makes of Ledger.sol: run make contract", name)
		}
	}
}

// The committed hash of the code is the one that CodeHash returns and that the pages for auditors name.
func TestTheCodeHashIsWrittenDown(t *testing.T) {
	t.Parallel()
	hash, err := evm.CodeHash()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("solidity", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), hash.String()) {
		t.Errorf("solidity/README.md does not name the code hash %v", hash)
	}
}

// This package calls the functions and knows the events that the compiler has listed.
func TestFunctionsAndEvents(t *testing.T) {
	t.Parallel()
	_, text, err := evm.Compiled()
	if err != nil {
		t.Fatal(err)
	}
	known, err := abi.JSON(bytes.NewReader(text.ABI))
	if err != nil {
		t.Fatal(err)
	}
	functions, events := evm.Signatures()
	if len(functions) != len(known.Methods) || len(events) != len(known.Events) {
		t.Errorf("this package has %d functions and %d events, the contract %d and %d", len(functions), len(events), len(known.Methods), len(known.Events))
	}
	for name, selector := range functions {
		if !bytes.Equal(selector, known.Methods[name].ID) {
			t.Errorf("%s is %x here and %x there", name, selector, known.Methods[name].ID)
		}
	}
	for name, topic := range events {
		if topic != known.Events[name].ID {
			t.Errorf("%s is %v here and %v there", name, topic, known.Events[name].ID)
		}
	}
}
