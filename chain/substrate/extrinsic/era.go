package extrinsic

import (
	"encoding/binary"
	"math/bits"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// The limits of an era's period, in blocks.
const (
	MinPeriod = 4
	MaxPeriod = 1 << 16
)

// Era says which blocks may include an extrinsic. The zero Era says that any may, for ever.
type Era struct {
	Period uint64 // in blocks, a power of two
	Phase  uint64 // the height at which it is born, modulo Period
}

// BornAt returns the era of at least so many blocks, within the limits, that a block of this height is in, and the height at which
// it is born. That is the height itself, or, if the period is above 4096, one up to 15 below it: phases are written in steps then,
// and the hash that is signed is that of the block of this birth (Z1).
func BornAt(period, height uint64) (e Era, birth uint64) {
	period = min(max(period, MinPeriod), MaxPeriod)
	e.Period = 1 << bits.Len64(period-1)
	e.Phase = height % e.Period / e.step() * e.step()
	return e, e.Birth(height)
}

// step is by how much written phases differ.
func (e Era) step() uint64 { return max(e.Period>>12, 1) }

// Birth returns the height at which the era that a block of this height is in was born.
func (e Era) Birth(height uint64) uint64 {
	if e.Period == 0 {
		return 0
	}
	return (max(height, e.Phase)-e.Phase)/e.Period*e.Period + e.Phase
}

// Until returns the height of the last block that takes an extrinsic of an era that was born at a height; 0: any does.
func (e Era) Until(birth uint64) uint64 {
	if e.Period == 0 {
		return 0
	}
	return birth + e.Period - 1
}

// Append appends the era: one byte, or two.
func (e Era) Append(b []byte) []byte {
	if e.Period == 0 {
		return append(b, 0)
	}
	low := min(max(bits.TrailingZeros64(e.Period)-1, 1), 15)
	return binary.LittleEndian.AppendUint16(b, uint16(uint64(low)|e.Phase/e.step()<<4))
}

func readEra(d *scale.Decoder) Era {
	first := d.Byte()
	if first == 0 {
		return Era{}
	}
	v := uint64(first) | uint64(d.Byte())<<8
	e := Era{Period: 2 << (v % 16)}
	if e.Phase = v >> 4 * e.step(); d.Err() == nil && (e.Period < MinPeriod || e.Phase >= e.Period) {
		d.Fail("an era has the phase %d of %d", e.Phase, e.Period)
		return Era{}
	}
	return e
}
