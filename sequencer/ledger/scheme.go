package ledger

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"

	"github.com/conchhq/conch/sequencer/internal/ranking"
)

// Scheme is how a ledger hashes and verifies. It is a set of pure functions, safe for concurrent use.
type Scheme interface { //nolint:interfacebloat // one for each thing that is hashed
	// Assembled returns the hash of an attempt, which endorsers sign. It covers the chain, the contract and every field.
	Assembled(c Contract, a Attempt) Hash
	// Granted returns the hash of a grant without its signature, which the owner signs.
	Granted(c Contract, g Grant) Hash
	// Cancelled returns the hash that an owner signs to cancel an intent.
	Cancelled(c Contract, in Intent) Hash
	// State returns the name of an output of an attempt.
	State(assembled Hash, index int) StateID
	// Declared returns the hash of a contract's declaration, which every node compares.
	Declared(c Contract) Hash
	// Verify reports whether an account has signed a hash.
	Verify(a Account, h Hash, signature []byte) bool
}

// Plain is a scheme of SHA-256 and Ed25519. An account is a public key.
type Plain struct{}

// encoder writes parts so that no two lists of parts have the same bytes.
type encoder []byte

func (e *encoder) number(n uint64) { *e = binary.BigEndian.AppendUint64(*e, n) }

func (e *encoder) bytes(b []byte) {
	e.number(uint64(len(b)))
	*e = append(*e, b...)
}

func (e *encoder) text(s string) { e.bytes([]byte(s)) }

func (e *encoder) accounts(all []Account) {
	e.number(uint64(len(all)))
	for _, a := range all {
		e.text(string(a))
	}
}

func (e *encoder) intent(in Intent) {
	sequence := in.Sequence.Bytes()
	e.text(string(in.Owner))
	e.bytes(sequence[:])
}

func (e *encoder) hash() Hash { return sha256.Sum256(*e) }

// begin returns an encoder for one kind of thing of one contract.
func begin(kind string, c Contract) *encoder {
	e := make(encoder, 0, 512)
	e.text(kind)
	e.number(c.Chain)
	e.text(c.Address)
	return &e
}

// Assembled implements Scheme.
func (Plain) Assembled(c Contract, a Attempt) Hash {
	e := begin("conch attempt", c)
	e.intent(a.Intent)
	e.bytes(a.Payload[:])
	for _, states := range [][]StateID{a.Inputs, a.Reads} {
		e.number(uint64(len(states)))
		for _, s := range states {
			e.bytes(s[:])
		}
	}
	e.number(uint64(len(a.Outputs)))
	for _, o := range a.Outputs {
		e.bytes(o[:])
	}
	e.bytes(a.Data)
	return e.hash()
}

// Granted implements Scheme.
func (Plain) Granted(c Contract, g Grant) Hash {
	e := begin("conch grant", c)
	e.bytes(g.Assembled[:])
	e.text(string(g.Coordinator))
	e.bytes(g.Delegation[:])
	e.number(g.ValidUntil)
	return e.hash()
}

// Cancelled implements Scheme.
func (Plain) Cancelled(c Contract, in Intent) Hash {
	e := begin("conch cancel", c)
	e.intent(in)
	return e.hash()
}

// State implements Scheme.
func (Plain) State(assembled Hash, index int) StateID {
	var e encoder
	e.text("conch state")
	e.bytes(assembled[:])
	e.number(uint64(index))
	return StateID(e.hash())
}

// Declared implements Scheme.
func (Plain) Declared(c Contract) Hash {
	e := begin("conch contract", c)
	e.accounts(c.Members)
	e.accounts(c.Committee)
	for _, n := range []uint64{uint64(c.Needed), c.Range, c.Depth, c.Life} {
		e.number(n)
	}
	e.text(c.Domain)
	e.text(ranking.Default(c.Policy))
	return e.hash()
}

// Verify implements Scheme.
func (Plain) Verify(a Account, h Hash, signature []byte) bool {
	return len(a) == ed25519.PublicKeySize && ed25519.Verify(ed25519.PublicKey(a), h[:], signature)
}
