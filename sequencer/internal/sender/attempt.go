package sender

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// ask asks the rules for a draft. Rules that panic have failed.
func ask(rules domain.Rules, call domain.Call, view domain.View) (draft domain.Draft, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("the rules have panicked: %v", reason)
		}
	}()
	return rules.Assemble(call, view)
}

// draftOf returns what the ledger takes of a draft: states strictly rising, and no read that is an input.
func draftOf(d domain.Draft) ledger.Attempt {
	rising := func(ids []ledger.StateID) []ledger.StateID {
		ids = slices.Clone(ids)
		slices.SortFunc(ids, ledger.StateID.Compare)
		return slices.Compact(ids)
	}
	a := ledger.Attempt{Inputs: rising(d.Inputs), Reads: rising(d.Reads), Data: d.Data}
	a.Reads = slices.DeleteFunc(a.Reads, func(id ledger.StateID) bool {
		_, is := slices.BinarySearchFunc(a.Inputs, id, ledger.StateID.Compare)
		return is
	})
	return a
}

// saltOf returns the salt of one output of one assembly. It is never drawn twice: the incarnation is random.
func saltOf(secret [32]byte, i wire.Incarnation, s ledger.Sequence, assembly uint64, index int) (salt [16]byte) {
	mac := hmac.New(sha256.New, secret[:])
	sequence := s.Bytes()
	mac.Write(i[:])
	mac.Write(sequence[:])
	var numbers [16]byte
	binary.BigEndian.PutUint64(numbers[:8], assembly)
	binary.BigEndian.PutUint64(numbers[8:], uint64(index))
	mac.Write(numbers[:])
	copy(salt[:], mac.Sum(nil))
	return salt
}
