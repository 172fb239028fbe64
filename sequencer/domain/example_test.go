package domain_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// seats are the rules of a hall. A state is a seat with its holder, and any member may hand a seat to another holder.
type seats struct{}

func (seats) Prepare(request []byte) (payload []byte, err error) {
	if strings.Count(string(request), " to ") != 1 {
		return nil, errors.New("say: SEAT to HOLDER")
	}
	return request, nil
}

func (seats) Label(state []byte) string {
	seat, _, _ := strings.Cut(string(state), " of ")
	return seat
}

func (seats) Assemble(call domain.Call, view domain.View) (d domain.Draft, err error) {
	seat, holder, _ := strings.Cut(string(call.Payload), " to ")
	held := slices.Collect(view.Labelled(seat, 0))
	if len(held) == 0 {
		return d, fmt.Errorf("%w: nobody has the seat %s", domain.ErrConflict, seat)
	}
	return domain.Draft{Inputs: []ledger.StateID{held[0].ID}, Outputs: [][]byte{[]byte(seat + " of " + holder)}}, nil
}

func (r seats) Endorse(p domain.Proposal) error {
	seat, holder, _ := strings.Cut(string(p.Payload), " to ")
	if len(p.Inputs) != 1 || len(p.Outputs) != 1 || r.Label(p.Inputs[0].Data) != seat || string(p.Outputs[0]) != seat+" of "+holder {
		return fmt.Errorf("%w: the seat %s is not handed on as its user has asked", domain.ErrNever, seat)
	}
	return nil
}

// hall is the states of a contract.
type hall []domain.State

func (h hall) State(id ledger.StateID) (found domain.State, is bool) {
	at := slices.IndexFunc(h, func(s domain.State) bool { return s.ID == id })
	if at < 0 {
		return found, false
	}
	return h[at], true
}

func (h hall) Labelled(label string, _ uint64) iter.Seq[domain.State] {
	return slices.Values(slices.DeleteFunc(slices.Clone(h), func(s domain.State) bool { return seats{}.Label(s.Data) != label }))
}

// The node that has accepted an intent assembles it, and the other members endorse what they are shown.
func Example() {
	var rules seats
	states := hall{{ID: ledger.StateID{1}, Secret: domain.Secret{Data: []byte("12c of anna")}}}
	for _, request := range []string{"12c to bert", "13a to bert"} {
		payload, err := rules.Prepare([]byte(request))
		if err != nil {
			fmt.Println(err)
			continue
		}
		draft, err := rules.Assemble(domain.Call{Payload: payload}, states)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Printf("%s\n", draft.Outputs)
		fmt.Println(rules.Endorse(domain.Proposal{Payload: payload, Inputs: states, Outputs: draft.Outputs}))
		fmt.Println(rules.Endorse(domain.Proposal{Payload: payload, Inputs: states, Outputs: [][]byte{[]byte("12c of carl")}}))
	}
	// Output:
	// [12c of bert]
	// <nil>
	// it can never be carried out: the seat 12c is not handed on as its user has asked
	// the states that it needs are not there: nobody has the seat 13a
}
