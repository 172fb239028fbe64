package notes_test

import (
	"bytes"
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/notes"
)

// What Prepare takes has one form, and a member can judge it.
func FuzzPrepare(f *testing.F) {
	for request := range refusals {
		f.Add([]byte(request))
	}
	f.Add([]byte(` {"pay": {"to":"petty", "from":"rent", "amount":108}}`))
	f.Fuzz(func(t *testing.T, request []byte) {
		payload, err := rules.Prepare(request)
		if err != nil {
			return
		}
		if again, err := rules.Prepare(payload); err != nil || !bytes.Equal(payload, again) {
			t.Errorf("%q is %q, and that is %q (error %v)", request, payload, again, err)
		}
		if _, err := rules.Assemble(domain.Call{Intent: ledger.Intent{Owner: "bank"}, Payload: payload}, &states{of: rules}); err != nil && !errors.Is(err, domain.ErrConflict) {
			t.Errorf("%q can never be carried out: %v", payload, err)
		}
	})
}

func FuzzNote(f *testing.F) {
	f.Add([]byte(`{"purse":"rent","amount":5}`))
	f.Add([]byte(`{"purse":"rent","amount":05}`))
	f.Add([]byte(`{"amount":5,"purse":"rent"} `))
	f.Add([]byte(`{"purse":"rent","amount":0}`))
	f.Add([]byte(`{"purse":"","amount":5}`))
	f.Add([]byte(`{"purse":"Rent","amount":5}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		n, err := notes.ParseNote(data)
		if err == nil && (!bytes.Equal(n.Bytes(), data) || n.Amount == 0 || n.Purse == "" || strings.Trim(n.Purse, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || rules.Label(data) != n.Purse) {
			t.Errorf("%q is the note %+v with the label %q", data, n, rules.Label(data))
		}
		if err != nil && (!errors.Is(err, domain.ErrNever) || rules.Label(data) != "") {
			t.Errorf("%q has the label %q and error %v", data, rules.Label(data), err)
		}
	})
}

// Whatever is endorsed conserves money, counted without limits.
func FuzzEndorse(f *testing.F) {
	f.Add([]byte(`{"pay":{"from":"rent","to":"petty","amount":5}}`), uint64(4), uint64(4), []byte(`{"purse":"petty","amount":5}`), []byte(`{"purse":"rent","amount":3}`))
	f.Add([]byte(`{"pay":{"from":"rent","to":"rent","amount":18446744073709551615}}`), uint64(1<<63), uint64(1<<63), []byte(`{"purse":"rent","amount":18446744073709551615}`), []byte(`{"purse":"rent","amount":1}`))
	f.Add([]byte(`{"issue":{"to":"rent","amount":5}}`), uint64(0), uint64(0), []byte(`{"purse":"rent","amount":5}`), []byte{})
	f.Fuzz(func(t *testing.T, payload []byte, one, other uint64, paid, change []byte) {
		p := domain.Proposal{Intent: ledger.Intent{Owner: "alice"}, Payload: payload}
		balance := new(big.Int)
		for i, amount := range []uint64{one, other} {
			if amount > 0 {
				p.Inputs = append(p.Inputs, state(byte(i), notes.Note{Purse: "rent", Amount: amount}))
				balance.Add(balance, new(big.Int).SetUint64(amount))
			}
		}
		for _, data := range [][]byte{paid, change} {
			if len(data) > 0 {
				p.Outputs = append(p.Outputs, data)
			}
		}
		if rules.Endorse(p) != nil {
			return
		}
		for _, data := range p.Outputs {
			n, err := notes.ParseNote(data)
			if err != nil {
				t.Fatalf("%q was endorsed as a note: %v", data, err)
			}
			balance.Sub(balance, new(big.Int).SetUint64(n.Amount))
		}
		if balance.Sign() != 0 {
			t.Errorf("%q of %d and %d makes %q: %v are gone", payload, one, other, p.Outputs, balance)
		}
	})
}
