package attacker

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"slices"

	"golang.org/x/crypto/sha3"

	"github.com/conchhq/conch/chain/evm/evmtest"
	"github.com/conchhq/conch/cmd/conch/internal/lab/auditor"
)

var (
	submitFunction = named("submit((address,uint128,bytes32,bytes32[],bytes32[],bytes32[],bytes,(uint256,(bytes32,bytes32))[],bytes32,uint64,(bytes32,bytes32))[])")[:4]
	cancelFunction = named("cancel(address,uint128,(bytes32,bytes32))")[:4]
	attemptType    = named("Attempt(address owner,uint128 sequence,bytes32 payload,bytes32[] inputs,bytes32[] reads,bytes32[] outputs,bytes data)")
	grantType      = named("Grant(bytes32 assembled,address coordinator,bytes32 delegation,uint64 validUntil)")
	cancelType     = named("Cancellation(address owner,uint128 sequence)")
)

const wordSize = 32

// The words of an entry; lists stand behind it, at the offset in their word.
const (
	owner = iota
	sequence
	payload
	inputs
	reads
	outputs
	text
	endorsements
	delegation
	validUntil
	grantR
	grantVS
	entryWords
)

// entry is an entry in the data of a transaction, from its first word to the end of the data.
type entry []byte

func (e entry) word(i int) []byte { return e[i*wordSize : (i+1)*wordSize] }

// list returns the elements of a list, of so many bytes each.
func (e entry) list(i, size int) []byte {
	at := int(binary.BigEndian.Uint32(e.word(i)[28:]))
	if at+wordSize > len(e) {
		return nil
	}
	n := int(binary.BigEndian.Uint32(e[at+28:]))
	if n > (len(e)-at-wordSize)/size {
		return nil
	}
	return e[at+wordSize : at+wordSize+n*size]
}

// entries returns those of a transaction, to be changed in place; none if it has no entries.
func entries(data []byte) (all []entry) {
	if len(data) < 4+2*wordSize || !bytes.Equal(data[:4], submitFunction) {
		return nil
	}
	list := entry(data[4+2*wordSize:]) // after the offset of the list and its count
	for i := range int(binary.BigEndian.Uint32(data[4+2*wordSize-4:])) {
		if (i+1)*wordSize > len(list) {
			return nil
		}
		at := int(binary.BigEndian.Uint32(list.word(i)[28:]))
		if at+entryWords*wordSize > len(list) {
			return nil
		}
		all = append(all, list[at:])
	}
	return all
}

// forge makes what others have sent the attacker's own, and returns nothing if there is nothing in it for the kind.
func (a *Attacker) forge(kind string, data []byte, sender *evmtest.Key) ([]byte, error) {
	found, forged := entries(data), false
	for i, e := range found {
		by := a.signer(sender)
		switch {
		case kind == auditor.Stolen:
			by = sender
			own(e, sender)
		case kind == auditor.Moved && a.member == nil:
			return nil, nil
		case kind == auditor.Moved:
			by = a.member
			own(e, by)
			if (a.turn+i)%2 == 0 {
				if err := a.endorse(e); err != nil {
					return nil, err
				}
			}
		case a.isMember(e.word(owner)[12:]):
			continue // it would be its own, and granted
		}
		digest := a.typed(keccak(grantType, a.assembled(e), padded([]byte(sender.Account())), e.word(delegation), e.word(validUntil)))
		r, vs, err := sign(by, digest)
		if err != nil {
			return nil, err
		}
		copy(e.word(grantR), r)
		copy(e.word(grantVS), vs)
		forged = true
	}
	if !forged {
		return nil, nil
	}
	return data, nil
}

// own makes an entry that of a new intent of another owner.
func own(e entry, by *evmtest.Key) {
	copy(e.word(owner), padded([]byte(by.Account())))
	_, _ = rand.Read(e.word(sequence)[wordSize-16:]) // it never fails
}

// endorse puts the member's own endorsement in the place of another one, so that the members still rise.
func (a *Attacker) endorse(e entry) error {
	all := e.list(endorsements, 3*wordSize)
	if len(all) == 0 {
		return nil
	}
	at := 0
	for at+3*wordSize < len(all) && binary.BigEndian.Uint64(all[at+24:at+32]) < a.cfg.Place {
		at += 3 * wordSize
	}
	r, vs, err := sign(a.member, a.assembled(e))
	if err != nil {
		return err
	}
	copy(all[at:], slices.Concat(number(a.cfg.Place), r, vs))
	return nil
}

// revoke returns a cancellation of the first intent of another in the data.
func (a *Attacker) revoke(data []byte, own *evmtest.Key) ([]byte, error) {
	for _, e := range entries(data) {
		if a.isMember(e.word(owner)[12:]) {
			continue
		}
		r, vs, err := sign(a.signer(own), a.typed(keccak(cancelType, e.word(owner), e.word(sequence))))
		return slices.Concat(cancelFunction, e.word(owner), e.word(sequence), r, vs), err
	}
	return nil, nil
}

// assembled is what endorsers sign.
func (a *Attacker) assembled(e entry) []byte {
	return a.typed(keccak(attemptType, e.word(owner), e.word(sequence), e.word(payload), keccak(e.list(inputs, wordSize)),
		keccak(e.list(reads, wordSize)), keccak(e.list(outputs, wordSize)), keccak(e.list(text, 1))))
}

func (a *Attacker) typed(structHash []byte) []byte {
	return keccak([]byte{0x19, 0x01}, a.domain, structHash)
}

// sign returns a signature in two words.
func sign(by *evmtest.Key, digest []byte) (r, vs []byte, err error) {
	s, err := by.SignHash([32]byte(digest))
	if err != nil {
		return nil, nil, err
	}
	s[32] |= s[64] << 7
	return s[:32], s[32:64], nil
}

func keccak(parts ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, p := range parts {
		_, _ = h.Write(p) // it never fails
	}
	return h.Sum(nil)
}

func named(signature string) []byte { return keccak([]byte(signature)) }

func padded(b []byte) []byte { return append(make([]byte, wordSize-len(b)), b...) }

func number(n uint64) []byte { return padded(binary.BigEndian.AppendUint64(nil, n)) }
