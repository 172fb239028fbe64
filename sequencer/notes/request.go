package notes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/conchhq/conch/sequencer/domain"
)

// request is what a user asks for: one of its fields is set.
type request struct {
	Pay   *pay   `json:"pay"`
	Issue *issue `json:"issue"`
}

type pay struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Amount uint64 `json:"amount"`
}

type issue struct {
	To     string `json:"to"`
	Amount uint64 `json:"amount"`
}

const usage = `write {"pay":{"from":"rent","to":"petty","amount":5}} or {"issue":{"to":"rent","amount":100}}`

// Prepare implements domain.Rules.
func (Rules) Prepare(text []byte) (payload []byte, err error) {
	var r request
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		return nil, fmt.Errorf("notes: %w: %s", err, usage)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	payload = r.bytes()
	if words(text) != words(payload) {
		return nil, fmt.Errorf("notes: a field is there twice, or something follows: write %s", payload)
	}
	return payload, nil
}

// check returns what a user has to write instead.
func (r request) check() error {
	switch {
	case (r.Pay == nil) == (r.Issue == nil):
		return errors.New("notes: one payment, or one issue: " + usage)
	case r.Pay != nil:
		return errors.Join(purse("from", r.Pay.From), purse("to", r.Pay.To), amount(r.Pay.Amount))
	default:
		return errors.Join(purse("to", r.Issue.To), amount(r.Issue.Amount))
	}
}

func purse(field, name string) error {
	if isPurse(name) {
		return nil
	}
	return fmt.Errorf("notes: %q is no purse for %q: write 1 to %d of the characters a-z, 0-9 and -", name, field, longest)
}

func amount(n uint64) error {
	if n > 0 {
		return nil
	}
	return errors.New("notes: no amount, or 0: write 1 or more")
}

// bytes returns a request in its one form.
func (r request) bytes() []byte {
	if r.Pay != nil {
		return []byte(`{"pay":{"from":"` + r.Pay.From + `","to":"` + r.Pay.To + `","amount":` + strconv.FormatUint(r.Pay.Amount, 10) + `}}`)
	}
	return []byte(`{"issue":{"to":"` + r.Issue.To + `","amount":` + strconv.FormatUint(r.Issue.Amount, 10) + `}}`)
}

// words counts the names, values and brackets of a text: one that says something twice has more.
func words(text []byte) (n int) {
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		switch _, err := d.Token(); {
		case errors.Is(err, io.EOF):
			return n
		case err != nil:
			return -1
		}
		n++
	}
}

// parse reads a payload in its one form. The error is domain.ErrNever.
func parse(payload []byte) (request, error) {
	var r request
	if err := json.Unmarshal(payload, &r); err != nil {
		return request{}, fmt.Errorf("%w: this is no payload", domain.ErrNever) // err has some of it
	}
	if r.check() != nil {
		return request{}, fmt.Errorf("%w: the payload asks for nothing that may be", domain.ErrNever)
	}
	if !bytes.Equal(r.bytes(), payload) {
		return request{}, fmt.Errorf("%w: the payload is not in its one form", domain.ErrNever)
	}
	return r, nil
}
