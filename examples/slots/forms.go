package slots

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
)

// mostSlots is the most that a day has.
const mostSlots = 96

// state is a day, or one of its slots. It has one form: {"day":"2026-11-30","slot":3,"holder":"0x1f3a…"}.
type state struct {
	Day    string `json:"day"`
	Slot   int    `json:"slot,omitempty"`   // 0: the day itself
	Holder string `json:"holder,omitempty"` // the account of the member that may pass it on; a day has none
}

// request is what a member asks for. Its one form has the fields that it needs, in this order.
type request struct {
	Do    string `json:"do"`
	Day   string `json:"day"`
	Slots int    `json:"slots,omitempty"` // of open
	Slot  int    `json:"slot,omitempty"`  // of pass
	To    string `json:"to,omitempty"`    // of pass
}

// form returns the one form of a request or a state.
func form(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers have a form
	}
	return text
}

func parseState(data []byte) (s state, err error) {
	if err = json.Unmarshal(data, &s); err == nil && !bytes.Equal(form(s), data) {
		err = domain.ErrNever
	}
	return s, err
}

// parseRequest reads a request in any form. The error is domain.ErrNever.
func parseRequest(text []byte) (r request, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&r); err != nil {
		return r, fmt.Errorf("%w: it is no request: %w", domain.ErrNever, err)
	}
	if _, more := d.Token(); more != io.EOF {
		return r, fmt.Errorf("%w: there is more after the request", domain.ErrNever)
	}
	digits, hexadecimal := strings.CutPrefix(r.To, "0x")
	raw, fault := hex.DecodeString(digits)
	day, dayFault := time.Parse(time.DateOnly, r.Day)
	needs := request{Do: r.Do, Day: r.Day}
	switch {
	case dayFault != nil || day.Format(time.DateOnly) != r.Day:
		err = fmt.Errorf("%w: %q is no day: write one as 2026-11-30", domain.ErrNever, r.Day)
	case r.Do == "open":
		if needs.Slots = r.Slots; r.Slots < 1 || r.Slots > mostSlots {
			err = fmt.Errorf("%w: a day has 1 to %d slots", domain.ErrNever, mostSlots)
		}
	case r.Do == "pass":
		needs.Slot, needs.To = r.Slot, r.To
		if r.Slot < 1 || r.Slot > mostSlots || !hexadecimal || fault != nil || len(raw) == 0 || hex.EncodeToString(raw) != digits {
			err = fmt.Errorf("%w: a pass names a slot from 1 to %d, and in to an account, 0x and its digits in small letters", domain.ErrNever, mostSlots)
		}
	case r.Do != "close":
		err = fmt.Errorf(`%w: do is one of "open", "pass", "close"`, domain.ErrNever)
	}
	if err == nil && r != needs {
		err = fmt.Errorf("%w: %s takes fewer fields", domain.ErrNever, r.Do)
	}
	return r, err
}
