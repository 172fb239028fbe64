package providertest_test

import (
	"bytes"
	"testing"

	"github.com/conchhq/conch/chain/evm/internal/providertest"
)

// What a key has signed is its own, for that hash alone.
func TestSignatures(t *testing.T) {
	t.Parallel()
	key, err := providertest.KeyOf(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	hash := [32]byte{1, 2, 3}
	good, err := key.SignHash(hash)
	if err != nil || !providertest.Verify(key.Account(), hash, good) {
		t.Fatalf("%x, %v: not verified", good, err)
	}
	for name, bad := range map[string]func() bool{
		"another address": func() bool { return providertest.Verify("another", hash, good) },
		"another hash":    func() bool { return providertest.Verify(key.Account(), [32]byte{1}, good) },
		"a cut one":       func() bool { return providertest.Verify(key.Account(), hash, good[:64]) },
		"nothing":         func() bool { return providertest.Verify(key.Account(), hash, nil) },
		"a recovery id of 27": func() bool {
			moved := bytes.Clone(good)
			moved[64] += 27
			return providertest.Verify(key.Account(), hash, moved)
		},
		"a flipped bit": func() bool {
			flipped := bytes.Clone(good)
			flipped[10] ^= 1
			return providertest.Verify(key.Account(), hash, flipped)
		},
	} {
		if bad() {
			t.Errorf("%s: verified", name)
		}
	}
	if _, err := providertest.KeyOf(make([]byte, 32)); err == nil {
		t.Error("zero is a key")
	}
}
