package notes

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/conchhq/conch/sequencer/domain"
)

// Endorse implements domain.Rules. Its errors go to operators of other members: they have no amounts and no purses.
func (r Rules) Endorse(p domain.Proposal) error {
	asked, err := parse(p.Payload)
	switch {
	case err != nil:
		return err
	case len(p.Data) > 0 || len(p.Reads) > 0:
		return fmt.Errorf("%w: notes have no data and no reads", domain.ErrNever)
	}
	var spent sum
	if asked.Issue != nil {
		if len(p.Inputs) > 0 {
			return fmt.Errorf("%w: an issue spends nothing", domain.ErrNever)
		}
		err = r.issues(p.Owner)
	} else {
		spent, err = asked.Pay.spends(p.Inputs)
	}
	if err != nil {
		return err
	}
	if want := asked.outputs(spent); !slices.EqualFunc(p.Outputs, want, bytes.Equal) {
		return fmt.Errorf("%w: the %d notes that it makes are not those that it may make", domain.ErrNever, len(p.Outputs))
	}
	return nil
}

// spends returns what the inputs of a payment hold. They are notes of the payer, each is there once, they hold the
// amount, and the change is one note.
func (p pay) spends(inputs []domain.State) (spent sum, err error) {
	if len(inputs) > mostInputs {
		return sum{}, fmt.Errorf("%w: %d notes, and %d is the most", domain.ErrNever, len(inputs), mostInputs)
	}
	for i, s := range inputs {
		n, err := ParseNote(s.Data)
		if err != nil {
			return sum{}, err
		}
		if n.Purse != p.From {
			return sum{}, fmt.Errorf("%w: input %d is not a note of the purse that pays", domain.ErrNever, i)
		}
		for _, before := range inputs[:i] {
			if before.ID == s.ID {
				return sum{}, fmt.Errorf("%w: input %d is there twice", domain.ErrNever, i)
			}
		}
		spent = spent.plus(n.Amount)
	}
	if spent.minus(p.Amount).high > 0 { // less than the amount wraps
		return sum{}, fmt.Errorf("%w: the inputs do not hold the amount, or the change is too much for one note", domain.ErrNever)
	}
	return spent, nil
}
