package notes_test

import (
	"fmt"
	"iter"
	"log"
	"slices"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
)

// The bank issues notes, and a member pays. An overlay stands for the states of the contract: each intent is assembled on
// what those before it would leave, as a node does with a batch.
func Example() {
	bank := notes.New("bank")
	states := book.Over(none{}, bank)
	for i, request := range []string{
		`{"issue": {"to": "rent", "amount": 100}}`,
		`{"pay": {"from": "rent", "to": "petty", "amount": 30}}`,
		`{"pay": {"from": "petty", "to": "cleaner", "amount": 31}}`,
	} {
		payload, err := bank.Prepare([]byte(request))
		if err != nil {
			log.Fatal(err)
		}
		call := domain.Call{Intent: ledger.Intent{Owner: "bank", Sequence: ledger.Sequence{Counter: uint64(i)}}, Payload: payload}
		draft, err := bank.Assemble(call, states)
		if err != nil {
			fmt.Println(err)
			continue
		}
		for _, id := range draft.Inputs {
			states.Hide(id)
		}
		for n, data := range draft.Outputs {
			states.Add(domain.State{ID: ledger.StateID{byte(i), byte(n)}, Secret: domain.Secret{Data: data}})
		}
	}
	for _, purse := range []string{"rent", "petty"} {
		for _, s := range slices.Collect(states.Labelled(purse, 0)) {
			fmt.Printf("%s\n", s.Data)
		}
	}
	// Output:
	// the states that it needs are not there: petty has less than 31
	// {"purse":"rent","amount":70}
	// {"purse":"petty","amount":30}
}

// none is a contract without states.
type none struct{}

func (none) State(ledger.StateID) (s domain.State, is bool) { return s, false }

func (none) Labelled(string, uint64) iter.Seq[domain.State] {
	return func(func(domain.State) bool) {}
}
