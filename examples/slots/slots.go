// Package slots is a second domain, as a user writes one: a register of the delivery slots of a warehouse that several
// haulers share. The warehouse opens a day with its slots; a hauler passes a slot that it holds on to another member; the
// warehouse closes the day, and from then on nothing moves: who holds a slot delivers in it.
//
//	{"do":"open","day":"2026-11-30","slots":8}                  by the warehouse, which then holds all of them
//	{"do":"pass","day":"2026-11-30","slot":3,"to":"0x1f3a…"}    by the member that holds it
//	{"do":"close","day":"2026-11-30"}                           by the warehouse
//
// What endorsers check: a slot has one holder, only that member passes it on, and only while its day is open. They cannot
// check that a day is opened once: rules see the states that an attempt uses, and never that one is absent. The warehouse
// is trusted with that much, and the others see it if it opens a day twice.
//
// The program in node runs it as an organisation's node.
package slots

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Rules are the rules of a register. They are safe for concurrent use.
type Rules struct{ warehouse ledger.Account }

// New returns the rules of the slots of a warehouse. Every node names the same one.
func New(warehouse ledger.Account) Rules { return Rules{warehouse} }

// Domain returns what a contract's declaration calls these rules. The warehouse is part of it: nodes that name different
// ones do not share a contract.
func (r Rules) Domain() string { return "slots/1 of " + r.warehouse.String() }

// Prepare implements domain.Rules.
func (Rules) Prepare(text []byte) ([]byte, error) {
	asked, err := parseRequest(text)
	return form(asked), err
}

// Label implements domain.Rules: a day has its date and 0, a slot its number.
func (Rules) Label(data []byte) string {
	s, err := parseState(data)
	if err != nil {
		return ""
	}
	return Label(s.Day, s.Slot)
}

// Label returns the label of a slot, or with 0 of the day itself: sequencer.Node.States finds it by that.
func Label(day string, slot int) string { return fmt.Sprintf("%s/%d", day, slot) }

// HolderOf returns the account of the member that holds a slot. It is false for what is no slot.
func HolderOf(data []byte) (account string, is bool) {
	s, err := parseState(data)
	return s.Holder, err == nil && s.Slot > 0
}

// Assemble implements domain.Rules. At most one state will do, so nothing is chosen.
func (r Rules) Assemble(call domain.Call, view domain.View) (domain.Draft, error) {
	asked, err := parseRequest(call.Payload)
	if err != nil {
		return domain.Draft{}, err
	}
	var d domain.Draft
	var spent, read []domain.State
	switch asked.Do {
	case "pass":
		spent, read = find(view, state{asked.Day, asked.Slot, call.Owner.String()}), find(view, state{Day: asked.Day})
		if len(spent) == 0 || len(read) == 0 {
			return d, fmt.Errorf("%w: the slot, or its open day", domain.ErrConflict)
		}
		d.Inputs, d.Reads = []ledger.StateID{spent[0].ID}, []ledger.StateID{read[0].ID}
	case "close":
		if spent = find(view, state{Day: asked.Day}); len(spent) == 0 {
			return d, fmt.Errorf("%w: an open day", domain.ErrConflict)
		}
		d.Inputs = []ledger.StateID{spent[0].ID}
	}
	d.Outputs, err = r.outputs(call.Owner, asked, spent, read)
	return d, err
}

// find returns a state with this content, or none.
func find(view domain.View, content state) []domain.State {
	for s := range view.Labelled(Label(content.Day, content.Slot), 0) {
		if bytes.Equal(s.Data, form(content)) {
			return []domain.State{s}
		}
	}
	return nil
}

// Endorse implements domain.Rules. The outputs follow from all the rest, so they are made again and compared.
func (r Rules) Endorse(p domain.Proposal) error {
	asked, err := parseRequest(p.Payload)
	if err != nil {
		return err
	}
	outputs, err := r.outputs(p.Owner, asked, p.Inputs, p.Reads)
	if err != nil {
		return err
	}
	if !bytes.Equal(form(asked), p.Payload) || len(p.Data) > 0 || !slices.EqualFunc(outputs, p.Outputs, bytes.Equal) {
		return fmt.Errorf("%w: this is not what follows from the request", domain.ErrNever)
	}
	return nil
}

// outputs returns the data of the states that come of a request of a member, by the states that go and those that stay.
// It is the whole of the rules: Assemble and Endorse both ask it.
func (r Rules) outputs(owner ledger.Account, asked request, spent, read []domain.State) (outputs [][]byte, err error) {
	are := func(states []domain.State, contents ...state) bool {
		return slices.EqualFunc(states, contents, func(s domain.State, content state) bool { return bytes.Equal(s.Data, form(content)) })
	}
	if asked.Do != "pass" && owner != r.warehouse {
		return nil, fmt.Errorf("%w: only the warehouse opens and closes days", domain.ErrNever)
	}
	day := state{Day: asked.Day}
	switch asked.Do {
	case "open":
		if !are(spent) || !are(read) {
			return nil, fmt.Errorf("%w: an open uses no state", domain.ErrNever)
		}
		outputs = append(outputs, form(day))
		for i := range asked.Slots {
			outputs = append(outputs, form(state{asked.Day, i + 1, owner.String()}))
		}
	case "pass":
		if !are(spent, state{asked.Day, asked.Slot, owner.String()}) || !are(read, day) {
			return nil, fmt.Errorf("%w: a pass spends a slot that its owner holds, and reads the open day", domain.ErrNever)
		}
		outputs = [][]byte{form(state{asked.Day, asked.Slot, asked.To})}
	case "close":
		if !are(spent, day) || !are(read) {
			return nil, fmt.Errorf("%w: a close spends the day alone", domain.ErrNever)
		}
	}
	return outputs, nil
}
