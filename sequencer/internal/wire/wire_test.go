package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/conchhq/conch/internal/runtest"
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
