package substratetest

import (
	"fmt"
	"math/big"
)

// fault is why a transaction is not valid: a TransactionValidityError. Nil: it is valid.
type fault struct {
	unknown bool
	code    byte
}

// The faults that this runtime finds.
var (
	faultPayment    = &fault{code: 1}
	faultFuture     = &fault{code: 2}
	faultStale      = &fault{code: 3}
	faultBadProof   = &fault{code: 4}
	faultAncient    = &fault{code: 5}
	faultExhausts   = &fault{code: 6}
	faultUnlookable = &fault{unknown: true, code: 0}
)

var faultNames = []string{"call", "payment", "future", "stale", "badProof", "ancientBirthBlock", "exhaustsResources"}

// What a node says of each, in the data of its error.
var faultTexts = []string{
	"Transaction call is not expected",
	"Inability to pay some fees (e.g. account balance too low)",
	"Transaction will be valid in the future",
	"Transaction is outdated",
	"Transaction has a bad signature",
	"Transaction has an ancient birth block",
	"Transaction would exhaust the block limits",
}

// Prices and sizes of the runtime, in the chain's smallest unit and in bytes.
const (
	feeBase     = 100_000_000
	feeByte     = 1_000_000
	blockLength = 3_932_160 // of all that is not an inherent
)

func fee(length int) *big.Int { return big.NewInt(feeBase + feeByte*int64(length)) }

// validate says what the runtime that stands after a block says of a transaction for the next one. State is that after the block,
// or after those transactions that stand before this one.
func (n *Node) validate(x *extrinsic, after *block, s state) *fault {
	if !x.signed {
		return &fault{unknown: true, code: 1} // of what is not signed this runtime takes inherents alone, and none from a pool
	}
	if x.metadataHash {
		return faultUnlookable // this runtime does not know the hash of its metadata
	}
	born, known := after.ancestor(x.birth(uint64(after.number) + 1))
	if !known {
		return faultAncient
	}
	implicit := concat(u32(after.runtime.Spec), u32(after.runtime.Transaction), n.genesis.hash[:], born[:], []byte{0})
	a := s.account(x.from)
	total := new(big.Int).Add(fee(len(x.raw)), x.tip)
	switch {
	case !x.verify(implicit):
		return faultBadProof
	case x.nonce < a.nonce:
		return faultStale
	case len(x.raw) > blockLength:
		return faultExhausts
	case total.Add(total, n.deposit).Cmp(a.free) > 0:
		return faultPayment
	}
	return nil
}

// ancestor returns the hash of a block, as the runtime has it that stands after b.
func (b *block) ancestor(number uint64) (hash [32]byte, known bool) {
	if number == uint64(b.number) {
		return b.hash, true
	}
	if number > uint64(b.number) {
		return hash, false
	}
	value := b.state[blockHashKey(uint32(number))]
	if len(value) != len(hash) {
		return hash, false
	}
	return [32]byte(value), true
}

// priority of a transaction in the pool: FRAME's, by which a longer one needs a higher tip.
func (n *Node) priority(x *extrinsic) uint64 {
	p := new(big.Int).Div(x.tip, new(big.Int).SetUint64(n.cfg.TipUnit))
	p.Add(p, big.NewInt(1))
	p.Mul(p, big.NewInt(int64(max(blockLength/len(x.raw), 1))))
	if !p.IsUint64() {
		return 1<<64 - 1
	}
	return p.Uint64()
}

// longevity is for how many blocks a transaction stays valid.
func (x *extrinsic) longevity(current uint64) uint64 {
	if x.period == 0 {
		return 1<<64 - 1
	}
	return x.birth(current) + x.period - current
}

// encode is the error of a TransactionValidity.
func (f *fault) encode() []byte {
	if f.unknown {
		return []byte{1, 1, f.code}
	}
	return []byte{1, 0, f.code}
}

// refusal is what author_submitExtrinsic answers, in the words of a node or in those of Chopsticks.
func (f *fault) refusal(chopsticks bool) *rpcError {
	switch {
	case chopsticks && f.unknown:
		return &rpcError{Code: 1011, Message: `{"unknown":{"cannotLookup":null}}`}
	case chopsticks:
		return &rpcError{Code: 1010, Message: fmt.Sprintf(`{"invalid":{%q:null}}`, faultNames[f.code])}
	case f.unknown:
		return &rpcError{Code: 1011, Message: "Unknown Transaction Validity", Data: "Could not lookup information required to validate the transaction"}
	}
	return &rpcError{Code: 1010, Message: "Invalid Transaction", Data: faultTexts[f.code]}
}
