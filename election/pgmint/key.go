package pgmint

import (
	"crypto/sha256"
	"encoding/binary"
)

// scopeKey returns the advisory lock key of a scope: the first 8 bytes, big-endian, of the SHA-256 of
// "conch:" and the scope (S2). conch.lock_key computes the same in the database.
func scopeKey(scope string) int64 {
	sum := sha256.Sum256([]byte("conch:" + scope))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}
