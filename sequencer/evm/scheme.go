package evm

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Scheme hashes and verifies as the contract does: Keccak-256, EIP-712, secp256k1.
type Scheme struct{}

var _ ledger.Scheme = Scheme{}

// The types that are signed, as a wallet shows them. They are those of Ledger.sol.
var (
	domainType       = kind("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
	domainName       = kind("conch ledger")
	domainVersion    = kind("1")
	attemptType      = kind("Attempt(address owner,uint128 sequence,bytes32 payload,bytes32[] inputs,bytes32[] reads,bytes32[] outputs,bytes data)")
	grantType        = kind("Grant(bytes32 assembled,address coordinator,bytes32 delegation,uint64 validUntil)")
	cancellationType = kind("Cancellation(address owner,uint128 sequence)")
)

func kind(text string) word { return crypto.Keccak256Hash([]byte(text)) }

// keccak hashes words one after the other.
func keccak[T ~[32]byte](words ...T) word {
	state := crypto.NewKeccakState()
	for _, w := range words {
		_, _ = state.Write(w[:]) // it never fails
	}
	return word(state.Sum(nil))
}

// place is where a contract is, in a word. What is no address becomes a hash, and everything that is signed for it is
// worthless.
func place(c ledger.Contract) word {
	if !common.IsHexAddress(c.Address) {
		return crypto.Keccak256Hash([]byte(c.Address))
	}
	at := common.HexToAddress(c.Address)
	return account(ledger.Account(at[:]))
}

// separator is EIP-712's domain separator of a contract.
func separator(c ledger.Contract) word {
	return keccak(domainType, domainName, domainVersion, number(c.Chain), place(c))
}

// typed is the hash of a structure as it is signed.
func typed(c ledger.Contract, structure ...word) ledger.Hash {
	of, what := separator(c), keccak(structure...)
	return ledger.Hash(crypto.Keccak256Hash([]byte{0x19, 0x01}, of[:], what[:]))
}

// Assembled implements ledger.Scheme.
func (Scheme) Assembled(c ledger.Contract, a ledger.Attempt) ledger.Hash {
	return typed(c, attemptType, account(a.Owner), sequence(a.Sequence), word(a.Payload),
		keccak(a.Inputs...), keccak(a.Reads...), keccak(a.Outputs...), crypto.Keccak256Hash(a.Data))
}

// Granted implements ledger.Scheme.
func (Scheme) Granted(c ledger.Contract, g ledger.Grant) ledger.Hash {
	return typed(c, grantType, word(g.Assembled), account(g.Coordinator), word(g.Delegation), number(g.ValidUntil))
}

// Cancelled implements ledger.Scheme.
func (Scheme) Cancelled(c ledger.Contract, in ledger.Intent) ledger.Hash {
	return typed(c, cancellationType, account(in.Owner), sequence(in.Sequence))
}

// State implements ledger.Scheme.
func (Scheme) State(assembled ledger.Hash, index int) ledger.StateID {
	return ledger.StateID(keccak(word(assembled), number(uint64(index))))
}

// Declared implements ledger.Scheme: it is what the contract's own declared returns.
func (Scheme) Declared(c ledger.Contract) ledger.Hash {
	return ledger.Hash(crypto.Keccak256Hash(tuple(fixed(number(c.Chain), place(c)), behind(declaration(c)))))
}
