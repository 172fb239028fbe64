package ontology

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/conchhq/conch/txlog/prolog/internal/term"
)

// What is taken for the bytes of a clause can be read, and nothing else can (V7). Seen red: without a look at what a compound ends in, f(true) was taken for a
// body that has another form.
func TestAValueIsWhatCanBeRead(t *testing.T) {
	t.Parallel()
	v := &term.Var{ID: 1}
	bodies := []term.Term{
		nil, term.True, term.Fail, v, term.New("f", term.True), term.New("f", term.Int(300), v, term.Float(1.5)),
		term.Pair(term.Comma, term.New("q", v, term.List(term.Int(-1), term.NewAtom("true"), v)), term.Cut),
	}
	dice := rand.New(rand.NewPCG(52, 0))
	valid := 0
	for _, body := range bodies {
		for _, first := range firstArguments() {
			raw, err := term.Encode(nil, []term.Term{first, term.New("g", v, first), term.True}, body)
			if err != nil {
				t.Fatal(err)
			}
			for range 200 {
				some := slices.Clone(raw)
				for range dice.IntN(4) {
					if at := dice.IntN(len(some)); len(some) > 2 && dice.IntN(4) == 0 {
						some = slices.Delete(some, at, at+1)
					} else {
						some[at] = "vaitFR\x00\x01\x02\x03\x04\x80\xfft"[dice.IntN(14)]
					}
				}
				_, is := term.Decode(string(some))
				if IsValue(some) != is {
					t.Fatalf("%q: taken for a clause: %v, and it can be read: %v", some, !is, is)
				}
				if is {
					valid++
				}
			}
		}
	}
	if valid < 1000 {
		t.Errorf("%d of all are clauses: the others show little", valid)
	}
}

// A name may have any length up to MostName, and bytes that say so are no more than what is there. Seen red: those of 254 and 255 bytes were
// cut with arithmetic of a byte, and killed the process.
func TestNamesOfEveryLength(t *testing.T) {
	t.Parallel()
	for n := range MostName + 1 {
		name := Name{term.NewAtom(strings.Repeat("n", n)), 3}
		for _, key := range []string{nameKey(predKey, name), rankKey(name, -1)} {
			if got, _ := cutName([]byte(key)); !IsKey([]byte(key)) || got != name {
				t.Errorf("a name of %d bytes: %v is cut off, and it is a key: %t", n, got, IsKey([]byte(key)))
			}
			for end := range len(key) {
				if IsKey([]byte(key[:end])) {
					t.Errorf("%d bytes of the key of a name of %d are a key", end, n)
				}
			}
		}
	}
}
