package core

import (
	"reflect"
	"testing"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
	"github.com/conchhq/conch/txlog/internal/limits"
	"github.com/conchhq/conch/txlog/internal/storetest"
	"github.com/conchhq/conch/txlog/store"
)

// What is an offer is read the same when it was stored again, and no bytes panic.
func FuzzOffer(f *testing.F) {
	o := follower.SumPieces(txlog.Head{Position: txlog.Position{Index: 7, Term: 2}, Member: "a"}, make([]byte, follower.PieceSize+1))
	f.Add(encodeOffer(o))
	f.Add([]byte{1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := decodeOffer(b)
		if err != nil {
			return
		}
		if again, err := decodeOffer(encodeOffer(o)); err != nil || !reflect.DeepEqual(again, o) {
			t.Errorf("%+v is read as %+v, %v", o, again, err)
		}
	})
}

// Values that are bridges are read the same when they were stored again, and no values panic.
func FuzzBridges(f *testing.F) {
	g := storetest.Genesis(1)
	records, err := storetest.Grow(storetest.Copy(g), 3, limits.MostValue)
	if err != nil {
		f.Fatal(err)
	}
	values := bridgeValues(&follower.Bridge{Records: records, Head: txlog.Head{Position: records[2].Position(), Member: "a"}})
	whole := store.NewMemory(1, g)
	if err := whole.Write(store.Step{Values: values}); err != nil {
		f.Fatal(err)
	}
	names := whole.Names(bridgeValue)
	for n := range names {
		f.Add(uint8(n), values[names[n]])
		f.Add(uint8(n), []byte{isHead})
		f.Add(uint8(n), []byte{isRecord, 1})
		f.Add(uint8(n), []byte{})
	}
	f.Fuzz(func(t *testing.T, n uint8, value []byte) {
		s := whole.Clone()
		if len(value) > limits.MostValue || s.Write(store.Step{Values: map[string][]byte{names[int(n)%len(names)]: value}}) != nil {
			return
		}
		all, err := loadBridges(s)
		if err != nil {
			return
		}
		again := store.NewMemory(1, g)
		for _, b := range all {
			if err := again.Write(store.Step{Values: bridgeValues(&b)}); err != nil {
				t.Fatal(err)
			}
		}
		if read, err := loadBridges(again); err != nil || !reflect.DeepEqual(read, all) {
			t.Errorf("%+v are read as %+v, %v", all, read, err)
		}
	})
}
