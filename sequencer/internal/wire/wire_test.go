package wire

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
)

func seeds() uint64 {
	if runtest.Nightly() {
		return 5_000
	}
	return 100
}

func encoded(t testing.TB, m Message) []byte {
	t.Helper()
	out, err := Encode(m)
	if err != nil {
		t.Fatalf("%v: %v", m, err)
	}
	return out
}

// Every field of every kind arrives as it was sent, and equal messages have equal bytes.
func TestMessagesArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for seed := range seeds() {
		f := random(seed)
		for _, body := range bodies {
			m := f.message(body)
			leaves(reflect.ValueOf(m), "Message", found)
			leaves(reflect.ValueOf(m.Body), body.Kind().String(), found)
			in := encoded(t, m)
			got, err := Decode(in)
			if err != nil {
				t.Fatalf("seed %d, %v: %v", seed, m, err)
			}
			if !reflect.DeepEqual(got, m) {
				t.Fatalf("seed %d, %v: got\n%s\nwant\n%s", seed, m, dump(got), dump(m))
			}
			if again := encoded(t, got); !bytes.Equal(again, in) {
				t.Fatalf("seed %d, %v: it has other bytes the second time", seed, m)
			}
			if size := Size(m); len(in) > size || size > 3*len(in)+400 {
				t.Fatalf("seed %d, %v: Size says %d, and it has %d bytes", seed, m, size, len(in))
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(found)) {
		if !found[path] {
			t.Errorf("%s was never filled, so nothing is known of it", path)
		}
	}
}

func TestBeatsArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	for seed := range seeds() {
		b := random(seed).beat()
		in, err := EncodeBeat(b)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeBeat(in); err != nil || !reflect.DeepEqual(got, b) {
			t.Fatalf("seed %d: got %+v, %v; want %+v", seed, got, err, b)
		}
	}
}

// dump prints all of a message, as Message itself never does.
func dump(m Message) string {
	type plain Message
	out, err := json.Marshal(plain(m)) // nothing else prints a secret
	if err != nil {
		panic(err)
	}
	return string(out)
}

// The kinds of bodies have a way each; a kind that is added needs one too.
func TestEveryKindIsTested(t *testing.T) {
	t.Parallel()
	for i, body := range bodies {
		if got := body.Kind(); got != Kind(i)+1 {
			t.Errorf("body %d has the kind %v", i, got)
		}
	}
	if len(bodies) != int(kinds)-1 {
		t.Errorf("%d bodies and %d kinds", len(bodies), kinds-1)
	}
}

// known reports whether an error is one of those of this package, so that a caller can tell what to do.
func known(err error) bool {
	return errors.Is(err, ErrMalformed) || errors.Is(err, ErrVersion) || errors.Is(err, ErrKind) || errors.Is(err, ErrSize)
}

// P39: what a store has of an attempt is read as it was written, also after an upgrade: these bytes never change.
func TestWholesAreStoredForEver(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		m := random(seed).message(Attempts{})
		for _, w := range m.Body.(Attempts).Attempts { //nolint:forcetypeassert // it is filled
			in, err := EncodeWhole(w)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := DecodeWhole(in); err != nil || !reflect.DeepEqual(got, w) {
				t.Fatalf("seed %d: %+v is read as %+v, %v", seed, w, got, err)
			}
		}
	}
	var w Whole
	counting().fill(reflect.ValueOf(&w).Elem(), "Whole")
	got, err := EncodeWhole(w)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "whole.hex")
	if *update {
		if err := os.WriteFile(path, lines(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := golden(t, path); !bytes.Equal(got, want) {
		t.Errorf("it is\n%s\nwant\n%s", lines(got), lines(want))
	}
}

// Bytes that are no attempt are refused, and so are those of a newer release.
func TestWholesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   []byte
		want error
	}{
		"nothing": {nil, ErrMalformed}, "no version": {[]byte{0}, ErrMalformed}, "no attempt": {[]byte{stored}, ErrMalformed},
		"garbage": {[]byte{stored, 255, 255}, ErrMalformed}, "newer": {[]byte{stored + 1}, ErrVersion},
	} {
		if w, err := DecodeWhole(c.in); !errors.Is(err, c.want) || !reflect.DeepEqual(w, Whole{}) {
			t.Errorf("%s: %+v, %v; want %v", name, w, err, c.want)
		}
	}
}

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

var update = flag.Bool("update", false, "write the bytes of testdata/golden anew")

// goldens has a message of each kind and a beat, by the names of their files.
func goldens(t testing.TB) (messages map[string]Message, files map[string][]byte) {
	t.Helper()
	messages, files = map[string]Message{}, map[string][]byte{}
	for _, body := range bodies {
		m := counting().message(body)
		name := strings.ReplaceAll(body.Kind().String(), " ", "-")
		messages[name], files[name] = m, encoded(t, m)
	}
	beat, err := EncodeBeat(counting().beat())
	if err != nil {
		t.Fatal(err)
	}
	files["beat"] = beat
	return messages, files
}

// The format does not change by accident: nodes of different releases talk to each other. A diff of these files is a
// change of the format; wire.proto says which are allowed. Bytes that a release wrote stay readable: before a file
// changes, copy it to another name, and it is read for ever.
func TestTheFormatNeverChanges(t *testing.T) {
	t.Parallel()
	messages, files := goldens(t)
	for name, got := range files {
		path := filepath.Join("testdata", "golden", name+".hex")
		if *update {
			if err := os.WriteFile(path, lines(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want := golden(t, path)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is\n%s\nwant\n%s", name, lines(got), lines(want))
		}
		if name == "beat" {
			if b, err := DecodeBeat(want); err != nil || !reflect.DeepEqual(b, counting().beat()) {
				t.Errorf("the beat is read as %+v, %v", b, err)
			}
		} else if m, err := Decode(want); err != nil || !reflect.DeepEqual(m, messages[name]) {
			t.Errorf("%s is read as\n%s, %v; want\n%s", name, dump(m), err, dump(messages[name]))
		}
	}
	all, err := filepath.Glob("testdata/golden/*.hex")
	if err != nil || len(all) < len(files) {
		t.Fatalf("%d files, %v", len(all), err)
	}
	for _, path := range all {
		if name := filepath.Base(path); !strings.HasPrefix(name, "beat") {
			if m, err := Decode(golden(t, path)); err != nil {
				t.Errorf("%s is no longer read: %v, %v", name, m, err)
			}
		}
	}
}

// lines writes bytes as hexadecimal digits, 64 a line.
func lines(b []byte) []byte {
	return regexp.MustCompile(`.{1,64}`).ReplaceAll([]byte(hex.EncodeToString(b)), []byte("$0\n"))
}

func golden(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out, err := hex.DecodeString(strings.ReplaceAll(string(text), "\n", ""))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
