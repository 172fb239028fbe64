package scale

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
)

// AppendCompact appends a compact number.
func AppendCompact(b []byte, v uint64) []byte {
	switch {
	case v < 1<<6:
		return append(b, byte(v<<2))
	case v < 1<<14:
		return binary.LittleEndian.AppendUint16(b, uint16(v<<2|1))
	case v < 1<<30:
		return binary.LittleEndian.AppendUint32(b, uint32(v<<2|2))
	}
	return appendLong(b, new(big.Int).SetUint64(v))
}

// AppendBigCompact appends a compact number, which is not negative and has at most 536 bits; any other is an error.
func AppendBigCompact(b []byte, v *big.Int) ([]byte, error) {
	switch {
	case v.Sign() < 0 || v.BitLen() > 536:
		return b, fmt.Errorf("%w: a compact number is not negative and has at most 536 bits", ErrMalformed)
	case v.IsUint64():
		return AppendCompact(b, v.Uint64()), nil
	}
	return appendLong(b, v), nil
}

func appendLong(b []byte, v *big.Int) []byte {
	digits := v.Bytes()
	slices.Reverse(digits)
	b = append(b, byte((len(digits)-4)<<2|3))
	return append(b, digits...)
}

// AppendNumber appends a number of n bytes, in two's complement if it is signed; one that has no room there is an error.
func AppendNumber(b []byte, v *big.Int, n int, signed bool) ([]byte, error) {
	bits := v.BitLen()
	switch {
	case signed && v.Sign() < 0:
		bits = new(big.Int).Not(v).BitLen() + 1
	case signed:
		bits++
	}
	if bits > 8*n || v.Sign() < 0 && !signed {
		return b, fmt.Errorf("%w: a number has no room in %d bits", ErrMalformed, 8*n)
	}
	if v.Sign() < 0 {
		v = new(big.Int).Add(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	digits := v.FillBytes(make([]byte, n))
	slices.Reverse(digits)
	return append(b, digits...), nil
}

// AppendBlob appends bytes with their length before them.
func AppendBlob(b, blob []byte) []byte { return append(AppendCompact(b, uint64(len(blob))), blob...) }

// AppendText appends a text.
func AppendText(b []byte, text string) []byte {
	return append(AppendCompact(b, uint64(len(text))), text...)
}

// AppendBool appends a bool, or says whether the value of an option follows.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}
