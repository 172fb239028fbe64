package sample

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"math"
)

// A body is a version, whether names are in it, the ID of the set, and then, packed, the names and the values.
const (
	version  = 1
	withNone = 0 // no names
	withAll  = 1 // all names
	headSize = 2 + 8
)

// repeat is after how many bodies the names are told again: ten minutes at 15 seconds.
const repeat = 40

// NewSet makes a set of series that each have another name or label.
func NewSet(all []Series) *Set {
	var names []byte
	names = binary.AppendUvarint(names, uint64(len(all)))
	for _, s := range all {
		names = appendText(names, s.Name)
		names = binary.AppendUvarint(names, uint64(len(s.Labels)))
		for _, l := range s.Labels {
			names = appendText(appendText(names, l.Name), l.Value)
		}
	}
	sum := sha256.Sum256(names)
	return &Set{Series: all, id: binary.BigEndian.Uint64(sum[:]), names: names}
}

func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// Writer makes the bodies of one node. It is not for concurrent use.
type Writer struct {
	last  *Set
	since int // how many bodies ago the names were told
	pack  *flate.Writer
}

// WriteBody returns the body with these values of a set, one for each series.
func (w *Writer) WriteBody(set *Set, values []float64) []byte {
	out := bytes.NewBuffer([]byte{version, withNone})
	_ = binary.Write(out, binary.BigEndian, set.id) // a buffer takes everything
	var inside []byte
	if w.since++; w.last == nil || w.last.id != set.id || w.since >= repeat {
		out.Bytes()[1] = withAll
		inside = append(inside, set.names...)
		w.last, w.since = set, 0
	}
	if w.pack == nil {
		w.pack, _ = flate.NewWriter(nil, flate.DefaultCompression) // the level is one that there is
	}
	w.pack.Reset(out)
	_, _ = w.pack.Write(appendValues(inside, values))
	_ = w.pack.Close()
	return out.Bytes()
}

// appendValues writes whole numbers short, and after them the bytes of all others: most values are 0, 1 or a count.
func appendValues(to []byte, values []float64) []byte {
	var rest []byte
	for _, v := range values {
		if whole := int64(v); float64(whole) == v && whole > -1<<53 && whole < 1<<53 && (whole != 0 || !math.Signbit(v)) {
			to = binary.AppendUvarint(to, (uint64(whole<<1)^uint64(whole>>63))<<1) // zigzag, and even
			continue
		}
		to = append(to, 1)
		rest = binary.BigEndian.AppendUint64(rest, math.Float64bits(v))
	}
	return append(to, rest...)
}

// Reader reads the bodies of one node. It is not for concurrent use.
type Reader struct{ known []*Set }

// mostKnown is how many sets a reader remembers: a node's set changes at a reload, and while scopes come.
const mostKnown = 4

// ReadBody reads a body. Its error is [ErrForeign] or [ErrNameless].
func (r *Reader) ReadBody(body []byte) (Row, error) {
	if len(body) < headSize || len(body) > MostBytes || body[0] != version || body[1] > withAll {
		return Row{}, ErrForeign
	}
	id := binary.BigEndian.Uint64(body[2:headSize])
	inside, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body[headSize:])), mostInside+1))
	if err != nil || len(inside) > mostInside {
		return Row{}, ErrForeign
	}
	if body[1] == withAll {
		set, rest, err := readNames(inside)
		if err != nil || set.id != id {
			return Row{}, ErrForeign
		}
		inside = rest
		r.learn(set)
	}
	for _, set := range r.known {
		if set.id == id {
			values, err := readValues(inside, len(set.Series))
			return Row{set, values}, err
		}
	}
	return Row{}, ErrNameless
}

// learn remembers a set; the one of two that are equal that was there before stays, so that it can be compared by its address.
func (r *Reader) learn(set *Set) {
	for _, one := range r.known {
		if one.id == set.id {
			return
		}
	}
	if len(r.known) == mostKnown {
		r.known = append(r.known[:0], r.known[1:]...)
	}
	r.known = append(r.known, set)
}

func readValues(inside []byte, count int) ([]float64, error) {
	values := make([]float64, count)
	var long []int
	for i := range values {
		n, size := binary.Uvarint(inside)
		switch {
		case size <= 0 || n&1 == 1 && n != 1:
			return nil, ErrForeign
		case n == 1:
			long = append(long, i)
		default:
			n >>= 1
			values[i] = float64(int64(n>>1) ^ -int64(n&1))
		}
		inside = inside[size:]
	}
	if len(inside) != 8*len(long) {
		return nil, ErrForeign
	}
	for k, i := range long {
		values[i] = math.Float64frombits(binary.BigEndian.Uint64(inside[8*k:]))
	}
	return values, nil
}
