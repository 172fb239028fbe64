package notes_test

import (
	"fmt"
	"iter"
	"log"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
)

// The bank issues notes, and a member pays. Each intent is assembled on what those before it would leave, as a node does with a
// batch.
func Example() {
	bank := notes.New("bank")
	now := &states{of: bank}
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
		draft, err := bank.Assemble(call, now)
		if err != nil {
			fmt.Println(err)
			continue
		}
		now.all = slices.DeleteFunc(now.all, func(s domain.State) bool { return slices.Contains(draft.Inputs, s.ID) })
		for n, data := range draft.Outputs {
			now.all = append(now.all, domain.State{ID: ledger.StateID{byte(i), byte(n)}, Secret: domain.Secret{Data: data}})
		}
	}
	for _, purse := range []string{"rent", "petty"} {
		for _, s := range slices.Collect(now.Labelled(purse, 0)) {
			fmt.Printf("%s\n", s.Data)
		}
	}
	// Output:
	// the states that it needs are not there: petty has less than 31
	// {"purse":"rent","amount":70}
	// {"purse":"petty","amount":30}
}

// states are those of a contract.
type states struct {
	of  domain.Rules
	all []domain.State
}

func (s *states) State(id ledger.StateID) (found domain.State, is bool) {
	at := slices.IndexFunc(s.all, func(one domain.State) bool { return one.ID == id })
	if at < 0 {
		return found, false
	}
	return s.all[at], true
}

func (s *states) Labelled(label string, _ uint64) iter.Seq[domain.State] {
	return func(yield func(domain.State) bool) {
		for _, one := range s.all {
			if s.of.Label(one.Data) == label && !yield(one) {
				return
			}
		}
	}
}
