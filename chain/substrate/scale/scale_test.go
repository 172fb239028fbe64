package scale_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"testing"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// The compact numbers of the specification's table, and those at the edges of its forms.
func TestCompactNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[uint64]string{
		0: "00", 1: "04", 42: "a8", 63: "fc", 64: "0101", 69: "1501", 16383: "fdff", 16384: "02000100", 65535: "feff0300",
		1<<30 - 1: "feffffff", 1 << 30: "0300000040", 100000000000000: "0b00407a10f35a", math.MaxUint64: "13ffffffffffffffff",
	} {
		b := scale.AppendCompact(nil, n)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%d is %s, not %s", n, got, want)
		}
		d := scale.NewDecoder(b)
		if got := d.Compact(); got != n || d.Done() != nil {
			t.Errorf("%s is %d: %v", want, got, d.Err())
		}
	}
	huge := new(big.Int).Lsh(big.NewInt(1), 535)
	b, err := scale.AppendBigCompact(nil, huge)
	d := scale.NewDecoder(b)
	if got := d.BigCompact(); err != nil || got.Cmp(huge) != 0 || d.Done() != nil {
		t.Error(got, err, d.Err())
	}
	for _, n := range []*big.Int{big.NewInt(-1), new(big.Int).Lsh(huge, 1)} {
		if _, err := scale.AppendBigCompact(nil, n); !errors.Is(err, scale.ErrMalformed) {
			t.Error(err)
		}
	}
}

// A node refuses a number that is not in its shortest form: its bytes would have another hash.
func TestOneFormANumber(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "01", "0100", "02000000", "0200", "0300000000", "03ffffff3f", "0700000040", "1300000000000000", "17ffffffffffffffffff"} {
		b, _ := hex.DecodeString(bad)
		d := scale.NewDecoder(b)
		n := d.Compact()
		if !errors.Is(d.Done(), scale.ErrMalformed) {
			t.Errorf("%s is %d", bad, n)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, is := range []struct {
		n      int64
		size   int
		signed bool
		want   string
	}{
		{42, 1, false, "2a"}, {16777215, 4, false, "ffffff00"}, {-1, 1, true, "ff"}, {-128, 1, true, "80"}, {127, 1, true, "7f"},
		{-129, 2, true, "7fff"}, {1, 16, false, "01000000000000000000000000000000"}, {256, 1, false, ""}, {128, 1, true, ""},
		{-129, 1, true, ""}, {-1, 8, false, ""},
	} {
		b, err := scale.AppendNumber(nil, big.NewInt(is.n), is.size, is.signed)
		if got := hex.EncodeToString(b); got != is.want || (err == nil) != (is.want != "") {
			t.Errorf("%d in %d bytes: %q %v, not %q", is.n, is.size, got, err, is.want)
		}
		if err != nil {
			continue
		}
		d := scale.NewDecoder(b)
		read := d.Unsigned
		if is.signed {
			read = d.Signed
		}
		got := read(is.size)
		if got.Int64() != is.n || d.Done() != nil {
			t.Errorf("%s is %v: %v", is.want, got, d.Err())
		}
	}
}

// What promises more than there is, is an error before anything is allocated.
func TestPromisesAreNotBelieved(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*scale.Decoder){
		"a list of more than is left": func(d *scale.Decoder) { d.Length(1) },
		"a list of nothings":          func(d *scale.Decoder) { d.Length(0) },
		"a blob":                      func(d *scale.Decoder) { d.Blob() },
		"a text":                      func(d *scale.Decoder) { d.Text() },
		"a depth": func(d *scale.Decoder) {
			for d.Enter() {
				continue
			}
		},
		"values": func(d *scale.Decoder) {
			for d.Enter() {
				d.Leave()
			}
		},
	} {
		d := scale.NewDecoder(scale.AppendCompact(nil, 1<<40))
		if read(d); !errors.Is(d.Done(), scale.ErrMalformed) {
			t.Errorf("%s: %v", name, d.Err())
		}
		if d.Left() != 0 || d.Byte() != 0 || d.U64() != 0 || d.BigCompact().Sign() != 0 || d.Blob() != nil || d.Length(1) != 0 {
			t.Errorf("%s: it goes on after its error", name)
		}
	}
	for _, bad := range []string{"02", "03"} {
		b, _ := hex.DecodeString(bad)
		for _, read := range []func(*scale.Decoder){func(d *scale.Decoder) { d.Bool() }, func(d *scale.Decoder) { d.Option() }} {
			d := scale.NewDecoder(b)
			if read(d); !errors.Is(d.Err(), scale.ErrMalformed) {
				t.Errorf("%s is a bool", bad)
			}
		}
	}
}

func FuzzCompact(f *testing.F) {
	for _, n := range []uint64{0, 63, 64, 1<<14 - 1, 1 << 14, 1 << 30, math.MaxUint64} {
		f.Add(scale.AppendCompact(nil, n))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := scale.NewDecoder(b)
		n := d.BigCompact()
		if d.Err() != nil {
			return
		}
		again, err := scale.AppendBigCompact(nil, n)
		if err != nil || !bytes.Equal(again, b[:d.Offset()]) {
			t.Fatalf("%x is %v, which is %x: %v", b, n, again, err)
		}
	})
}
