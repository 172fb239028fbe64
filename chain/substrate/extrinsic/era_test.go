package extrinsic_test

import (
	"encoding/hex"
	"testing"

	"github.com/conchhq/conch/chain/substrate/extrinsic"
	"github.com/conchhq/conch/chain/substrate/metadata"
)

// Z1: the two bytes are those that sp-runtime and polkadot-js write, and the birth is the one that their phase stands for.
func TestEras(t *testing.T) {
	t.Parallel()
	for _, is := range []struct {
		period, height, birth, until uint64
		want                         string
	}{
		{64, 1000, 1000, 1063, "8502"},
		{64, 42, 42, 105, "a502"},            // sp-runtime: mortal(64, 42) is 5 + 42/1*16
		{32768, 20000, 20000, 52767, "4e9c"}, // sp-runtime: mortal(32768, 20000) is 14 + 2500*16
		{32768, 20007, 20000, 52767, "4e9c"}, // quantised: one block in eight can be said
		{65536, 65551, 65536, 131071, "0f00"},
		{4096, 4097, 4097, 8192, "1b00"},
		{50, 7, 7, 70, "7500"},
		{0, 7, 7, 10, "3100"},
		{1 << 40, 15, 0, 65535, "0f00"},
	} {
		e, birth := extrinsic.BornAt(is.period, is.height)
		got := hex.EncodeToString(e.Append(nil))
		if got != is.want || birth != is.birth || e.Until(birth) != is.until {
			t.Errorf("%d at %d: %s, born at %d, until %d, and not %+v", is.period, is.height, got, birth, e.Until(birth), is)
		}
	}
}

// Z1: until its last block each height leads back to the birth, and the next one does not.
func TestEachHeightOfAnEraHasItsBirth(t *testing.T) {
	t.Parallel()
	for _, period := range []uint64{4, 64, 256, 8192} {
		for height := uint64(0); height < 3*period; height += max(1, period/50) {
			e, birth := extrinsic.BornAt(period, height)
			if birth > height || height-birth > 15 {
				t.Fatalf("%d at %d is born at %d", period, height, birth)
			}
			for at := birth; at <= e.Until(birth); at++ {
				if e.Birth(at) != birth {
					t.Fatalf("%d at %d: %d leads to %d", period, height, at, e.Birth(at))
				}
			}
			if e.Birth(e.Until(birth)+1) == birth {
				t.Fatalf("%d at %d lives too long", period, height)
			}
		}
	}
	if e := (extrinsic.Era{}); e.Until(7) != 0 || hex.EncodeToString(e.Append(nil)) != "00" {
		t.Error("the zero era ends")
	}
}

// Keys that nodes of all chains answer to.
func TestKnownStorageKeys(t *testing.T) {
	t.Parallel()
	alice, _ := hex.DecodeString("d43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d")
	for want, is := range map[string]struct {
		s    metadata.Storage
		keys [][]byte
	}{
		"26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9de1e86a9a8c739864cf3cc5ec2bea59fd43593c715fdd31c61141abd04a99fd6822c8558854ccde39a5684e7a56da27d": {
			metadata.Storage{Pallet: "System", Name: "Account", Hashers: []metadata.Hasher{metadata.Blake2128Concat}}, [][]byte{alice},
		},
		"26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7": {metadata.Storage{Pallet: "System", Name: "Events"}, nil},
		"26aa394eea5630e07c48ae0c9558cef702a5c1b19ab7a04f536c519aca4983ac": {metadata.Storage{Pallet: "System", Name: "Number"}, nil},
		"f0c365c3cf59d671eb72da0e7a4113c49f1f0515f462cdcf84e0f1d6045dfcbb": {metadata.Storage{Pallet: "Timestamp", Name: "Now"}, nil},
	} {
		b, err := extrinsic.StorageKey(is.s, is.keys...)
		if got := hex.EncodeToString(b); err != nil || got != want {
			t.Errorf("%s.%s: %s %v", is.s.Pallet, is.s.Name, got, err)
		}
	}
	if _, err := extrinsic.StorageKey(metadata.Storage{Pallet: "System", Name: "Number"}, alice); err == nil {
		t.Error("a value has no keys")
	}
	if _, err := extrinsic.StorageKey(metadata.Storage{Hashers: []metadata.Hasher{99}}, alice); err == nil {
		t.Error("an unknown hasher is taken")
	}
}
