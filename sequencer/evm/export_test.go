package evm

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// The errors of what endpoints say, and of what the contract has no function for.
var (
	ErrAnswer, ErrBehind, ErrLog, ErrSent = errAnswer, errBehind, errLog, errSent
)

// Facts is readFacts.
var Facts = readFacts

// CodeHash returns the hash of the contract's code before its creation has put values into it: it names the version
// of the rules.
func CodeHash() (ledger.Hash, error) {
	a, err := parse(compiled)
	return ledger.Hash(crypto.Keccak256Hash(a.Code)), err
}

// At reads intents and states in a block of the best chain, as Final does in a final one.
func (r *Reader) At(ctx context.Context, number string, intents []ledger.Intent, states []ledger.StateID) (ledger.View, error) {
	b, err := r.block(ctx, number)
	if err != nil {
		return nil, err
	}
	return r.view(ctx, b, intents, states)
}

// MapCreation is Creation of the contract that has a slot for each intent.
func MapCreation(c ledger.Contract) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join("solidity", "MapLedger.json"))
	if err != nil {
		return nil, err
	}
	return creation(text, c)
}

// Signatures returns the functions and events that this package has by their selectors and topics.
func Signatures() (functions map[string][]byte, events map[string]common.Hash) {
	return map[string][]byte{
			"submit": submitSelector, "cancel": cancelSelector, "over": overSelector, "unspent": unspentSelector,
			"declared": declaredSelector, "since": sinceSelector, "declaration": declarationSelector,
		}, map[string]common.Hash{
			"Landed": landedTopic, "Cancelled": cancelledTopic, "Skipped": skippedTopic,
		}
}

// Compiled is the compiled contract.
func Compiled() (text []byte, a struct{ ABI json.RawMessage }, err error) {
	err = json.Unmarshal(compiled, &a)
	return compiled, a, err
}

// DecodeDeclaration is decodeDeclaration.
func DecodeDeclaration(b []byte) (ledger.Contract, error) { return decodeDeclaration(b) }

// Declaration is what decodeDeclaration reads.
func Declaration(c ledger.Contract) []byte { return tuple(behind(declaration(c))) }

// Gas is the limit that a transaction gets.
func Gas(c ledger.Contract, tx ledger.Sent, data []byte) uint64 { return gas(c, tx, data) }

// Loads are the transactions of what is sent.
func Loads(c ledger.Contract, tx ledger.Sent) ([]ledger.Sent, error) { return loads(c, tx, mostGas) }

// Key is the key with which a call is submitted.
func Key(c chain.Call) string { return key(c) }

// Narrow has the log searched over so few blocks at once.
func (r *Reader) Narrow(blocks uint64) { r.window = blocks }

// Marks returns how many entries a call's data shows.
func Marks(data []byte) int { return len(marksIn(data)) }
