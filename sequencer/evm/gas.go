package evm

import (
	"fmt"

	"github.com/conchhq/conch/sequencer/ledger"
)

// A node cannot estimate what a batch costs: an entry that stands on one that has not landed yet is skipped in the
// estimate, and costs more when it lands. So the limits are computed, for the dearest case: every word of the bitmap is new,
// nothing is given back for what is spent (that is paid back only afterwards), and inputs and reads alternate. They are
// twice what is used at most; what is not used is not paid. One entry for which they are too low makes all of its batch
// fail, again and again: shapes_test.go has the dearest ones.
const (
	transferGas  = 21_000
	callGas      = 12_000 // the call, and the list of members
	perMember    = 240    // to read it, and to compare an owner with it
	perWord      = 20_200 // of the bitmap, if it is new
	entryGas     = 16_000 // its bit, the grant, the event, the hashes
	perInput     = 6_500
	perRead      = 3_200
	perOutput    = 22_900
	perSigned    = 4_200
	perZero      = 4 // of calldata
	perByte      = 16
	floorPerByte = 40 // of calldata, if all else is cheap (EIP-7623)
	perCopied    = 24 // word of calldata, copied and hashed

	mostGas  = 1 << 24   // of one transaction (EIP-7825)
	mostData = 120 << 10 // bytes of one transaction that nodes take
)

// gas returns the most that a transaction may spend.
func gas(c ledger.Contract, tx ledger.Sent, data []byte) uint64 {
	bytes, floor := uint64(0), uint64(0)
	for _, b := range data {
		if b == 0 {
			bytes, floor = bytes+perZero, floor+floorPerByte/4
		} else {
			bytes, floor = bytes+perByte, floor+floorPerByte
		}
	}
	words := uint64(len(data)) / wordSize
	total := transferGas + bytes + callGas + uint64(len(c.Members))*perMember + words*perCopied + words*words/512
	if tx.Cancel != nil {
		total += entryGas + perWord
	}
	bits := map[ledger.Intent]bool{} // one for each word
	for _, e := range tx.Entries {
		first := e.Intent
		first.Sequence.Counter &^= 0xff
		if !bits[first] {
			bits[first] = true
			total += perWord
		}
		total += entryGas + uint64(len(c.Members))*perMember + uint64(len(e.Inputs))*perInput + uint64(len(e.Reads))*perRead +
			uint64(len(e.Outputs))*perOutput + uint64(len(e.Endorsements))*perSigned
	}
	return max(total, transferGas+floor)
}

// loads divides what is sent into transactions that a node takes, in order. Those of several entries have so much gas at
// most as there is room for in a block; one entry that needs more is sent alone, and others do not fail with it.
func loads(c ledger.Contract, tx ledger.Sent, room uint64) (all []ledger.Sent, err error) {
	if tx.Cancel != nil || len(tx.Entries) == 0 {
		return []ledger.Sent{tx}, nil
	}
	var spent uint64
	var size int
	for _, e := range tx.Entries {
		one := ledger.Sent{By: tx.By, Entries: []ledger.Entry{e}}
		data, err := Calldata(one)
		if err != nil {
			return nil, err
		}
		costs := gas(c, one, data)
		if costs > mostGas || len(data) > mostData {
			return nil, fmt.Errorf("%w: an entry of %v needs %d gas and %d bytes, and one transaction has %d and %d", errSent, e.Intent, costs, len(data), mostGas, mostData)
		}
		if last := len(all) - 1; last >= 0 && spent+costs <= min(room, mostGas) && size+len(data) <= mostData {
			all[last].Entries = append(all[last].Entries, e)
		} else {
			all, spent, size = append(all, one), 0, 0
		}
		spent, size = spent+costs, size+len(data)
	}
	return all, nil
}
