package scale

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"unicode/utf8"
)

// ErrMalformed is in every error of a Decoder: the bytes are not what their type says, or more than the limits allow.
var ErrMalformed = errors.New("not SCALE of this type")

// The limits of a Decoder. The metadata of the largest runtimes has some 300,000 values and nests 12 deep.
const (
	MaxDepth  = 128
	MaxValues = 1 << 20
)

// Decoder reads values from bytes, in their order. After its first error it returns zero values. It keeps no copy: what Bytes
// returns is a part of what it was made from. The methods
// that are named after a type of numbers return one. It is not safe for concurrent use.
type Decoder struct {
	rest   []byte
	length int
	depth  int
	values int
	err    error
}

// NewDecoder reads b, which must not change while what was decoded is in use.
func NewDecoder(b []byte) *Decoder { return &Decoder{rest: b, length: len(b)} }

// Err returns the first error, which wraps ErrMalformed and says at which byte it is; nil if there was none.
func (d *Decoder) Err() error { return d.err }

// Left returns how many bytes have not been read.
func (d *Decoder) Left() int { return len(d.rest) }

// Offset returns how many bytes have been read.
func (d *Decoder) Offset() int { return d.length - len(d.rest) }

// Done returns Err, or an error if there are bytes left.
func (d *Decoder) Done() error {
	if d.err == nil && len(d.rest) > 0 {
		d.Fail("%d bytes are left over", len(d.rest))
	}
	return d.err
}

// Fail sets the error, unless there is one already.
func (d *Decoder) Fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: at byte %d: %s", ErrMalformed, d.Offset(), fmt.Sprintf(format, args...))
		d.length, d.rest = d.Offset(), nil
	}
}

// Bytes returns the next n bytes, or nil if there are fewer. They are not copied, and their capacity ends with them.
func (d *Decoder) Bytes(n int) []byte {
	if n < 0 || n > len(d.rest) {
		d.Fail("%d bytes are left where %d are needed", len(d.rest), n)
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

// Byte returns the next byte.
func (d *Decoder) Byte() byte {
	if len(d.rest) == 0 {
		d.Fail("the bytes end where a value begins")
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

// Bool returns a bool: one byte, 0 or 1.
func (d *Decoder) Bool() bool {
	b := d.Byte()
	if b > 1 {
		d.Fail("a bool is %d", b)
	}
	return b == 1
}

// Option reports whether a value follows.
func (d *Decoder) Option() bool {
	b := d.Byte()
	if b > 1 {
		d.Fail("an option begins with %d", b)
	}
	return b == 1
}

func (d *Decoder) U16() uint16 { //nolint:revive // see Decoder: its name in a comment is taken for the number of a requirement
	if b := d.Bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (d *Decoder) U32() uint32 { //nolint:revive // see Decoder: its name in a comment is taken for the number of a requirement
	if b := d.Bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *Decoder) U64() uint64 { //nolint:revive // see Decoder: its name in a comment is taken for the number of a requirement
	if b := d.Bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *Decoder) U128() *big.Int { return d.Unsigned(16) } //nolint:revive // as above

// Unsigned returns a number of n bytes.
func (d *Decoder) Unsigned(n int) *big.Int {
	b := slices.Clone(d.Bytes(n))
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

// Signed returns a number of n bytes in two's complement.
func (d *Decoder) Signed(n int) *big.Int {
	v := d.Unsigned(n)
	if n > 0 && v.Bit(8*n-1) == 1 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
	}
	return v
}

// Compact returns a compact number of up to 64 bits. One that is not in its shortest form is an error, as it is to a node.
func (d *Decoder) Compact() uint64 {
	if len(d.rest) > 0 && d.rest[0]&3 != 3 {
		return d.shortCompact()
	}
	v := d.BigCompact()
	if !v.IsUint64() {
		d.Fail("a compact number has more than 64 bits")
		return 0
	}
	return v.Uint64()
}

// BigCompact returns a compact number of up to 536 bits.
func (d *Decoder) BigCompact() *big.Int {
	if len(d.rest) > 0 && d.rest[0]&3 != 3 {
		return new(big.Int).SetUint64(d.shortCompact())
	}
	return d.longCompact()
}

// shortCompact reads a compact number of one, two or four bytes.
func (d *Decoder) shortCompact() (v uint64) {
	size := 1 << (d.rest[0] & 3)
	for i, c := range d.Bytes(size) {
		v |= uint64(c) << (8 * i)
	}
	v >>= 2
	if size > 1 && v < 1<<(4*size-2) && d.err == nil {
		d.Fail("a compact number of %d bytes is not in its shortest form", size)
	}
	return v
}

// longCompact reads a compact number whose first byte has the number of those that follow.
func (d *Decoder) longCompact() *big.Int {
	n := int(d.Byte()>>2) + 4
	if d.err != nil {
		return new(big.Int)
	}
	v := d.Unsigned(n)
	if least := max(30, 8*(n-1)); d.err == nil && v.BitLen() <= least {
		d.Fail("a compact number of %d bytes is not in its shortest form", n+1)
	}
	return v
}

// Length returns the length of a list whose elements have at least so many bytes each. One that promises more than is left is an
// error; elements of no bytes count against MaxValues.
func (d *Decoder) Length(least int) int {
	n := d.Compact()
	most := uint64(MaxValues - d.values)
	if least > 0 {
		most = min(most, uint64(len(d.rest)/least))
	}
	if d.err == nil && n > most {
		d.Fail("a list of %d values is longer than the %d bytes that are left, or than all lists may be", n, len(d.rest))
	}
	if d.err != nil {
		return 0
	}
	d.values += int(n)
	return int(n)
}

// Blob returns bytes that have their length before them. They are not copied.
func (d *Decoder) Blob() []byte {
	n := d.Compact()
	if d.err == nil && n > uint64(len(d.rest)) {
		d.Fail("%d bytes are left where %d are needed", len(d.rest), n)
	}
	if d.err != nil {
		return nil
	}
	return d.Bytes(int(n))
}

// Text returns a text, which is UTF-8.
func (d *Decoder) Text() string {
	b := d.Blob()
	if !utf8.Valid(b) {
		d.Fail("a text is not UTF-8")
		return ""
	}
	return string(b)
}

// Enter is called before the parts of a value that holds others, and Leave after them. It reports whether they may be read: not
// below MaxDepth, and not after MaxValues.
func (d *Decoder) Enter() bool {
	d.depth++
	d.values++
	switch {
	case d.depth > MaxDepth:
		d.Fail("values are nested more than %d deep", MaxDepth)
	case d.values > MaxValues:
		d.Fail("there are more than %d values", MaxValues)
	}
	return d.err == nil
}

// Leave ends what Enter began.
func (d *Decoder) Leave() { d.depth-- }
