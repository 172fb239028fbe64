package fence_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/conchhq/conch/fence"
)

// A term comes back from its text, in either case of letters.
func FuzzTerm(f *testing.F) {
	f.Add(make([]byte, 16))
	f.Add([]byte("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var term fence.Term
		copy(term[:], b)
		text := term.String()
		if len(text) != 36 || text != strings.ToLower(text) || strings.Count(text, "-") != 4 {
			t.Errorf("%q", text)
		}
		value, err := term.Value()
		if err != nil || value != text {
			t.Errorf("as an argument %q is %v, %v", text, value, err)
		}
		for _, from := range []any{text, []byte(text), strings.ToUpper(text), term[:]} {
			var back fence.Term
			if err := back.Scan(from); err != nil || back != term {
				t.Errorf("%q was scanned as %q, %v", from, back, err)
			}
		}
		for _, s := range []string{text, strings.ToUpper(text)} {
			if back, err := fence.ParseTerm(s); err != nil || back != term {
				t.Errorf("%q came back as %q, %v", s, back, err)
			}
		}
	})
}

// Whatever is given, it is a term that writes itself the same, or an error.
func FuzzParseTerm(f *testing.F) {
	f.Add("00112233-4455-6677-8899-aabbccddeeff")
	f.Add("")
	f.Add("00112233-4455-6677-8899-aabbccddeefg")
	f.Add("001122334455-6677-8899-aabbccddeeff--")
	f.Fuzz(func(t *testing.T, s string) {
		term, err := fence.ParseTerm(s)
		switch {
		case err != nil && term != (fence.Term{}):
			t.Errorf("%q: an error and %s", s, term)
		case err == nil && term.String() != strings.ToLower(s):
			t.Errorf("%q is taken for %s", s, term)
		}
	})
}

func TestTermsThatAreNone(t *testing.T) {
	for _, s := range []string{
		"", "7", "00112233445566778899aabbccddeeff", "{0011223-4455-6677-8899-aabbccddeeff}", "00112233-4455-6677-8899-aabbccddeefg",
		"00112233+4455-6677-8899-aabbccddeeff", "00112233-4455+6677-8899-aabbccddeeff", "00112233-4455-6677+8899-aabbccddeeff", "00112233-4455-6677-8899+aabbccddeeff",
	} {
		if term, err := fence.ParseTerm(s); err == nil {
			t.Errorf("%q is taken for %s", s, term)
		}
	}
}

func TestSame(t *testing.T) {
	other := token
	other.Holder, other.System, other.Timeline = "b", 0, 0
	if !token.Same(token) || !token.Same(other) {
		t.Error("one tenure is not itself")
	}
	for _, change := range []func(*fence.Token){
		func(t *fence.Token) { t.Scope = "other" }, func(t *fence.Token) { t.Epoch++ }, func(t *fence.Token) { t.Term[15]++ },
	} {
		other := token
		change(&other)
		if token.Same(other) {
			t.Errorf("%s is taken for %s", other, token)
		}
	}
	for _, word := range []string{"s ", "epoch 7", "01000000-0000-0000-0000-000000000000", "holder a"} {
		if !strings.Contains(token.String(), word) {
			t.Errorf("%q does not say %q", token, word)
		}
	}
}

// What is no term is refused by every way in, and a NULL too: no token is without one.
func TestColumnsThatAreNoTerm(t *testing.T) {
	for _, from := range []any{nil, 7, "7", "", []byte{}, []byte("0123456789abcde"), []byte("0123456789abcdefg"), [16]byte{1}} {
		term := fence.Term{1}
		if err := term.Scan(from); err == nil || !strings.HasPrefix(err.Error(), "fence: ") {
			t.Errorf("%v was scanned as %s, %v", from, term, err)
		}
	}
}

// In JSON a term is a UUID, as everywhere else, and comes back.
func TestATermInJSON(t *testing.T) {
	type proof struct{ Term fence.Term }
	in := proof{token.Term}
	text, err := json.Marshal(in)
	if want := `{"Term":"` + token.Term.String() + `"}`; err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	var out proof
	if err := json.Unmarshal(text, &out); err != nil || out != in {
		t.Errorf("%s came back as %v, %v", text, out, err)
	}
	if err := json.Unmarshal([]byte(`{"Term":"7"}`), &out); err == nil {
		t.Errorf("a text that is no term is taken for %s", out.Term)
	}
}
