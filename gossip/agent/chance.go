package agent

import (
	"crypto/rand"
	"encoding/binary"
	"time"
)

// draw returns 64 random bits.
func draw() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// jittered returns a time that differs by a fifth at most, so that nodes do not fall into step.
func jittered(d time.Duration) time.Duration {
	fifth := d / 5
	if fifth <= 0 {
		return d
	}
	return d - fifth + time.Duration(draw()%uint64(2*fifth+1))
}
