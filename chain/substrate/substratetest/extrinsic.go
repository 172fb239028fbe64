package substratetest

import (
	"crypto/ed25519"
	"math/big"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"github.com/oasisprotocol/curve25519-voi/primitives/sr25519"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/sha3"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// extrinsic is one as the chain reads it. Package extrinsic is not used here: what builds the bytes is judged by other code.
type extrinsic struct {
	raw  []byte // with its length before it
	hash [32]byte
	call call

	signed        bool
	from          string
	kind          byte // of the signature, as MultiSignature numbers it
	signature     []byte
	extra         []byte // what the extensions have in the bytes
	period, phase uint64 // 0, 0: immortal
	nonce         uint32
	tip           *big.Int
	metadataHash  bool
	callBytes     []byte
	proven        string // the implicit bytes with which the signature was found good
}

// ethereumSignature is the kind of a signature of an account of 20 bytes.
const ethereumSignature = 255

// readExtrinsic decodes an extrinsic with the calls of a runtime.
func (n *Node) readExtrinsic(r Runtime, raw []byte) (*extrinsic, error) {
	d := scale.NewDecoder(raw)
	x := &extrinsic{raw: raw, hash: blake2b.Sum256(raw), tip: new(big.Int)}
	if length := d.Compact(); length != uint64(d.Left()) {
		d.Fail("the length is %d, and %d bytes follow", length, d.Left())
	}
	switch version := d.Byte(); version {
	case 4:
	case 0x84:
		x.signed = true
		n.readSigned(r, d, x)
	default:
		d.Fail("the version of the extrinsic is %d", version)
	}
	start := d.Offset()
	x.call = n.readCall(r, d, 0)
	err := d.Done()
	if err == nil {
		x.callBytes = raw[start:]
	}
	return x, err
}

func (n *Node) readSigned(r Runtime, d *scale.Decoder, x *extrinsic) {
	if x.from = n.readAddress(d); x.from == "" {
		d.Fail("the signer is not an account")
	}
	size := 64
	if x.kind = ethereumSignature; !n.cfg.Ethereum {
		if x.kind = d.Byte(); x.kind > 2 {
			d.Fail("no kind of signature has the number %d", x.kind)
		}
	}
	if x.kind >= 2 {
		size = 65
	}
	x.signature = d.Bytes(size)
	start := d.Offset()
	x.readEra(d)
	nonce := d.Compact()
	if nonce > 1<<32-1 {
		d.Fail("a nonce has 32 bits")
	}
	x.nonce = uint32(nonce)
	if x.tip = d.BigCompact(); x.tip.BitLen() > 128 {
		d.Fail("a tip has 128 bits")
	}
	x.metadataHash = d.Bool()
	if r.Extension != "" {
		d.U32()
	}
	if d.Err() == nil {
		x.extra = x.raw[start:d.Offset()]
	}
}

func (x *extrinsic) readEra(d *scale.Decoder) {
	low := d.Byte()
	if low == 0 {
		return
	}
	bits := uint64(low) | uint64(d.Byte())<<8
	x.period = 2 << (bits % 16)
	x.phase = (bits >> 4) * max(x.period>>12, 1)
	if x.period < 4 || x.phase >= x.period {
		d.Fail("no era has the period %d and the phase %d", x.period, x.phase)
	}
}

// birth returns the block that the era begins in, as it looks from a height.
func (x *extrinsic) birth(current uint64) uint64 {
	if x.period == 0 {
		return 0
	}
	return (max(current, x.phase)-x.phase)/x.period*x.period + x.phase
}

// verify reports whether the signature is good for what a runtime and a birth add to the payload.
func (x *extrinsic) verify(implicit []byte) bool {
	if x.proven == string(implicit) {
		return true
	}
	payload := concat(x.callBytes, x.extra, implicit)
	if len(payload) > 256 {
		sum := blake2b.Sum256(payload)
		payload = sum[:]
	}
	if !x.verifies(payload) {
		return false
	}
	x.proven = string(implicit)
	return true
}

func (x *extrinsic) verifies(payload []byte) bool {
	switch x.kind {
	case 0:
		return ed25519.Verify(ed25519.PublicKey(x.from), payload, x.signature)
	case 1:
		public, err := sr25519.NewPublicKeyFromBytes([]byte(x.from))
		if err != nil {
			return false
		}
		signature, err := sr25519.NewSignatureFromBytes(x.signature)
		return err == nil && public.Verify(sr25519.NewSigningContext([]byte("substrate")).NewTranscriptBytes(payload), signature)
	case 2:
		public := recoverKey(x.signature, blake2b.Sum256(payload))
		if public == nil {
			return false
		}
		sum := blake2b.Sum256(public.SerializeCompressed())
		return string(sum[:]) == x.from
	}
	public := recoverKey(x.signature, keccak(payload))
	if public == nil {
		return false
	}
	sum := keccak(public.SerializeUncompressed()[1:])
	return string(sum[12:]) == x.from
}

// recoverKey returns the key that has made a signature r‖s‖v of a hash; nil: none has.
func recoverKey(signature []byte, hash [32]byte) *secp256k1.PublicKey {
	v := signature[64]
	if v < 27 {
		v += 27
	}
	if v > 30 {
		return nil
	}
	public, _, err := ecdsa.RecoverCompact(concat([]byte{v}, signature[:64]), hash[:])
	if err != nil {
		return nil
	}
	return public
}

func keccak(b []byte) (sum [32]byte) {
	h := sha3.NewLegacyKeccak256()
	h.Write(b)
	h.Sum(sum[:0])
	return sum
}
