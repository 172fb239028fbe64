package fence_test

import (
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
