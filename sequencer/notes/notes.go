package notes

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Name is the domain's in a contract's declaration.
const Name = "notes/1"

// Rules are the rules of notes. They are safe for concurrent use.
type Rules struct {
	Issuer ledger.Account // the member whose intents may issue notes; if empty, nobody's
}

// New returns the rules of a contract whose notes one member issues. Every node names the same one.
func New(issuer ledger.Account) Rules { return Rules{Issuer: issuer} }

// Note is a state: money in a purse.
type Note struct {
	Purse  string `json:"purse"`
	Amount uint64 `json:"amount"`
}

// Bytes returns a note in its one form.
func (n Note) Bytes() []byte {
	return []byte(`{"purse":"` + n.Purse + `","amount":` + strconv.FormatUint(n.Amount, 10) + `}`)
}

// ParseNote reads a note in its one form. The error is domain.ErrNever.
func ParseNote(data []byte) (Note, error) {
	var n Note
	if err := json.Unmarshal(data, &n); err != nil {
		return Note{}, fmt.Errorf("%w: this is no note", domain.ErrNever) // err has some of it
	}
	if !isPurse(n.Purse) || n.Amount == 0 || !bytes.Equal(n.Bytes(), data) {
		return Note{}, fmt.Errorf("%w: this is no note in its one form", domain.ErrNever)
	}
	return n, nil
}

// Label implements domain.Rules: it is the purse, empty for what is no note.
func (Rules) Label(state []byte) string {
	n, _ := ParseNote(state)
	return n.Purse
}

const longest = 32 // characters of a purse

func isPurse(name string) bool {
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return name != "" && len(name) <= longest
}

// sum is a sum of amounts. It has 128 bits, so that no number of notes overflows it.
type sum struct{ high, low uint64 }

func (s sum) plus(amount uint64) sum {
	low, carry := bits.Add64(s.low, amount, 0)
	return sum{s.high + carry, low}
}

func (s sum) minus(amount uint64) sum {
	low, borrow := bits.Sub64(s.low, amount, 0)
	return sum{s.high - borrow, low}
}

// holds reports whether the sum is an amount or more.
func (s sum) holds(amount uint64) bool { return s.high > 0 || s.low >= amount }
