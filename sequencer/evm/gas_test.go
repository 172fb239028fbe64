package evm_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/ethereum/go-ethereum/common"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/internal/ledgertest"
	"github.com/conchhq/conch/sequencer/ledger"
)

// meter is a contract of ten members whose gas is measured.
type meter struct {
	t       *testing.T
	node    *node
	at      common.Address
	c       ledger.Contract
	all     []account
	lineage uint64
	counter uint64
}

const batched = 50

// entry has an attempt endorsed by so many, granted to the last member.
func (m *meter) entry(owner, signatures, outputs int, inputs, reads []ledger.StateID) ledger.Entry {
	m.counter++
	e := ledger.Entry{Attempt: ledger.Attempt{
		Intent:  ledger.Intent{Owner: m.all[owner].name(), Sequence: ledger.Sequence{Lineage: m.lineage, Counter: m.counter}},
		Payload: hashOf("payload", m.lineage, m.counter), Inputs: inputs, Reads: reads,
	}}
	for i := range outputs {
		e.Outputs = append(e.Outputs, hashOf("output", m.lineage, m.counter, i))
	}
	m.sign(&e, owner, signatures)
	return e
}

// sign has so many endorse an entry, and its owner grant it.
func (m *meter) sign(e *ledger.Entry, owner, signatures int) {
	e.Endorsements = nil
	assembled := evm.Scheme{}.Assembled(m.c, e.Attempt)
	for i := range signatures {
		e.Endorsements = append(e.Endorsements, ledger.Endorsement{Member: i, Signature: m.all[i].sign(assembled)})
	}
	e.Grant = ledger.Grant{Assembled: assembled, Coordinator: m.sender().name(), Delegation: hashOf("delegation", m.counter), ValidUntil: 1e6}
	e.Grant.Signature = m.all[owner].sign(evm.Scheme{}.Granted(m.c, e.Grant))
}

func (m *meter) sender() account { return m.all[len(m.all)-1] }

// lands sends entries in one transaction and returns its gas.
func (m *meter) lands(entries ...ledger.Entry) uint64 {
	m.t.Helper()
	done, facts := m.send(entries...)
	for i, f := range facts {
		if f.Skipped != ledger.Taken {
			m.t.Fatalf("entry %d: %v", i, f.Skipped)
		}
	}
	return done
}

func (m *meter) send(entries ...ledger.Entry) (gas uint64, facts []ledger.Fact) {
	m.t.Helper()
	data, err := evm.Calldata(ledger.Sent{By: m.sender().name(), Entries: entries})
	if err != nil {
		m.t.Fatal(err)
	}
	done := m.node.seal(m.t, m.node.transaction(m.t, m.sender(), 0, &m.at, data))[0]
	if done.Status != 1 || len(done.Logs) != len(entries) {
		m.t.Fatalf("status %d and %d logs of %d entries", done.Status, len(done.Logs), len(entries))
	}
	if facts, err = evm.Facts(m.at, done.Logs[0].BlockHash, done.Logs); err != nil {
		m.t.Fatal(err)
	}
	return uint64(done.GasUsed), facts
}

// made has an attempt create states.
func (m *meter) made(n int) []ledger.StateID {
	m.t.Helper()
	var all []ledger.StateID
	for len(all) < n {
		e := m.entry(0, 1, min(n-len(all), 100), nil, nil)
		m.lands(e)
		for i := range e.Outputs {
			all = append(all, evm.Scheme{}.State(e.Grant.Assembled, i))
		}
	}
	return all
}

// begin has the owners use sequences of a new lineage, of which the words are in use: each of them has landed an intent.
func (m *meter) begin() {
	m.t.Helper()
	m.lineage, m.counter = m.lineage+0x0101010101010101, 0
	for owner := range 5 {
		m.lands(m.entry(owner, 1, 0, nil, nil))
	}
}

// batch lands fifty transfers of so many owners, and returns the gas of each.
func (m *meter) batch(owners, signatures int) uint64 {
	m.t.Helper()
	m.begin()
	states := m.made(batched)
	var entries []ledger.Entry
	for i, s := range states {
		entries = append(entries, m.entry(i%owners, signatures, 1, []ledger.StateID{s}, nil))
	}
	return m.lands(entries...) / batched
}

func newMeter(t *testing.T, n *node, compiled func(ledger.Contract) ([]byte, error)) (m *meter, creation uint64) {
	t.Helper()
	c, all, by := declare(t, n, 10, 1)
	m = &meter{t: t, node: n, all: all}
	m.at, creation = create(t, n, by, &c, compiled)
	m.c = c
	return m, creation
}

// measure fills the rows of one contract.
func measure(t *testing.T, n *node, compiled func(ledger.Contract) ([]byte, error)) (names []string, gas map[string]uint64) {
	t.Helper()
	m, creation := newMeter(t, n, compiled)
	gas = map[string]uint64{}
	row := func(name string, g uint64) { names, gas[name] = append(names, name), g }
	one := func(signatures, outputs, reads int) uint64 {
		m.begin()
		s := m.made(1 + reads)
		return m.lands(m.entry(0, signatures, outputs, s[:1], sorted(s[1:])))
	}
	for k := 1; k <= 5; k++ {
		row(fmt.Sprintf("1 in, 1 out, k = %d", k), one(k, 1, 0))
	}
	row("1 in, 2 out, k = 1", one(1, 2, 0))
	row("1 in, 1 out, 1 read, k = 1", one(1, 1, 1))
	for _, k := range []int{1, 2, 3, 5} {
		row(fmt.Sprintf("each of 50, one owner, k = %d", k), m.batch(1, k))
	}
	row("each of 50, five owners, k = 1", m.batch(5, 1))
	e := m.entry(0, 1, 1, m.made(1), nil)
	m.lands(e)
	skipped, facts := m.send(e)
	if facts[0].Skipped != ledger.Repeated {
		t.Fatalf("sent again: %v", facts[0].Skipped)
	}
	t.Logf("creation: %d gas; one that is skipped as repeated: %d", creation, skipped)
	return names, gas
}

// The figures of the issue, in gas as a public chain charges it; and the same contract with a slot for each intent is
// dearer in every row. The rows leave out the first intent of an owner since a start of its node, which both contracts
// pay alike: one slot that was empty.
func TestGas(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	_, all, stranger := declare(t, n, 10, 1)
	n.fund(t, append(all, stranger)...)
	names, ours := measure(t, n, evm.Creation)
	_, theirs := measure(t, n, evm.MapCreation)
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tgas\tintent map\t")
	for _, name := range names {
		fmt.Fprintf(w, "%s\t%d\t%d\t\n", name, ours[name], theirs[name])
		if ours[name] >= theirs[name] {
			t.Errorf("%s: %d gas, and %d with a slot for each intent", name, ours[name], theirs[name])
		}
	}
	_ = w.Flush()
	t.Logf("\n%s", table.String())
	for name, most := range map[string]uint64{
		"1 in, 1 out, k = 1": 78_000, "each of 50, one owner, k = 1": 50_000, "each of 50, five owners, k = 1": 50_000,
	} {
		if ours[name] > most {
			t.Errorf("%s: %d gas, want %d at most", name, ours[name], most)
		}
	}
	for k := 2; k <= 5; k++ {
		if more := ours[fmt.Sprintf("1 in, 1 out, k = %d", k)] - ours[fmt.Sprintf("1 in, 1 out, k = %d", k-1)]; more > 5_000 {
			t.Errorf("signature %d costs %d gas, want 5000 at most", k, more)
		}
	}
	if more := (ours["each of 50, one owner, k = 5"] - ours["each of 50, one owner, k = 1"]) / 4; more > 5_000 {
		t.Errorf("in a batch each further signature costs %d gas, want 5000 at most", more)
	}
}

// The limit of gas is enough, and not more than twice what is used, for entries of all shapes, in a new word of the bitmap and
// not, and for those that land only because of others in the same transaction, which no estimate knows of.
func TestTheLimitOfGas(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	_, all, stranger := declare(t, n, 10, 1)
	n.fund(t, append(all, stranger)...)
	m, _ := newMeter(t, n, evm.Creation)
	try := func(what string, entries ...ledger.Entry) {
		t.Helper()
		tx := ledger.Sent{By: m.sender().name(), Entries: entries}
		data, err := evm.Calldata(tx)
		if err != nil {
			t.Fatal(err)
		}
		limit := evm.Gas(m.c, tx, data)
		done := n.seal(t, n.limited(t, m.sender(), 0, &m.at, data, limit))[0]
		if done.Status != 1 {
			t.Errorf("%s: %d gas were not enough", what, limit)
			return
		}
		facts, err := evm.Facts(m.at, done.Logs[0].BlockHash, done.Logs)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range facts {
			if f.Skipped != ledger.Taken {
				t.Errorf("%s: entry %d is %v", what, i, f.Skipped)
			}
		}
		if used := uint64(done.GasUsed); limit > 2*used {
			t.Errorf("%s: the limit is %d gas, and %d were used", what, limit, used)
		}
	}
	try("nothing, in a new word", m.entry(9, 1, 0, nil, nil))
	try("nothing", m.entry(9, 1, 0, nil, nil))
	try("one output", m.entry(0, 1, 1, nil, nil))
	try("all endorse", m.entry(9, 10, 1, nil, nil))
	try("a hundred outputs", m.entry(0, 1, 100, nil, nil))
	long := m.entry(0, 1, 1, nil, nil)
	long.Data = make([]byte, 50_000)
	for i := range long.Data {
		long.Data[i] = byte(i)
	}
	m.sign(&long, 0, 1)
	try("50 kB of data", long)
	try("many reads", m.entry(0, 1, 0, nil, sorted(m.made(60))))
	var chained []ledger.Entry
	for i := range 50 {
		var inputs []ledger.StateID
		if i > 0 {
			inputs = []ledger.StateID{evm.Scheme{}.State(chained[i-1].Grant.Assembled, 0)}
		}
		chained = append(chained, m.entry(i%5, 2, 1, inputs, nil))
	}
	try("fifty, each on the one before", chained...)
}

// What is too much for one transaction is several, in order; one entry that is too much for any is refused.
func TestLoads(t *testing.T) {
	t.Parallel()
	c, _, by := declare(t, &node{id: 1}, 3, 1)
	for name, shape := range map[string]struct{ outputs, data int }{"gas": {30, 2000}, "bytes": {0, 6000}} {
		divides(t, name, c, by, shape.outputs, shape.data)
	}
	fits := ledger.Entry{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: by.name()}}}
	for name, spoil := range map[string]func(*ledger.Entry){
		"gas":   func(e *ledger.Entry) { e.Outputs = make([]ledger.Hash, 800) },
		"bytes": func(e *ledger.Entry) { e.Data = make([]byte, 130<<10) },
		"owner": func(e *ledger.Entry) { e.Owner = "ann" },
	} {
		e := fits
		spoil(&e)
		if _, err := evm.Loads(c, ledger.Sent{By: by.name(), Entries: []ledger.Entry{fits, e}}); !errors.Is(err, evm.ErrSent) {
			t.Errorf("%s: got error %v, want ErrSent", name, err)
		}
	}
}

func divides(t *testing.T, name string, c ledger.Contract, by account, outputs, size int) {
	t.Helper()
	var all []ledger.Entry
	for i := range 60 {
		e := ledger.Entry{Attempt: ledger.Attempt{Intent: ledger.Intent{Owner: by.name(), Sequence: ledger.Sequence{Counter: uint64(i)}}}}
		e.Outputs, e.Data = make([]ledger.Hash, outputs), make([]byte, size*(i%3))
		all = append(all, e)
	}
	divided, err := evm.Loads(c, ledger.Sent{By: by.name(), Entries: all})
	if err != nil || len(divided) < 2 {
		t.Fatalf("%s: got %d transactions and the error %v, want several", name, len(divided), err)
	}
	var again []ledger.Entry
	for _, one := range divided {
		data, err := evm.Calldata(one)
		if gas := evm.Gas(c, one, data); err != nil || len(data) > 128<<10 || gas > mostGas {
			t.Errorf("%s: one has %d bytes and %d gas, %v", name, len(data), gas, err)
		}
		again = append(again, one.Entries...)
	}
	if !slices.EqualFunc(all, again, func(a, b ledger.Entry) bool { return a.Intent == b.Intent }) {
		t.Errorf("%s: the entries are others, or in another order", name)
	}
}

// P43, I1, Q1, Q3, Q4, Q18: the contract on a chain decides every case as the model does.
func TestContract(t *testing.T) {
	t.Parallel()
	s := newStreet(t)
	ledgertest.Exercise(t, s.open)
}
