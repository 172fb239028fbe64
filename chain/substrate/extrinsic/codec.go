package extrinsic

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/metadata"
	"github.com/conchhq/conch/chain/substrate/scale"
)

// The errors of Codec.
var (
	ErrMalformed = errors.New("is not an extrinsic of this runtime")
	ErrSignature = errors.New("is not signed so by the account")
)

const (
	signed4   = 0x84
	bare4     = 0x04
	bare5     = 0x05
	general5  = 0x45
	tipBits   = 128
	hashAbove = 256 // bytes of a payload that is not signed itself, but its hash
)

// Payload is what is signed.
type Payload struct {
	Call               []byte // with its two indices, see metadata.Call
	Era                Era
	Nonce              uint64
	Tip                *big.Int // in the chain's smallest unit; nil is 0
	SpecVersion        uint32
	TransactionVersion uint32
	Genesis            [32]byte
	Birth              [32]byte // the hash of the block at which Era is born; Genesis if it is the zero Era
}

func (p Payload) tip() *big.Int {
	if p.Tip == nil {
		return new(big.Int)
	}
	return p.Tip
}

// Codec writes and reads the extrinsics of one runtime. It never changes, and is safe for concurrent use.
type Codec struct {
	rt         *metadata.Runtime
	extensions []extension
}

// For returns the codec of a runtime. The error wraps ErrExtension if it has an extension that conch does not know and that is
// neither empty nor an Option (Z15), with the names of it and of its type, or if it takes no extrinsics of version 4.
func For(rt *metadata.Runtime) (*Codec, error) {
	if !slices.Contains(rt.Versions(), 4) {
		return nil, fmt.Errorf("%w: it takes extrinsics of the versions %v, and conch writes 4", ErrExtension, rt.Versions())
	}
	extensions, err := extensionsOf(rt)
	if err != nil {
		return nil, err
	}
	return &Codec{rt, extensions}, nil
}

// payload returns the bytes that are signed, or their hash.
func (c *Codec) payload(p Payload, values []byte) []byte {
	b := slices.Concat(p.Call, values)
	for _, x := range c.extensions {
		b = x.implicit.append(b, p)
	}
	if len(b) > hashAbove {
		sum := blake2b.Sum256(b)
		return sum[:]
	}
	return b
}

// Sign returns a signed extrinsic, with its length before it, as a node takes it. The error wraps chain.ErrKey if the key cannot
// sign, or the runtime does not take its kind, and ErrMalformed if the payload is none.
func (c *Codec) Sign(ctx context.Context, p Payload, by key.Signer) ([]byte, error) {
	if t := p.tip(); t.Sign() < 0 || t.BitLen() > tipBits {
		return nil, fmt.Errorf("the tip %v %w", t, ErrMalformed)
	}
	if _, err := c.rt.CallAt([2]byte(append(slices.Clone(p.Call[:min(2, len(p.Call))]), 0, 0)[:2])); err != nil || len(p.Call) < 2 {
		return nil, fmt.Errorf("what has no call %w", ErrMalformed)
	}
	b := []byte{signed4}
	b, err := c.appendAddress(b, by.Account())
	if err != nil {
		return nil, err
	}
	head, err := c.signatureHead(by.Kind())
	if err != nil {
		return nil, err
	}
	var values []byte
	for _, x := range c.extensions {
		values = x.value.append(values, p)
	}
	signature, err := by.Sign(ctx, c.payload(p, values))
	if err != nil {
		return nil, err
	}
	if len(signature) != by.Kind().SignatureSize() {
		return nil, fmt.Errorf("%w: the signature has %d bytes, and not %d", chain.ErrKey, len(signature), by.Kind().SignatureSize())
	}
	b = slices.Concat(b, head, signature, values, p.Call)
	return scale.AppendBlob(make([]byte, 0, len(b)+4), b), nil
}

// appendAddress appends an account as the runtime's addresses have it.
func (c *Codec) appendAddress(b []byte, a chain.Account) ([]byte, error) {
	id := c.rt.Address()
	if size, fixed := c.rt.Size(id); fixed && size == len(a) {
		return append(b, a...), nil
	}
	if index, is := c.rt.Variant(id, "Id"); is && len(a) == 32 {
		return append(append(b, index), a...), nil
	}
	if index, is := c.rt.Variant(id, "Address20"); is && len(a) == 20 {
		return append(append(b, index), a...), nil
	}
	return nil, fmt.Errorf("%w: an account of %d bytes is none of this chain, whose addresses are %s", chain.ErrKey, len(a), c.rt.TypeName(id))
}

// variants are the names of MultiSignature's variants, by kind.
var variants = [...]string{key.Ed25519: "Ed25519", key.Sr25519: "Sr25519", key.ECDSA: "Ecdsa"}

// signatureHead returns what stands before a signature of a kind.
func (c *Codec) signatureHead(kind key.Kind) ([]byte, error) {
	id := c.rt.Signature()
	size, fixed := c.rt.Size(id)
	switch {
	case kind == key.Ethereum && fixed && size == kind.SignatureSize():
		return nil, nil
	case int(kind) < len(variants):
		if index, is := c.rt.Variant(id, variants[kind]); is {
			return []byte{index}, nil
		}
	}
	return nil, fmt.Errorf("%w: this chain takes no signatures of %v: its are %s", chain.ErrKey, kind, c.rt.TypeName(id))
}

// Hash returns the hash by which an extrinsic is known, with its length before it.
func Hash(extrinsic []byte) [32]byte { return blake2b.Sum256(extrinsic) }

func appendU32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
