package evm_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/conchhq/conch/sequencer/evm"
	"github.com/conchhq/conch/sequencer/ledger"
)

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
