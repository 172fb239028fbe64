package metadata

import (
	"strings"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// TypeID names a type of one Runtime; in another one the same number is another type.
type TypeID uint32

// maxTypes is how many types a runtime may have; the largest have some 1,500.
const maxTypes = 1 << 16

// form is what a type is made of, in the order of its first byte.
type form byte

const (
	composite form = iota
	enum
	sequence
	array
	tuple
	primitive
	compact
	bits
)

// The primitive types, in the order of their byte.
const (
	primBool byte = iota
	primChar
	primText
	primU8
	primU16
	primU32
	primU64
	primU128
	primU256
	primI8
	primI16
	primI32
	primI64
	primI128
	primI256
)

// variable is the size of a type whose values differ in it, or whose size is not worth to know.
const variable = -1

type typ struct {
	path      string // "sp_runtime::multiaddress::MultiAddress"; empty for tuples and their like
	params    []field
	form      form
	primitive byte
	count     int       // elements of an array
	of        TypeID    // of the elements, or what is compact, or the words of bits
	order     TypeID    // of bits
	fields    []field   // of a composite or a tuple
	variants  []variant // of an enum
	size      int       // in bytes, or variable
}

type field struct {
	name string // empty if it has none
	of   TypeID
}

type variant struct {
	name   string
	index  byte
	fields []field
}

// name returns the last word of the path.
func (t *typ) name() string {
	if at := strings.LastIndex(t.path, "::"); at >= 0 {
		return t.path[at+2:]
	}
	return t.path
}

// variant returns the variant of an index, nil if there is none.
func (t *typ) variant(index byte) *variant {
	if int(index) < len(t.variants) && t.variants[index].index == index {
		return &t.variants[index]
	}
	for i := range t.variants {
		if t.variants[i].index == index {
			return &t.variants[i]
		}
	}
	return nil
}

// named returns the variant of a name, nil if there is none.
func (t *typ) named(name string) *variant {
	for i := range t.variants {
		if t.variants[i].name == name {
			return &t.variants[i]
		}
	}
	return nil
}

// reader reads metadata.
type reader struct {
	*scale.Decoder
	references []TypeID // of types that may come later
}

// list calls read for each element of a list, whose elements have at least so many bytes.
func (r *reader) list(least int, read func()) {
	for n := r.Length(least); n > 0 && r.Err() == nil; n-- {
		read()
	}
}

// docs skips documentation.
func (r *reader) docs() { r.list(1, func() { r.Blob() }) }

func (r *reader) typeID() TypeID {
	id := r.Compact()
	if id >= maxTypes {
		r.Fail("a type has the number %d", id)
		return 0
	}
	r.references = append(r.references, TypeID(id))
	return TypeID(id)
}

func (r *reader) optionalText() string {
	if r.Option() {
		return r.Text()
	}
	return ""
}

// types reads the registry. The numbers of types are their places in it.
func (r *reader) types() []typ {
	var types []typ
	r.list(7, func() {
		if id := r.Compact(); id != uint64(len(types)) || id >= maxTypes {
			r.Fail("a type has the number %d at the place %d", id, len(types))
			return
		}
		types = append(types, r.typ())
	})
	return types
}

func (r *reader) typ() typ {
	var t typ
	var path []string
	r.list(1, func() { path = append(path, r.Text()) })
	t.path = strings.Join(path, "::")
	r.list(2, func() {
		name := r.Text()
		if r.Option() {
			t.params = append(t.params, field{name, r.typeID()})
		}
	})
	t.form = form(r.Byte())
	switch t.form {
	case composite:
		t.fields = r.fields()
	case enum:
		r.list(4, func() {
			v := variant{name: r.Text(), fields: r.fields(), index: r.Byte()}
			r.docs()
			t.variants = append(t.variants, v)
		})
	case sequence, compact:
		t.of = r.typeID()
	case array:
		t.count = int(r.U32())
		t.of = r.typeID()
	case tuple:
		r.list(1, func() { t.fields = append(t.fields, field{of: r.typeID()}) })
	case primitive:
		if t.primitive = r.Byte(); t.primitive > primI256 {
			r.Fail("a primitive type has the number %d", t.primitive)
		}
	case bits:
		t.of, t.order = r.typeID(), r.typeID()
	default:
		r.Fail("a type has the form %d", t.form)
	}
	r.docs()
	return t
}

func (r *reader) fields() []field {
	var fields []field
	r.list(4, func() {
		f := field{r.optionalText(), r.typeID()}
		if r.Option() {
			r.Blob() // the name of its type, as somebody wrote it
		}
		r.docs()
		fields = append(fields, f)
	})
	return fields
}

// known fails if a type was named that is not there.
func (r *reader) known(types []typ) {
	for _, id := range r.references {
		if int(id) >= len(types) {
			r.Fail("the type %d does not exist", id)
			return
		}
	}
}
