package txlog

import (
	"encoding/binary"
	"unicode/utf8"
)

// encoder appends fields to bytes. The encoding of each thing is canonical: there is one way to write it, so that its hash
// names it.
type encoder struct{ b []byte }

func (e *encoder) number(n uint64) { e.b = binary.AppendUvarint(e.b, n) }
func (e *encoder) hash(h Hash)     { e.b = append(e.b, h[:]...) }

func (e *encoder) bytes(b []byte) {
	e.number(uint64(len(b)))
	e.b = append(e.b, b...)
}

func (e *encoder) text(s string) {
	e.number(uint64(len(s)))
	e.b = append(e.b, s...)
}

// decoder reads what an encoder has written. After an error everything that it returns is zero.
type decoder struct {
	b      []byte
	shares bool // what it returns are parts of the bytes, not copies
	err    error
}

func (d *decoder) fail(why error, format string, args ...any) {
	if d.err == nil {
		d.err, d.b = fault(why, format, args...), nil
	}
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.b)
	if size <= 0 || size > 1 && d.b[size-1] == 0 { // a last byte of zero could be left out
		d.fail(ErrMalformed, "a number is cut off or not in its shortest form")
		return 0
	}
	d.b = d.b[size:]
	return n
}

// count reads a number that may not be above most.
func (d *decoder) count(most int, what string) int {
	n := d.number()
	if n > uint64(most) {
		d.fail(ErrSize, "%d %s, of %d at most", n, what, most)
		return 0
	}
	return int(n)
}

// take returns n bytes, copied unless the decoder shares them.
func (d *decoder) take(n int) []byte {
	if n > len(d.b) {
		d.fail(ErrMalformed, "it is cut off")
		return nil
	}
	if n == 0 {
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	if d.shares {
		return out
	}
	return append([]byte(nil), out...)
}

func (d *decoder) bytes(most int, what string) []byte {
	n := d.number()
	if n > uint64(most) {
		d.fail(ErrSize, "%d bytes of %s, of %d at most", n, what, most)
		return nil
	}
	return d.take(int(n))
}

func (d *decoder) text(most int, what string) string {
	s := string(d.bytes(most, what))
	if !utf8.ValidString(s) {
		d.fail(ErrMalformed, "%s is no text", what)
		return ""
	}
	return s
}

func (d *decoder) hash() (h Hash) {
	copy(h[:], d.take(len(h)))
	return h
}

// end returns the error, or one if bytes are left.
func (d *decoder) end() error {
	if len(d.b) > 0 {
		d.fail(ErrMalformed, "%d bytes are left at its end", len(d.b))
	}
	return d.err
}
