package wire

import (
	"bytes"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

// A secret in a log must never happen: nothing prints what a message holds.
func TestAMessagePrintsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "wherewithal"
	decimal, digits, base64 := fmt.Sprintf("%v", []byte(secret)), fmt.Sprintf("%x", secret), "d2hlcmV3aXRoYW"
	hide := &filler{number: random(1).number, length: func(int) int { return 2 }, why: func(done bool) Why {
		if done {
			return Done
		}
		return Busy
	}}
	for _, body := range bodies {
		m := hide.message(body)
		plant(reflect.ValueOf(&m.Body).Elem(), secret)
		if !strings.Contains(dump(m), secret) && !strings.Contains(dump(m), base64) && holdsBytes(body) {
			t.Fatalf("%v: no secret is planted in %s", m, dump(m))
		}
		var log bytes.Buffer
		for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(handler).Info("got", "message", m, "pointer", &m)
		}
		out := log.String() + m.String() + fmt.Sprintf("%v %+v %#v %s %q %x %d %v %+v", m, m, m, m, m, m, m, &m, []Message{m})
		for _, v := range parts(m.Body) {
			out += fmt.Sprintf("%v %+v %#v %s %q %x %d", v, v, v, v, v, v, v) + fmt.Sprint(slog.AnyValue(v).Resolve())
		}
		for _, form := range []string{secret, decimal, digits, fmt.Sprintf("%#v", []byte(secret)), base64} {
			if strings.Contains(strings.ToLower(out), strings.ToLower(form)) {
				t.Errorf("%v prints a secret: %s", body.Kind(), out)
			}
		}
		if line := m.String(); len(line) > 160 || strings.Contains(line, "\n") || !strings.HasPrefix(line, body.Kind().String()) {
			t.Errorf("%q is no short line", line)
		}
	}
}

// parts returns what a body has that machines keep, and may be printed alone.
func parts(b Body) (all []any) {
	switch b := b.(type) {
	case Assembled:
		return []any{b.Results, &b.Results[0], b.Results[0]}
	case Endorse:
		return []any{b.Attempts, &b.Attempts[0], b.Attempts[0]}
	case Handover:
		return []any{b.Entries, b.Entries[0]}
	case Assemble:
		return []any{b.Context.Created, b.Context.Created[0]}
	}
	return nil
}

// holdsBytes reports whether a body has bytes or a text of anybody.
func holdsBytes(b Body) bool {
	switch b.(type) {
	case Assemble, Assembled, Granted, Endorse, Endorsed, Handover, Attempts, Rejected:
		return true
	}
	return false
}

// plant writes the secret to all bytes and texts of a body.
func plant(v reflect.Value, secret string) {
	if v.Kind() == reflect.Interface {
		copied := reflect.New(v.Elem().Type()).Elem()
		copied.Set(v.Elem())
		plant(copied, secret)
		v.Set(copied)
		return
	}
	switch to := v.Addr().Interface().(type) {
	case *[]byte:
		*to = []byte(secret)
	case *string:
		*to = secret
	default:
		switch v.Kind() {
		case reflect.Struct:
			for _, field := range v.Fields() {
				plant(field, secret)
			}
		case reflect.Slice:
			for i := range v.Len() {
				plant(v.Index(i), secret)
			}
		}
	}
}

// Stories and logs show messages as these lines.
func TestTheLinesOfMessages(t *testing.T) {
	t.Parallel()
	id := RequestID{Number: 7}
	for want, m := range map[string]Message{
		"no body":    {},
		"ask list 7": {Request: id, Body: AskList{}},
		"delegate 7: 2 intents for range 3, 1 avoided": {Request: id, Body: Delegate{Range: 3, Intents: make([]Offer, 2), Avoid: make([]ledger.Account, 1)}},
		"assemble 7: 1 intents, context 4 to 5 with 1 locked, 2 created, 0 gone, 3 withheld": {Request: id, Body: Assemble{
			Items: make([]Step, 1), Withheld: make([]ledger.StateID, 3),
			Context: Context{Base: 4, Version: 5, Locked: make([]ledger.StateID, 1), Created: make([]domain.State, 2)},
		}},
		"assembled 7: 1 of 2 attempts done":             {Request: id, Body: Assembled{Results: []Result{{}, {Why: Conflict}}}},
		"granted 7: 0 of 1 grants done":                 {Request: id, Body: Granted{Items: []GrantResult{{Why: Moved}}}},
		"endorsed 7: 1 of 1 verdicts done":              {Request: id, Body: Endorsed{Verdicts: make([]Verdict, 1)}},
		"returned: 2 intents, moved":                    {Body: Returned{Items: make([]Step, 2), Why: Moved}},
		"rejected 7: out of step":                       {Request: id, Body: Rejected{Why: OutOfStep, Text: "unsaid"}},
		"endorse 7: 1 attempts for range 2, 0 upstream": {Request: id, Body: Endorse{Range: 2, Attempts: make([]Whole, 1)}},
	} {
		if got := m.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := Kind(99).String(); got != "no known kind" {
		t.Errorf("the kind 99 is %q", got)
	}
}
