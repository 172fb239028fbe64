package evm_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"

	driver "github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

// The limit of gas is enough, too, for many members of which the last one owns and endorses, for lists and data as long
// as a transaction has room for, and for all of that skipped.
func TestTheLimitOfGasOfTheDearest(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	c, all, stranger := declare(t, n, 200, 1)
	c.Committee = c.Committee[:1]
	n.fund(t, all[199], all[0], stranger)
	m := &meter{t: t, node: n, all: all}
	m.at, _ = create(t, n, stranger, &c, evm.Creation)
	m.c = c
	want := ledger.Taken
	try := func(what string, entries ...ledger.Entry) {
		t.Helper()
		tx := ledger.Sent{By: m.sender().name(), Entries: entries}
		divided, err := evm.Loads(m.c, tx)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range divided {
			data, err := evm.Calldata(one)
			if err != nil {
				t.Fatal(err)
			}
			limit := evm.Gas(m.c, one, data)
			done := n.seal(t, n.limited(t, m.sender(), 0, &m.at, data, limit))[0]
			t.Logf("%s: %d entries, %d bytes, limit %d, used %d", what, len(one.Entries), len(data), limit, done.GasUsed)
			if done.Status != 1 {
				t.Errorf("%s: %d gas were not enough", what, limit)
				continue
			}
			facts, err := evm.Facts(m.at, done.Logs[0].BlockHash, done.Logs)
			if err != nil {
				t.Fatal(err)
			}
			for i, f := range facts { // the contract has computed the same hashes, or it would not be granted
				if f.Skipped != want || f.Assembled != one.Entries[i].Grant.Assembled {
					t.Errorf("%s: entry %d is %v, want it %v", what, i, f.Skipped, want)
				}
			}
		}
	}
	var many []ledger.Entry
	m.lineage++ // a new word of the bitmap
	for range 50 {
		e := m.entry(199, 0, 0, nil, nil)
		e.Endorsements = []ledger.Endorsement{{Member: 199, Signature: all[199].sign(e.Grant.Assembled)}}
		many = append(many, e)
	}
	try("fifty of the last member", many...)
	long := func(inputs, reads, outputs, data, endorsements int) ledger.Entry {
		e := m.entry(199, 0, outputs, nil, nil)
		states := m.somewhere(inputs + reads)
		e.Inputs, e.Reads, e.Data = sorted(states[:inputs]), sorted(states[inputs:]), make([]byte, data)
		for i := range e.Data {
			e.Data[i] = byte(i)
		}
		m.sign(&e, 199, endorsements)
		return e
	}
	try("all members endorse", long(0, 0, 0, 0, 200))
	want = ledger.Missing
	try("all lists and data are full, and skipped", long(256, 256, 256, 64<<10, 200))
	want = ledger.Taken
	try("the outputs and data are full", long(0, 0, 256, 64<<10, 200))
	var skipped []ledger.Entry
	for range 50 {
		skipped = append(skipped, long(30, 30, 0, 0, 1))
	}
	want = ledger.Missing
	try("fifty of which inputs and reads are missing", skipped...)
	want = ledger.Taken
	states := m.made(256)
	m.lineage++
	full := m.entry(199, 0, 256, nil, nil)
	full.Inputs = sorted(states)
	m.sign(&full, 199, 1)
	try("as many inputs and outputs as may be", full)
	reads := m.made(256)
	m.lineage++
	reader := m.entry(199, 0, 0, nil, sorted(reads))
	m.sign(&reader, 199, 1)
	try("as many reads as may be", reader)
	states = sorted(m.made(512))
	m.lineage++
	both := m.entry(199, 0, 0, nil, nil)
	for i := 0; i < len(states); i += 2 {
		both.Inputs, both.Reads = append(both.Inputs, states[i+1]), append(both.Reads, states[i])
	}
	m.sign(&both, 199, 1)
	try("inputs and reads alternate", both)
}

// somewhere returns names of states that are not there.
func (m *meter) somewhere(n int) (all []ledger.StateID) {
	for i := range n {
		m.counter++
		all = append(all, ledger.StateID(hashOf("nowhere", m.counter, i)))
	}
	return all
}

// turning asks the endpoint that stands still until it is told to ask another one.
type turning struct {
	*two
	turned chan struct{}
}

func (e turning) Turn() {
	select {
	case <-e.turned:
	default:
		close(e.turned)
	}
}

// An endpoint that answers and has stopped does not keep a node from the others: the one that took over from
// another, which was away for a moment, would else be asked for ever.
func TestAnotherEndpointIsAsked(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	c := &cancels{at: at, owner: named(t, "member 0")}
	old, after := stand(t, at), at.Number()
	gone := c.block()
	line, err := driver.New(driver.Config{URL: at.node.url, ChainID: at.node.id, Depth: at.contract.Depth, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer line.Close()
	e := turning{&two{node: at.node, stands: old}, make(chan struct{})}
	l, err := evm.Open(t.Context(), evm.Config{Contract: at.contract, Node: e, Chain: line, Self: named(t, "stranger").name(), Submitter: nobody{}})
	if err != nil {
		t.Fatal(err)
	}
	e.second = func(int, []string) bool {
		select {
		case <-e.turned:
			return false
		default:
			return true
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	told := false
	for range 3 {
		_ = l.Follow(ctx, after, func(in any) {
			if b, is := in.(ledger.Block); is && b.Number == after+1 && len(b.Facts) == 1 && b.Facts[0] == gone {
				told = true
				stop()
			}
		})
	}
	if !told {
		t.Error("the block is never told: the endpoint that stands still is asked again and again")
	}
}

// So does one that has a block and not its state.
func TestAnotherEndpointIsRead(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	_, at := opened(t, s.node, 3, 2)
	old := stand(t, at)
	for range at.contract.Depth + 1 {
		at.Block()
	}
	e := turning{&two{node: at.node, stands: old}, make(chan struct{})}
	r, err := evm.Check(t.Context(), e, at.contract)
	if err != nil {
		t.Fatal(err)
	}
	e.second = func(_ int, methods []string) bool {
		select {
		case <-e.turned:
			return false
		default:
			return slices.Contains(methods, "eth_call")
		}
	}
	for range 2 {
		if _, err = r.Final(t.Context(), nil, []ledger.StateID{{1}}); err == nil {
			return
		}
	}
	t.Errorf("the endpoint without the state is asked again and again: %v", err)
}

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
