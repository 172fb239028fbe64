package disk

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// sampleFile is a store with some of everything.
func sampleFile(f *testing.F) []byte {
	f.Helper()
	path := filepath.Join(f.TempDir(), "log")
	id, err := Create(context.Background(), path)
	if err != nil {
		f.Fatal(err)
	}
	g := storetest.Genesis(id)
	s, err := Begin(context.Background(), path, g)
	if err != nil {
		f.Fatal(err)
	}
	c := storetest.Copy(g)
	for n := range 6 {
		step := store.Step{Values: map[string][]byte{"hard": {byte(n)}}, Slots: []store.Slot{{Index: uint64(2 + n), Body: make([]byte, 900*n)}}}
		if step.Records, err = storetest.Grow(c, 3, 100*n); err == nil {
			step.Heads = []txlog.Head{{Position: c.Position(), Member: "a", Signature: make([]byte, 96)}}
			err = s.Write(step)
		}
		if err != nil {
			f.Fatal(err)
		}
	}
	if err := errors.Join(s.Keep(c.Position(), make([]byte, 70_000), store.Step{}), s.Close()); err != nil {
		f.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	return b
}

// Wherever bytes of a file are other ones, it is damaged, or what is read is what was written: those bytes were in no use.
func FuzzFile(f *testing.F) {
	whole := sampleFile(f)
	want, err := read(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		f.Fatal(err)
	}
	for n := range len(whole) / pageSize {
		f.Add(uint32(n*pageSize), []byte{1})                           // the number of a page
		f.Add(uint32(n*pageSize+10), []byte{0xff, 0xff, 0xff})         // how many elements it has, and where it goes on
		f.Add(uint32(n*pageSize+headerSize+4), []byte{0xf0, 0xff})     // where its first element is
		f.Add(uint32(n*pageSize+pageSize/2), []byte{7, 7, 7, 7, 7, 7}) // what is in it
	}
	f.Fuzz(func(t *testing.T, at uint32, other []byte) {
		b := bytes.Clone(whole)
		copy(b[min(int(at), len(b)):], other)
		nothing := func(uint64, int, []byte, []byte) error { return nil }
		if err := walk(bytes.NewReader(b), int64(len(b)), nothing); err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("its pages: %v", err)
		}
		got, err := read(bytes.NewReader(b), int64(len(b)))
		if err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("it is read as %+v", got)
		}
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			t.Errorf("it cannot be read: %v", err)
		}
	})
}

// Bytes that are a value of a store are the only ones that are this value.
func FuzzValue(f *testing.F) {
	s := state{Format: format, Transaction: 3, ID: 7}
	f.Add(s.encode())
	f.Add(encodeKept(store.Kept{At: txlog.Position{Index: 4}, Size: 9}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, err := decodeState(b); err == nil && !bytes.Equal(s.encode(), b) {
			t.Errorf("%x is the state %+v", b, s)
		}
		if k, err := decodeKept(b); err == nil && !bytes.Equal(encodeKept(k), b) {
			t.Errorf("%x is the snapshot %+v", b, k)
		}
		if body, err := unframe(7, valueBucket, only, b); err == nil && !bytes.Equal(frame(7, valueBucket, only, body), b) {
			t.Errorf("%x is the value %x", b, body)
		}
	})
}
