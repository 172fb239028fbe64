package explorer

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"golang.org/x/crypto/sha3"
)

// errABI means that bytes do not have the form of a contract's arguments.
var errABI = errors.New("the bytes are no arguments of the contract")

const wordSize = 32

// words reads values in the form of contracts (Solidity's ABI): a tuple whose values stand in words, and those without a
// fixed size behind them, at an offset from the tuple's beginning. The first fault stays.
type words struct {
	bytes []byte
	fault *error
}

func newWords(b []byte) words { return words{b, new(error)} }

func (w words) fail() { *w.fault = errABI }

// word returns the i-th word.
func (w words) word(i int) []byte {
	if i < 0 || i >= len(w.bytes)/wordSize {
		w.fail()
		return make([]byte, wordSize)
	}
	return w.bytes[i*wordSize : (i+1)*wordSize]
}

func (w words) hash(i int) string { return "0x" + hex.EncodeToString(w.word(i)) }

// account returns an address.
func (w words) account(i int) string { return "0x" + hex.EncodeToString(w.word(i)[12:]) }

// sequence returns the 16 bytes of an intent's number.
func (w words) sequence(i int) string { return hex.EncodeToString(w.word(i)[16:]) }

func (w words) number(i int) uint64 {
	word := w.word(i)
	if !bytes.Equal(word[:wordSize-8], make([]byte, wordSize-8)) {
		w.fail()
	}
	return binary.BigEndian.Uint64(word[wordSize-8:])
}

// behind returns what stands at the offset in the i-th word.
func (w words) behind(i int) words {
	at := w.number(i)
	if at > uint64(len(w.bytes)) {
		w.fail()
		return words{nil, w.fault}
	}
	return words{w.bytes[at:], w.fault}
}

// list returns the elements of a list whose count stands first, as a tuple of their own.
func (w words) list() (count int, elements words) {
	n := w.number(0)
	if len(w.bytes) < wordSize || n > uint64(len(w.bytes)/wordSize-1) {
		w.fail()
		return 0, words{nil, w.fault}
	}
	return int(n), words{w.bytes[wordSize:], w.fault}
}

// hashes reads a list of words.
func (w words) hashes() (all []string) {
	n, elements := w.list()
	for i := range n {
		all = append(all, elements.hash(i))
	}
	return all
}

// accounts reads a list of addresses.
func (w words) accounts() (all []string) {
	n, elements := w.list()
	for i := range n {
		all = append(all, elements.account(i))
	}
	return all
}

// keccak is the hash of Ethereum.
func keccak(parts ...[]byte) []byte {
	h := sha3.NewLegacyKeccak256()
	for _, p := range parts {
		_, _ = h.Write(p) // it never fails
	}
	return h.Sum(nil)
}

// named returns the hash that stands for a function or an event.
func named(signature string) string { return "0x" + hex.EncodeToString(keccak([]byte(signature))) }
