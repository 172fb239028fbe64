package evm_test

import (
	"testing"

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
