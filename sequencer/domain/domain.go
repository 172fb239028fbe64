// Package domain has the words for the rules of a contract's states, and what the author of such rules writes.
//
// A contract has private states: the ledger knows a name and a commitment for each of them, the members have the data.
// [Rules] say which states an intent spends and creates, and whether what another member proposes is right. Package
// notes is the worked example, and its documentation teaches how to write the next.
//
// Rules are pure functions, and quick: Assemble is called in the loop of a node. They are the same on every node: the
// contract's declaration names them with their version, and with whatever they were made with, such as the account of the
// member that may do more than others. Nodes with other rules would refuse each other's proposals for ever.
//
// Rules see the states that an attempt uses, and no others: an endorser cannot ask whether a state is absent. So what must
// be there once, such as a serial number, has to come out of a state that is spent for it, or from one member that the
// others trust with that.
//
// Sources: document 002; requirements P12 and P36; D20.
package domain

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"iter"

	"github.com/conchhq/conch/sequencer/ledger"
)

// Rules are the rules of a contract's states. They are safe for concurrent use.
type Rules interface { //nolint:interfacebloat // what the author of a domain writes, and nothing else
	// Prepare checks what a user asks for and returns it in its one form, the payload, whose hash is on the ledger.
	// The same request has the same payload: it may be handed in again under its key. An error is for the user: nothing was
	// stored.
	Prepare(request []byte) (payload []byte, err error)
	// Label returns the name under which Assemble finds a state, such as its owner. It may be empty.
	Label(state []byte) string
	// Assemble returns what carries out an intent. The error is ErrNever if no view can make it possible, ErrConflict
	// if another view may, and any other if the rules have failed.
	Assemble(call Call, view View) (Draft, error)
	// Endorse returns nil if the proposal keeps the rules. The error is ErrNever if it breaks them.
	Endorse(p Proposal) error
}

var (
	// ErrNever means that an intent cannot be carried out, whatever the states are. It ends the intent.
	ErrNever = errors.New("it can never be carried out")
	// ErrConflict means that the states which an intent needs are not there now. It is tried again when they change.
	ErrConflict = errors.New("the states that it needs are not there")
)

// Call is what a user has asked for.
type Call struct {
	ledger.Intent
	Payload []byte
}

// State is a state with its data, which the ledger does not have.
type State struct {
	ID        ledger.StateID
	Creator   ledger.Intent // of the attempt that creates it
	Assembled ledger.Hash   // of that attempt
	Secret
}

// Secret is what the commitment of a state hides.
type Secret struct {
	Salt [16]byte // keeps equal data from having equal commitments
	Data []byte
}

// Commitment returns the hash of a secret that the ledger keeps.
func (s Secret) Commitment() ledger.Hash {
	b := make([]byte, 0, 64+len(s.Data))
	b = append(b, "conch state data"...)
	b = append(b, s.Salt[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(s.Data)))
	return sha256.Sum256(append(b, s.Data...))
}

// View is the states that an intent may use now: those that are unspent, and those that attempts on their way create.
type View interface {
	// State returns a state, if it may be used.
	State(id ledger.StateID) (State, bool)
	// Labelled returns the states with a label. The order begins at a place drawn from the seed: intents that begin
	// at different places meet less often. Equal views and seeds give equal orders. A seed is a hash of the intent, or 0
	// where one state at most has the label.
	Labelled(label string, seed uint64) iter.Seq[State]
}

// Draft is how an intent is carried out. Each list may be empty; no state is twice in Inputs and Reads. A list
// has 256 states at most, and a text 64 KiB.
type Draft struct {
	Inputs  []ledger.StateID // spent; in any order
	Reads   []ledger.StateID // must stay unspent; in any order
	Outputs [][]byte         // the data of the states that it creates; this order stays
	Data    []byte           // the domain's own; it is public on the ledger
}

// Proposal is an attempt with everything that the ledger does not see.
type Proposal struct {
	ledger.Intent
	Payload []byte
	Inputs  []State // in the attempt's order
	Reads   []State // in the attempt's order
	Outputs [][]byte
	Data    []byte
}

// PayloadHash returns the hash of a payload, which an attempt carries.
func PayloadHash(payload []byte) ledger.Hash {
	return sha256.Sum256(append([]byte("conch payload"), payload...))
}
