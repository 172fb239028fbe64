package agent

import (
	"crypto/rand"
	"encoding/binary"
)

// draw returns 64 random bits.
func draw() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}
