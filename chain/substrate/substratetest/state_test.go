package substratetest_test

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// twoxKey is the key of an entry of a pallet that has none of its own.
func twoxKey(pallet, entry string) []byte {
	var b []byte
	for _, text := range []string{pallet, entry} {
		for seed := range uint64(2) {
			d := xxhash.NewWithSeed(seed)
			_, _ = d.WriteString(text)
			b = binary.LittleEndian.AppendUint64(b, d.Sum64())
		}
	}
	return b
}
