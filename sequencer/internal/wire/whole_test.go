package wire

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

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
