package fence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conchhq/conch/fence"
)

// A term can be parsed from its text, in either letter case.
func FuzzTerm(f *testing.F) {
	f.Add(make([]byte, 16))
	f.Add([]byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var term fence.Term
		copy(term[:], b)
		text := term.String()
		if len(text) != 36 || text != strings.ToLower(text) || strings.Count(text, "-") != 4 {
			t.Errorf("String returned %q, want a lower-case UUID", text)
		}
		value, err := term.Value()
		if err != nil || value != text {
			t.Errorf("Value returned %v and %v, want %q", value, err, text)
		}
		for _, from := range []any{text, []byte(text), strings.ToUpper(text), term[:]} {
			var back fence.Term
			if err := back.Scan(from); err != nil || back != term {
				t.Errorf("Scan(%q) gave %q and %v, want %q", from, back, err, term)
			}
		}
		for _, s := range []string{text, strings.ToUpper(text)} {
			if back, err := fence.ParseTerm(s); err != nil || back != term {
				t.Errorf("ParseTerm(%q) returned %q and %v, want %q", s, back, err, term)
			}
		}
	})
}

func FuzzParseTerm(f *testing.F) {
	f.Add("00112233-4455-6677-8899-aabbccddeeff")
	f.Add("")
	f.Add("00112233-4455-6677-8899-aabbccddeefg")
	f.Add("001122334455-6677-8899-aabbccddeeff--")
	f.Fuzz(func(t *testing.T, s string) {
		term, err := fence.ParseTerm(s)
		switch {
		case err != nil && term != (fence.Term{}):
			t.Errorf("ParseTerm(%q) returned an error and %s, want the zero term", s, term)
		case err == nil && term.String() != strings.ToLower(s):
			t.Errorf("ParseTerm(%q) returned %s", s, term)
		}
	})
}

func TestTermsThatAreNone(t *testing.T) {
	for _, s := range []string{
		"", "7", "00112233445566778899aabbccddeeff", "{0011223-4455-6677-8899-aabbccddeeff}", "00112233-4455-6677-8899-aabbccddeefg",
		"00112233+4455-6677-8899-aabbccddeeff", "00112233-4455+6677-8899-aabbccddeeff", "00112233-4455-6677+8899-aabbccddeeff", "00112233-4455-6677-8899+aabbccddeeff",
	} {
		if term, err := fence.ParseTerm(s); err == nil {
			t.Errorf("ParseTerm(%q) returned %s, want an error", s, term)
		}
	}
}

func TestSame(t *testing.T) {
	other := token
	other.Holder, other.System, other.Timeline = "b", 0, 0
	if !token.Same(token) || !token.Same(other) {
		t.Error("Same is false for two tokens of one term")
	}
	for _, change := range []func(*fence.Token){
		func(t *fence.Token) { t.Scope = "other" }, func(t *fence.Token) { t.Epoch++ }, func(t *fence.Token) { t.Term[15]++ },
	} {
		other := token
		change(&other)
		if token.Same(other) {
			t.Errorf("Same is true for %s and %s", other, token)
		}
	}
	for _, word := range []string{"s ", "epoch 7", "01000000-0000-0000-0000-000000000000", "holder a"} {
		if !strings.Contains(token.String(), word) {
			t.Errorf("%q does not contain %q", token, word)
		}
	}
}

// Scan refuses everything that is not a term, and NULL too: every token has a term.
func TestColumnsThatAreNoTerm(t *testing.T) {
	for _, from := range []any{nil, 7, "7", "", []byte{}, []byte("0123456789abcde"), []byte("0123456789abcdefg"), [16]byte{1}} {
		term := fence.Term{1}
		if err := term.Scan(from); err == nil || !strings.HasPrefix(err.Error(), "fence: ") {
			t.Errorf("Scan(%v) gave %s and %v, want an error", from, term, err)
		}
	}
}

func TestATermInJSON(t *testing.T) {
	type proof struct{ Term fence.Term }
	in := proof{token.Term}
	text, err := json.Marshal(in)
	if want := `{"Term":"` + token.Term.String() + `"}`; err != nil || string(text) != want {
		t.Errorf("Marshal returned %s and %v, want %s", text, err, want)
	}
	var out proof
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("Unmarshal(%s) gave %v and %v, want %v", text, out, err, in)
	}
	if err := json.Unmarshal([]byte(`{"Term":"7"}`), &out); err == nil {
		t.Errorf("Unmarshal of a term of one character gave %s, want an error", out.Term)
	}
}
