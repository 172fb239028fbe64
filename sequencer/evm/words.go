package evm

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/ledger"
)

const wordSize = 32

// word is the unit of which calls, answers and hashed structures are made.
type word = [wordSize]byte

func number(n uint64) (w word) {
	binary.BigEndian.PutUint64(w[wordSize-8:], n)
	return w
}

func sequence(s ledger.Sequence) (w word) {
	b := s.Bytes()
	copy(w[wordSize-len(b):], b[:])
	return w
}

// account is an address in a word. What is no address becomes a hash, which no contract takes for one.
func account(a ledger.Account) (w word) {
	if len(a) != addressSize {
		return crypto.Keccak256Hash([]byte(a))
	}
	copy(w[wordSize-addressSize:], a)
	return w
}

const addressSize = 20

func join(words ...word) []byte {
	out := make([]byte, 0, len(words)*wordSize)
	for _, w := range words {
		out = append(out, w[:]...)
	}
	return out
}

// part is a value of a tuple: in place if its size is fixed, else behind the others, with an offset in its place.
type part struct {
	bytes  []byte
	behind bool
}

func fixed(words ...word) part { return part{bytes: join(words...)} }

func behind(bytes []byte) part { return part{bytes, true} }

// tuple encodes values as the contract's ABI has them.
func tuple(parts ...part) []byte {
	size := 0
	for _, p := range parts {
		if p.behind {
			size += wordSize
		} else {
			size += len(p.bytes)
		}
	}
	var head, tail []byte
	for _, p := range parts {
		if p.behind {
			at := number(uint64(size + len(tail)))
			head, tail = append(head, at[:]...), append(tail, p.bytes...)
		} else {
			head = append(head, p.bytes...)
		}
	}
	return append(head, tail...)
}

// list encodes an array whose elements have a fixed size.
func list[T any](all []T, encode func(T) []byte) []byte {
	n := number(uint64(len(all)))
	out := append([]byte{}, n[:]...)
	for _, one := range all {
		out = append(out, encode(one)...)
	}
	return out
}

func hashes[T ~[32]byte](all []T) []byte {
	return list(all, func(h T) []byte { return h[:] })
}

func accounts(all []ledger.Account) []byte {
	return list(all, func(a ledger.Account) []byte { w := account(a); return w[:] })
}

// text encodes bytes with their length, filled up to a word.
func text(b []byte) []byte {
	n := number(uint64(len(b)))
	out := append(n[:], b...)
	return append(out, make([]byte, -len(b)&(wordSize-1))...)
}
