package evm

import (
	"math/big"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/ledger"
)

// signatureSize is r, s and v: 32, 32 and 1 byte.
const signatureSize = 65

// Verify implements ledger.Scheme. It reports true for exactly those signatures that the contract takes: of 65 bytes,
// with the low s, and v 27 or 28.
func (Scheme) Verify(a ledger.Account, h ledger.Hash, signature []byte) bool {
	if len(a) != addressSize || len(signature) != signatureSize {
		return false
	}
	v := signature[64] - 27
	r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:64])
	if !crypto.ValidateSignatureValues(v, r, s, true) {
		return false
	}
	plain := append(append(make([]byte, 0, signatureSize), signature[:64]...), v)
	key, err := crypto.SigToPub(h[:], plain)
	if err != nil {
		return false
	}
	by := crypto.PubkeyToAddress(*key)
	return by != [addressSize]byte{} && string(by[:]) == string(a)
}

// compact is a signature in two words (EIP-2098). What has not the form of one becomes that of nobody: the contract
// skips the entry, as it should.
func compact(signature []byte) (r, vs word) {
	if len(signature) != signatureSize || signature[32] >= 0x80 || signature[64] != 27 && signature[64] != 28 {
		return r, vs
	}
	copy(r[:], signature[:32])
	copy(vs[:], signature[32:64])
	vs[0] |= (signature[64] - 27) << 7
	return r, vs
}
