package keyed

import (
	"encoding/binary"
	"math/bits"
)

// texts are the texts of goals, and those of diffs and snapshots.
type texts interface{ string | []byte }

func appendText[T texts](out []byte, s T) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

// appendEntry writes a key with its value, as snapshots have it and as it is hashed.
func appendEntry[K, V texts](out []byte, key K, value V) []byte {
	return appendText(appendText(out, key), value)
}

// entrySize returns how many bytes appendEntry writes for texts of these lengths.
func entrySize(key, value int) int { return textSize(key) + textSize(value) }

func textSize(n int) int { return max(1, (bits.Len(uint(n))+6)/7) + n }

// cutText cuts off what appendText has written first.
func cutText(s string) (text, rest string) {
	n, size := 0, 0
	for more := true; more; size++ {
		n |= int(s[size]&0x7f) << (7 * size)
		more = s[size] >= 0x80
	}
	return s[size : size+n], s[size+n:]
}

// reader reads what appendText has written.
type reader struct {
	rest []byte
	bad  bool
}

// text returns a part of the bytes.
func (r *reader) text() []byte {
	n, size := uint64(0), 0
	for shift := 0; ; shift += 7 {
		if size == len(r.rest) || shift > 28 { // no text is as long
			return r.fail()
		}
		b := r.rest[size]
		n |= uint64(b&0x7f) << shift
		size++
		if b < 0x80 {
			if b == 0 && size > 1 { // it could be shorter
				return r.fail()
			}
			break
		}
	}
	if n > uint64(len(r.rest)-size) {
		return r.fail()
	}
	text := r.rest[size : size+int(n)]
	r.rest = r.rest[size+int(n):]
	return text
}

func (r *reader) fail() []byte {
	r.bad, r.rest = true, nil
	return nil
}
