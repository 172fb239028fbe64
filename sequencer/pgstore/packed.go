package pgstore

import (
	"encoding/binary"
	"errors"

	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/ledger"
)

// errBroken means that a column has bytes that this package has not written.
var errBroken = errors.New("pgstore: a row cannot be read")

// packNeeds writes needs one after the other: the state, the attempt that creates it, that one's sequence and owner.
func packNeeds(needs []grants.Need) []byte {
	out := []byte{}
	for _, n := range needs {
		sequence := n.Creator.Sequence.Bytes()
		out = append(append(append(out, n.State[:]...), n.Assembled[:]...), sequence[:]...)
		out = packBytes(out, []byte(n.Creator.Owner))
	}
	return out
}

func unpackNeeds(in []byte) (needs []grants.Need, err error) {
	for len(in) > 0 {
		var n grants.Need
		var owner []byte
		if len(in) < 80 {
			return nil, errBroken
		}
		in = in[copy(n.State[:], in):]
		in = in[copy(n.Assembled[:], in):]
		n.Creator.Sequence, in = sequenceOf(in), in[16:]
		if owner, in, err = unpackBytes(in); err != nil {
			return nil, err
		}
		n.Creator.Owner = ledger.Account(owner)
		needs = append(needs, n)
	}
	return needs, nil
}

// packEndorsements writes endorsements one after the other: the member's place and the signature.
func packEndorsements(all []ledger.Endorsement) []byte {
	out := []byte{}
	for _, e := range all {
		out = packBytes(binary.AppendUvarint(out, uint64(e.Member)), e.Signature)
	}
	return out
}

func unpackEndorsements(in []byte) (all []ledger.Endorsement, err error) {
	for len(in) > 0 {
		member, n := binary.Uvarint(in)
		if n <= 0 {
			return nil, errBroken
		}
		e := ledger.Endorsement{Member: int(member)}
		if e.Signature, in, err = unpackBytes(in[n:]); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// packBytes writes bytes after their number.
func packBytes(out, b []byte) []byte { return append(binary.AppendUvarint(out, uint64(len(b))), b...) }

func unpackBytes(in []byte) (b, rest []byte, err error) {
	length, n := binary.Uvarint(in)
	if n <= 0 || length > uint64(len(in)-n) {
		return nil, nil, errBroken
	}
	in = in[n:]
	return append([]byte(nil), in[:length]...), in[length:], nil
}

// sequenceOf reads a sequence from 16 bytes or more.
func sequenceOf(in []byte) ledger.Sequence {
	if len(in) < 16 {
		return ledger.Sequence{}
	}
	return ledger.Sequence{Lineage: binary.BigEndian.Uint64(in), Counter: binary.BigEndian.Uint64(in[8:])}
}
