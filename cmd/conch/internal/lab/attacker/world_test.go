package attacker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
	"github.com/conchhq/conch/cmd/conch/internal/lab/explorer"
	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	longest  = 2 * time.Minute
	solidity = "../../../../../sequencer/evm/solidity"
	needed   = 2
)

// world is a chain with a contract of three members, of which the last one cheats. It makes a block when a test asks for one.
type world struct {
	t        *testing.T
	ctx      context.Context
	node     *evmtest.Node
	contract ledger.Contract
	members  []wallet
	names    []string // their accounts
	attacker *Attacker
	hash     func(ledger.Attempt) ledger.Hash // what honest members endorse
	next     uint64
	record   auditor.Record
}

func secretOf(name string) []byte {
	s := sha256.Sum256([]byte(name))
	return s[:]
}

func hexOf(b []byte) string { return "0x" + hex.EncodeToString(b) }

// begin deploys the contract: of its compiled code, or of another.
func begin(t *testing.T, code string) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, node: evmtest.StartNode(t, evmtest.Program(t, "../../../../../chain/evm/cmd/conch-devnode"))}
	w.contract = ledger.Contract{Chain: w.node.ChainID, Needed: needed, Range: 40, Depth: 2, Life: 50, Domain: "d"}
	for i := range 3 {
		key, err := evmtest.KeyOf(secretOf(fmt.Sprint("member ", i)))
		if err != nil {
			t.Fatal(err)
		}
		w.members, w.names = append(w.members, wallet{key: key, tip: 1_000_000_000}), append(w.names, key.Account().String())
		w.contract.Members = append(w.contract.Members, ledger.Account(key.Account()))
		w.call(new(string), "dev_fund", key.Account(), "0xe8d4a51000")
	}
	w.contract.Committee = w.contract.Members
	data, err := evm.Creation(w.contract)
	if err != nil {
		t.Fatal(err)
	}
	if code != "" {
		other, err := hex.DecodeString(strings.TrimPrefix(code, "0x"))
		if err != nil {
			t.Fatal(err)
		}
		data = factory(append(other, data[auditor.CreationSize:]...))
	}
	sent := w.send(0, nil, data)
	w.mine()
	var receipt struct{ ContractAddress string }
	w.call(&receipt, "eth_getTransactionReceipt", sent)
	w.contract.Address = receipt.ContractAddress
	if code != "" {
		at, err := hex.DecodeString(strings.TrimPrefix(receipt.ContractAddress, "0x"))
		if err != nil {
			t.Fatal(err)
		}
		w.contract.Address = hexOf(keccak([]byte{0xd6, 0x94}, at, []byte{1})[12:]) // RLP of the account and its first nonce
	}
	w.hash = func(a ledger.Attempt) ledger.Hash { return evm.Scheme{}.Assembled(w.contract, a) }
	w.attacker, err = New(ctx, Config{
		URL: w.node.HTTP, Chain: w.node.ChainID, Contract: w.contract.Address, Member: hexOf(secretOf("member 2")), Place: 2,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.attacker.chain.Close)
	w.record.Contract = auditor.Contract{Members: w.names, Needed: needed}
	return w
}

// factory is the creation of a contract that does nothing but create another one: the judge knows the audited creation
// alone, and where its arguments begin.
func factory(creation []byte) []byte {
	size := []byte{0x62, byte(len(creation) >> 16), byte(len(creation) >> 8), byte(len(creation))}                 // PUSH3
	return slices.Concat(size, []byte{0x60, 19, 0x60, 0, 0x39}, size, []byte{0x60, 0, 0x60, 0, 0xf0, 0}, creation) // CODECOPY, CREATE, STOP
}

func (w *world) call(into any, method string, args ...any) {
	w.t.Helper()
	if err := w.node.Call(w.ctx, into, method, args...); err != nil {
		w.t.Fatalf("%s: %v", method, err)
	}
}

func (w *world) mine() { w.call(new(string), "dev_mine") }

// send sends data from a member's account, to the contract unless it is the creation.
func (w *world) send(from int, to, data []byte) (hash string) {
	w.t.Helper()
	raw, err := w.members[from].sign(w.ctx, w.node.ChainID, to, data, "0x7a1200")
	if err != nil {
		w.t.Fatal(err)
	}
	w.call(&hash, "eth_sendRawTransaction", raw)
	w.members[from].nonce++
	return hash
}

func (w *world) signature(by int, h ledger.Hash) []byte {
	s, err := w.members[by].key.SignHash(h)
	if err != nil {
		w.t.Fatal(err)
	}
	s[64] += 27
	return s
}

// intend has a member hand in an intent that creates a state, which the first two endorse, and another send it.
func (w *world) intend(owner, coordinator int) {
	w.t.Helper()
	w.next++
	asked := fmt.Sprintf(`{"n":%d}`, w.next)
	salt, data := []byte("a salt of sixteen"[:16]), []byte(asked)
	a := ledger.Attempt{
		Intent:  ledger.Intent{Owner: w.contract.Members[owner], Sequence: ledger.Sequence{Lineage: 7, Counter: w.next}},
		Payload: ledger.Hash(sha256.Sum256([]byte("conch payload" + asked))),
		Outputs: []ledger.Hash{sha256.Sum256(append(append([]byte("conch state data"), salt...), data...))},
	}
	endorsed, assembled := w.hash(a), evm.Scheme{}.Assembled(w.contract, a)
	g := ledger.Grant{Assembled: assembled, Coordinator: w.contract.Members[coordinator], ValidUntil: 40}
	g.Signature = w.signature(owner, evm.Scheme{}.Granted(w.contract, g))
	e := ledger.Entry{Attempt: a, Grant: g}
	for m := range needed {
		e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: m, Signature: w.signature(m, endorsed)})
	}
	calldata, err := evm.Calldata(ledger.Sent{Entries: []ledger.Entry{e}})
	if err != nil {
		w.t.Fatal(err)
	}
	w.send(coordinator, w.attacker.address, calldata)
	id := fmt.Sprintf("%016x%016x", a.Sequence.Lineage, a.Sequence.Counter)
	w.record.Told = append(w.record.Told, auditor.Told{
		Owner: w.names[owner], ID: id, Key: id, Payload: asked, Fate: "confirmed", Attempt: assembled.String(),
	})
	w.record.Requests = append(w.record.Requests, auditor.Request{Owner: w.names[owner], Key: id, Payload: asked, Acks: []auditor.Ack{{ID: id}}})
}

// looks has the attacker see what is in the pool, and do what it can; then there is a block.
func (w *world) looks() {
	w.t.Helper()
	if err := w.attacker.look(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	w.mine()
}

// judge reads the chain. What is said of the money and of the contract's code is left out: there are no notes, and some
// tests have another code.
func (w *world) judge() (auditor.Verdict, []string) {
	w.t.Helper()
	var err error
	if w.record.Ledger, err = explorer.ReadContract(w.ctx, w.node.HTTP, w.contract.Address, w.names); err != nil {
		w.t.Fatal(err)
	}
	w.record.Attack = w.attacker.Attack()
	v := auditor.Judge(w.record)
	return v, slices.DeleteFunc(v.Violations, func(text string) bool {
		return strings.Contains(text, "no node can open it") || strings.Contains(text, "not created by the audited code") || strings.HasPrefix(text, "the contract on the chain has the members []")
	})
}

// compiled compiles the contract with changes of its source, each of which has to fit once.
func compiled(t *testing.T, changes [][2]string) string {
	t.Helper()
	compiler := os.Getenv("CONCH_SOLC")
	if compiler == "" {
		const missing = "CONCH_SOLC does not name a folder with the compiler: scripts/solc.sh installs one"
		if os.Getenv("CI") != "" {
			t.Fatal(missing)
		}
		t.Skip(missing)
	}
	source, err := os.ReadFile(filepath.Join(solidity, "Ledger.sol"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for _, c := range changes {
		if strings.Count(text, c[0]) != 1 {
			t.Fatalf("not once in Ledger.sol: %s", c[0])
		}
		text = strings.Replace(text, c[0], c[1], 1)
	}
	const program = `
const solc = require('module').createRequire(process.argv[1] + '/node_modules/_')('solc');
const answer = JSON.parse(solc.compile(JSON.stringify({ language: 'Solidity',
  sources: { 'Ledger.sol': { content: require('fs').readFileSync(0, 'utf8') } },
  settings: { evmVersion: 'london', viaIR: true, optimizer: { enabled: true }, outputSelection: { '*': { Ledger: ['evm.bytecode.object'] } } } })));
process.stdout.write(JSON.stringify(answer.contracts ? answer.contracts['Ledger.sol'].Ledger.evm.bytecode.object : answer.errors));`
	cmd := exec.CommandContext(t.Context(), "node", "-e", program, compiler)
	cmd.Stdin, cmd.Stderr = strings.NewReader(text), os.Stderr
	said, err := cmd.Output()
	var code string
	if err != nil || json.Unmarshal(said, &code) != nil || code == "" {
		t.Fatalf("the contract does not compile: %v: %s", err, said)
	}
	return code
}
