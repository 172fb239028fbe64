package secp_test

import (
	"bytes"
	"testing"

	"github.com/conchhq/conch/chain/evm/secp"
)

// What a key has signed is its own, for that hash alone.
func TestSignatures(t *testing.T) {
	t.Parallel()
	key, err := secp.NewKey(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	hash := [32]byte{1, 2, 3}
	good, err := key.Sign(hash)
	if err != nil || !secp.Verify(key.Address(), hash, good) {
		t.Fatalf("%x, %v: not verified", good, err)
	}
	for name, bad := range map[string]func() bool{
		"another address": func() bool { return secp.Verify([20]byte{1}, hash, good) },
		"another hash":    func() bool { return secp.Verify(key.Address(), [32]byte{1}, good) },
		"a cut one":       func() bool { return secp.Verify(key.Address(), hash, good[:64]) },
		"nothing":         func() bool { return secp.Verify(key.Address(), hash, nil) },
		"a recovery id of 27": func() bool {
			moved := bytes.Clone(good)
			moved[64] += 27
			return secp.Verify(key.Address(), hash, moved)
		},
		"a flipped bit": func() bool {
			flipped := bytes.Clone(good)
			flipped[10] ^= 1
			return secp.Verify(key.Address(), hash, flipped)
		},
	} {
		if bad() {
			t.Errorf("%s: verified", name)
		}
	}
	if _, err := secp.NewKey(make([]byte, 32)); err == nil {
		t.Error("zero is a key")
	}
}
