package notes

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

const (
	// mostInputs is how many notes a payment spends at most.
	mostInputs = 16
	// mostSeen is how many notes of a purse a payment looks at.
	mostSeen = 256
)

// Assemble implements domain.Rules.
func (r Rules) Assemble(call domain.Call, view domain.View) (domain.Draft, error) {
	asked, err := parse(call.Payload)
	if err != nil {
		return domain.Draft{}, err
	}
	if asked.Issue != nil {
		if err := r.issues(call.Owner); err != nil {
			return domain.Draft{}, err
		}
		return domain.Draft{Outputs: asked.outputs(sum{})}, nil
	}
	h, err := collect(view, *asked.Pay, seed(call.Intent))
	if err != nil {
		return domain.Draft{}, err
	}
	return domain.Draft{Inputs: h.inputs, Outputs: asked.outputs(h.total)}, nil
}

func (r Rules) issues(owner ledger.Account) error {
	if owner == "" || owner != r.Issuer {
		return fmt.Errorf("%w: %v issues no notes", domain.ErrNever, owner)
	}
	return nil
}

// outputs returns the notes that a request makes of a sum: the amount, and the change if there is any.
func (r request) outputs(spent sum) [][]byte {
	if r.Issue != nil {
		return [][]byte{Note{r.Issue.To, r.Issue.Amount}.Bytes()}
	}
	paid := [][]byte{Note{r.Pay.To, r.Pay.Amount}.Bytes()}
	if change := spent.minus(r.Pay.Amount); change.low > 0 {
		return append(paid, Note{r.Pay.From, change.low}.Bytes())
	}
	return paid
}

// seed is where an intent begins to look.
func seed(in ledger.Intent) uint64 {
	number := in.Sequence.Bytes()
	h := sha256.Sum256(append(number[:], in.Owner...))
	return binary.BigEndian.Uint64(h[:])
}

// hand has the notes that a payment spends.
type hand struct {
	inputs  []ledger.StateID
	amounts []uint64
	total   sum
}

// collect picks notes of the payer until they hold the amount. If 16 do not, the smallest makes room for the next: the
// hand is then the largest 15 and the next, so it holds the amount as soon as any 16 do.
// A payment to oneself goes on until it has 16: it merges them.
func collect(view domain.View, p pay, seed uint64) (hand, error) {
	var h hand
	seen, all := 0, sum{}
	for s := range view.Labelled(p.From, seed) {
		n, err := ParseNote(s.Data)
		if err != nil {
			continue // nobody has endorsed it
		}
		if seen++; seen > mostSeen {
			break
		}
		all = all.plus(n.Amount)
		fits := h.total.plus(n.Amount).minus(p.Amount).high == 0 // the change is one note
		if !h.total.holds(p.Amount) || fits {
			h.take(s.ID, n.Amount)
		}
		if h.total.holds(p.Amount) && (p.From != p.To || len(h.inputs) == mostInputs) {
			break
		}
	}
	switch {
	case h.total.holds(p.Amount):
		return h, nil
	case all.holds(p.Amount):
		return hand{}, fmt.Errorf("%w: %s has %d in more than %d notes: merge them by paying from %[2]s to %[2]s", domain.ErrConflict, p.From, p.Amount, mostInputs)
	default:
		return hand{}, fmt.Errorf("%w: %s has less than %d", domain.ErrConflict, p.From, p.Amount)
	}
}

func (h *hand) take(id ledger.StateID, amount uint64) {
	if len(h.inputs) < mostInputs {
		h.inputs, h.amounts = append(h.inputs, id), append(h.amounts, amount)
		h.total = h.total.plus(amount)
		return
	}
	least := 0
	for i, a := range h.amounts {
		if a < h.amounts[least] {
			least = i
		}
	}
	h.total = h.total.minus(h.amounts[least]).plus(amount)
	h.inputs[least], h.amounts[least] = id, amount
}
