package metadata

import (
	"encoding/binary"
	"hash"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// Shape is a hash of how bytes are read: the names and the types of all values in them. It has no numbers of types or pallets, so
// that it is the same in each runtime that reads these bytes alike.
type Shape [32]byte

// Shape returns the shape of a call's arguments as these bytes have it. What the bytes do not use does not count: a new pallet
// changes the type of all calls, and not the batch that has none of its. If another runtime has the same shape for the same bytes,
// they mean the same there; if it has another one, or none, they must not be sent (Z14). Pallet and call are not part of it, but
// those of calls within the arguments are. The error wraps scale.ErrMalformed if the bytes are not the arguments of this call.
func (rt *Runtime) Shape(c Call, arguments []byte) (Shape, error) {
	h, err := blake2b.New256(nil)
	if err != nil {
		return Shape{}, err
	}
	w := shaper{rt, h, scale.NewDecoder(arguments)}
	for _, a := range c.Arguments {
		w.word(a.Name)
		w.walk(a.Type)
	}
	if err := w.d.Done(); err != nil {
		return Shape{}, err
	}
	return Shape(h.Sum(nil)), nil
}

type shaper struct {
	rt *Runtime
	h  hash.Hash
	d  *scale.Decoder
}

// word adds a word, with its length, so that two words are never another two.
func (w shaper) word(s string) {
	_, _ = w.h.Write(scale.AppendText(nil, s))
}

func (w shaper) number(n int) {
	_, _ = w.h.Write(binary.LittleEndian.AppendUint64(nil, uint64(n)))
}

func (w shaper) walk(id TypeID) {
	if !w.d.Enter() {
		return
	}
	defer w.d.Leave()
	t := &w.rt.types[id]
	_, _ = w.h.Write([]byte{byte(t.form), t.primitive})
	w.word(t.name())
	switch t.form {
	case composite, tuple:
		w.fields(t.fields)
	case enum:
		index := w.d.Byte()
		v := t.variant(index)
		if v == nil {
			w.d.Fail("%s has no variant %d", t.path, index)
			return
		}
		w.word(v.name)
		w.fields(v.fields)
	case sequence:
		w.list(t.of, w.d.Length(max(w.rt.types[t.of].size, 0)))
	case array:
		w.list(t.of, t.count)
	case compact:
		w.inner(t.of)
		w.rt.Skip(id, w.d)
	case bits:
		w.inner(t.of)
		w.word(w.rt.types[t.order].name())
		w.rt.Skip(id, w.d)
	case primitive:
		w.rt.Skip(id, w.d)
	}
}

func (w shaper) fields(fields []field) {
	w.number(len(fields))
	for _, f := range fields {
		w.word(f.name)
		w.walk(f.of)
	}
}

func (w shaper) list(of TypeID, n int) {
	w.number(n)
	if t := &w.rt.types[of]; t.form == primitive && t.size > 0 {
		w.inner(of)
		if n > w.d.Left()/t.size {
			w.d.Fail("a list of %d values is longer than the %d bytes that are left", n, w.d.Left())
			return
		}
		w.d.Bytes(n * t.size)
		return
	}
	for ; n > 0 && w.d.Err() == nil; n-- {
		w.walk(of)
	}
}

// inner adds what a compact number, or words of bits, are made of: a primitive, at the end of some structures.
func (w shaper) inner(id TypeID) {
	for range 8 {
		t := &w.rt.types[id]
		_, _ = w.h.Write([]byte{byte(t.form), t.primitive})
		w.word(t.name())
		if t.form != composite || len(t.fields) != 1 {
			return
		}
		id = t.fields[0].of
	}
}
