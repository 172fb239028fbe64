package extrinsic

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/metadata"
)

// StorageKey returns the key of an entry of storage, for a map with the SCALE bytes of its keys. Fewer keys than a map has make the
// prefix of all that begin with them.
func StorageKey(s metadata.Storage, keys ...[]byte) ([]byte, error) {
	if len(keys) > len(s.Hashers) {
		return nil, fmt.Errorf("%s.%s has %d keys, and not %d", s.Pallet, s.Name, len(s.Hashers), len(keys))
	}
	b := twox(twox(nil, []byte(s.Pallet), 2), []byte(s.Name), 2)
	for i, k := range keys {
		switch s.Hashers[i] {
		case metadata.Blake2128:
			b = blake128(b, k)
		case metadata.Blake2256:
			sum := blake2b.Sum256(k)
			b = append(b, sum[:]...)
		case metadata.Blake2128Concat:
			b = append(blake128(b, k), k...)
		case metadata.Twox128:
			b = twox(b, k, 2)
		case metadata.Twox256:
			b = twox(b, k, 4)
		case metadata.Twox64Concat:
			b = append(twox(b, k, 1), k...)
		case metadata.Identity:
			b = append(b, k...)
		default:
			return nil, fmt.Errorf("%s.%s has the hasher %d, which conch does not know", s.Pallet, s.Name, s.Hashers[i])
		}
	}
	return b, nil
}

// twox appends so many xxHashes of 64 bits, with the seeds 0, 1, …
func twox(b, data []byte, count uint64) []byte {
	for seed := range count {
		h := xxhash.NewWithSeed(seed)
		_, _ = h.Write(data)
		b = binary.LittleEndian.AppendUint64(b, h.Sum64())
	}
	return b
}

func blake128(b, data []byte) []byte {
	h, err := blake2b.New(16, nil)
	if err != nil {
		return b // 16 is a size that it has
	}
	_, _ = h.Write(data)
	return h.Sum(b)
}
