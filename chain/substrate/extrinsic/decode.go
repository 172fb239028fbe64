package extrinsic

import (
	"fmt"
	"math/big"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/substrate/key"
	"github.com/conchhq/conch/chain/substrate/scale"
)

// Extrinsic is one of a block.
type Extrinsic struct {
	Version byte // 4 or 5
	// Signed says that an account has signed it, in the way of version 4. Without it only Version and Call are there, and of
	// version 5 nothing but Version, if it is of the kind that has extensions.
	Signed  bool
	Account chain.Account // empty if it signed by an address that is no account, such as an index
	Era     Era
	Nonce   uint64
	Tip     *big.Int
	Call    []byte // with its two indices; it is not looked into

	kind         key.Kind
	signature    []byte
	values       []byte // of the extensions
	metadataHash bool
}

// Decode reads an extrinsic with its length before it, as the body of a block has it. The error wraps ErrMalformed.
func (c *Codec) Decode(b []byte) (Extrinsic, error) {
	d := scale.NewDecoder(b)
	if n := d.Compact(); d.Err() == nil && n != uint64(d.Left()) {
		d.Fail("it has %d bytes, and says %d", d.Left(), n)
	}
	var e Extrinsic
	switch head := d.Byte(); head {
	case bare4, bare5:
		e = Extrinsic{Version: head & 0x7f, Call: d.Bytes(d.Left())}
	case general5:
		e = Extrinsic{Version: 5}
		d.Bytes(d.Left())
	case signed4:
		e = c.signed(b, d)
	default:
		d.Fail("an extrinsic begins with 0x%02x", head)
	}
	if err := d.Done(); err != nil {
		return Extrinsic{}, fmt.Errorf("it %w: %w", ErrMalformed, err)
	}
	return e, nil
}

func (c *Codec) signed(b []byte, d *scale.Decoder) Extrinsic {
	e := Extrinsic{Version: 4, Signed: true}
	at := d.Offset()
	c.rt.Skip(c.rt.Address(), d)
	address := b[at:max(at, d.Offset())]
	at = d.Offset()
	c.rt.Skip(c.rt.Signature(), d)
	if d.Err() != nil {
		return e
	}
	e.signature = b[at:d.Offset()]
	e.kind = key.Ethereum
	if c.rt.IsEnum(c.rt.Signature()) {
		name := c.rt.VariantAt(c.rt.Signature(), e.signature[0])
		e.signature = e.signature[1:]
		e.kind = unknownKind
		for kind, is := range variants {
			if is == name {
				e.kind = key.Kind(kind)
			}
		}
	}
	e.Account = c.account(address)
	at = d.Offset()
	for _, x := range c.extensions {
		x.read(c.rt, &e, d)
	}
	if d.Err() == nil {
		e.values = b[at:d.Offset()]
		e.Call = d.Bytes(d.Left())
	}
	return e
}

// unknownKind is of signatures that conch cannot verify.
const unknownKind = key.Kind(255)

// account returns the account of an address, empty if the address has none in it.
func (c *Codec) account(address []byte) chain.Account {
	if !c.rt.IsEnum(c.rt.Address()) {
		return chain.Account(address)
	}
	switch c.rt.VariantAt(c.rt.Address(), address[0]) {
	case "Id", "Address20":
		return chain.Account(address[1:])
	}
	return ""
}

// Verify checks the signature of a decoded extrinsic, over the payload as it was for a version of the runtime, a genesis and the
// hash of the block at which its era is born. The error wraps ErrSignature: one of these is wrong, or the signature, or conch cannot
// know what was signed.
func (c *Codec) Verify(e Extrinsic, specVersion, transactionVersion uint32, genesis, birth [32]byte) error {
	switch {
	case !e.Signed || e.Account == "" || e.kind == unknownKind:
		return fmt.Errorf("what has no account, or a signature of another kind, %w", ErrSignature)
	case e.metadataHash:
		return fmt.Errorf("what has a hash of the metadata, which conch does not compute, %w", ErrSignature)
	}
	p := Payload{Call: e.Call, SpecVersion: specVersion, TransactionVersion: transactionVersion, Genesis: genesis, Birth: birth}
	if !key.Verify(e.kind, e.Account, c.payload(p, e.values), e.signature) {
		return fmt.Errorf("these bytes, for the version %d.%d, %w", specVersion, transactionVersion, ErrSignature)
	}
	return nil
}
