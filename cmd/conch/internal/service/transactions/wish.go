package transactions

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/conchhq/conch/chain"
	"github.com/conchhq/conch/chain/evm"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/pending"
)

// farthest is how far ahead a deadline may be. A later one is a slip, such as milliseconds read as seconds.
const farthest = 366 * 24 * time.Hour

// wishes sets what a request says of how its call is made and sent, of an intent whose call has its receiver and its data, if there are any.
func (b requestBody) wishes(in *pending.Intent, now time.Time) (err error) {
	if err := b.encode(&in.Call); err != nil {
		return err
	}
	if b.Speed != "" {
		if in.Speed, err = chain.ParseSpeed(b.Speed); err != nil {
			return &web.FieldError{Field: "speed", Text: err.Error()}
		}
	}
	if b.MaxFee != "" {
		if !decimal().MatchString(b.MaxFee) {
			return &web.FieldError{Field: "max_fee", Text: "is not a text of decimal digits: write the most for a unit of gas, in the chain's smallest unit"}
		}
		if in.MaxFee, _ = new(big.Int).SetString(b.MaxFee, 10); in.MaxFee.Sign() == 0 || in.MaxFee.BitLen() > 256 {
			return &web.FieldError{Field: "max_fee", Text: "is 0, or does not fit 256 bits: leave it out for what the account may pay"}
		}
	}
	if b.ValidUntil != "" {
		if in.ValidUntil, err = time.Parse(time.RFC3339, b.ValidUntil); err != nil {
			return &web.FieldError{Field: "valid_until", Text: "is not a time like 2026-01-31T12:00:00Z (RFC 3339, with a zone)"}
		}
		if in.ValidUntil.Sub(now) > farthest {
			return &web.FieldError{Field: "valid_until", Text: "is more than 366 days ahead: leave it out for no deadline"}
		}
	}
	if in.LastBlock = b.LastBlock; b.LastBlock > 1<<62 {
		return &web.FieldError{Field: "last_block", Text: "is more than any chain has"}
	}
	return nil
}

// encode makes the data of a call from a function and its arguments.
func (b requestBody) encode(call *chain.Call) error {
	switch {
	case b.Function == "" && len(b.Args) == 0:
		return nil
	case b.Function == "":
		return &web.FieldError{Field: "function", Text: "is missing, and there are args: write the signature of the function that takes them"}
	case len(call.Data) > 0:
		return &web.FieldError{Field: "data", Text: "is there, and function too: write one of them"}
	case len(call.To) == 0:
		return &web.FieldError{Field: "to", Text: "is missing: write the contract whose function is to be called"}
	}
	data, err := evm.EncodeCall(b.Function, b.Args)
	if wrong, is := errors.AsType[*evm.ArgumentError](err); is {
		return &web.FieldError{Field: "args" + wrong.Path, Text: wrong.Text}
	}
	if err != nil {
		return &web.FieldError{Field: "function", Text: err.Error()}
	}
	call.Data = data
	return nil
}

// Said is what a transaction says of its wish. Its function is its data by nob.
type Said struct {
	Speed      string     `json:"speed"`
	MaxFee     string     `json:"max_fee,omitempty"`
	ValidUntil *time.Time `json:"valid_until,omitempty"`
	LastBlock  uint64     `json:"last_block,omitempty"`
}

func saidOf(in pending.Intent) Said {
	s := Said{Speed: in.Speed.String(), LastBlock: in.LastBlock}
	if in.MaxFee != nil {
		s.MaxFee = in.MaxFee.String()
	}
	if !in.ValidUntil.IsZero() {
		s.ValidUntil = new(in.ValidUntil.UTC())
	}
	return s
}

// until says until when the transaction is of use, for people.
func (s Said) until() (text string) {
	if s.ValidUntil != nil {
		text = s.ValidUntil.Format(time.RFC3339)
	}
	if s.LastBlock > 0 {
		if text != "" {
			text += ", and "
		}
		text += fmt.Sprintf("block %d", s.LastBlock)
	}
	return text
}
