package metadata

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"strconv"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// A decoded value is one of:
//
//   - nil: nothing, or the None of an Option
//   - bool, string
//   - uint64, int64 for numbers of up to 64 bits, *big.Int for larger types
//   - [Bytes] for lists of bytes
//   - []any for other lists, tuples, and structures whose fields have no names
//   - [Fields] for structures
//   - [Variant] for enums; a Some is what is in it, but a Variant if that is nil
//
// A structure of one field without a name is what is in it.
type (
	// Bytes are written as 0x and hexadecimal digits.
	Bytes []byte
	// Bits are written as 0b and one digit a bit.
	Bits string
	// Fields are those of a structure, in its order.
	Fields []Field
	// Field is one of Fields.
	Field struct {
		Name  string
		Value any
	}
	// Variant is one of an enum. Value is nil if it has no fields.
	Variant struct {
		Name  string
		Value any
	}
)

// Get returns the value of a field, nil if there is none.
func (f Fields) Get(name string) any {
	for _, one := range f {
		if one.Name == name {
			return one.Value
		}
	}
	return nil
}

// Print writes a value as JSON. Numbers that JavaScript would round are texts of their digits.
func Print(v any) string { return string(appendJSON(nil, v)) }

const exact = 1 << 53

func appendJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return strconv.AppendBool(b, v)
	case uint64:
		if v > exact {
			return strconv.AppendQuote(b, strconv.FormatUint(v, 10))
		}
		return strconv.AppendUint(b, v, 10)
	case int64:
		if v > exact || v < -exact {
			return strconv.AppendQuote(b, strconv.FormatInt(v, 10))
		}
		return strconv.AppendInt(b, v, 10)
	case *big.Int:
		if v.IsInt64() {
			return appendJSON(b, v.Int64())
		}
		return strconv.AppendQuote(b, v.String())
	case string:
		quoted, _ := json.Marshal(v) //nolint:errchkjson // a text
		return append(b, quoted...)
	case Bytes:
		return append(hex.AppendEncode(append(b, `"0x`...), v), '"')
	case Bits:
		return strconv.AppendQuote(b, "0b"+string(v))
	case []any:
		b = append(b, '[')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, one)
		}
		return append(b, ']')
	case Fields:
		b = append(b, '{')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(append(appendJSON(b, one.Name), ':'), one.Value)
		}
		return append(b, '}')
	case Variant:
		if v.Value == nil {
			return appendJSON(b, v.Name)
		}
		return appendJSON(b, Fields{{v.Name, v.Value}})
	}
	return append(b, "null"...)
}

// Value decodes all of b as a value of a type. The error wraps scale.ErrMalformed.
func (rt *Runtime) Value(id TypeID, b []byte) (any, error) {
	d := scale.NewDecoder(b)
	v := rt.read(id, d)
	return v, d.Done()
}

// Arguments decodes the arguments of a call, by their names.
func (rt *Runtime) Arguments(c Call, b []byte) (Fields, error) {
	d := scale.NewDecoder(b)
	values := Fields{}
	for _, a := range c.Arguments {
		values = append(values, Field{a.Name, rt.read(a.Type, d)})
	}
	return values, d.Done()
}

func (rt *Runtime) read(id TypeID, d *scale.Decoder) any {
	if !d.Enter() {
		return nil
	}
	defer d.Leave()
	t := &rt.types[id]
	switch t.form {
	case composite:
		return rt.readFields(t.fields, d)
	case tuple:
		if len(t.fields) == 0 {
			return nil
		}
		values := make([]any, 0, len(t.fields))
		for _, f := range t.fields {
			values = append(values, rt.read(f.of, d))
		}
		return values
	case enum:
		return rt.readVariant(t, d)
	case sequence:
		n := d.Length(max(rt.types[t.of].size, 0))
		return rt.readList(t.of, n, d)
	case array:
		return rt.readList(t.of, t.count, d)
	case primitive:
		return readPrimitive(t.primitive, d)
	case compact:
		if rt.types[t.of].size == 0 { // Compact<()>
			return nil
		}
		v := d.BigCompact()
		if v.IsUint64() {
			return v.Uint64()
		}
		return v
	case bits:
		return rt.readBits(t, d)
	}
	return nil
}

func (rt *Runtime) readFields(fields []field, d *scale.Decoder) any {
	switch {
	case len(fields) == 0:
		return nil
	case fields[0].name == "" && len(fields) == 1:
		return rt.read(fields[0].of, d)
	case fields[0].name == "":
		values := make([]any, 0, len(fields))
		for _, f := range fields {
			values = append(values, rt.read(f.of, d))
		}
		return values
	}
	values := make(Fields, 0, len(fields))
	for _, f := range fields {
		values = append(values, Field{f.name, rt.read(f.of, d)})
	}
	return values
}

func (rt *Runtime) readVariant(t *typ, d *scale.Decoder) any {
	index := d.Byte()
	v := t.variant(index)
	if v == nil {
		d.Fail("%s has no variant %d", t.path, index)
		return nil
	}
	value := rt.readFields(v.fields, d)
	if t.path == "Option" && (value != nil || v.name == "None") {
		return value
	}
	return Variant{v.name, value}
}

// readList reads so many values. Those of no bytes count, as each read is one.
func (rt *Runtime) readList(of TypeID, n int, d *scale.Decoder) any {
	if t := &rt.types[of]; t.form == primitive && t.primitive == primU8 {
		return Bytes(d.Bytes(n))
	}
	values := make([]any, 0, min(n, d.Left()))
	for ; n > 0 && d.Err() == nil; n-- {
		values = append(values, rt.read(of, d))
	}
	return values
}

func readPrimitive(p byte, d *scale.Decoder) any {
	switch p {
	case primBool:
		return d.Bool()
	case primChar:
		return string(rune(d.U32()))
	case primText:
		return d.Text()
	case primU8:
		return uint64(d.Byte())
	case primU16:
		return uint64(d.U16())
	case primU32:
		return uint64(d.U32())
	case primU64:
		return d.U64()
	case primU128, primU256:
		return d.Unsigned(primitiveSize(p))
	case primI128, primI256:
		return d.Signed(primitiveSize(p))
	}
	return d.Signed(primitiveSize(p)).Int64()
}

// readBits reads a list of bits, which lie in words.
func (rt *Runtime) readBits(t *typ, d *scale.Decoder) any {
	word, lowFirst := rt.bitWords(t)
	n := d.Compact()
	if word <= 0 || n > uint64(d.Left())*8 {
		d.Fail("%d bits are not there", n)
		return nil
	}
	count := int(n)
	words := d.Bytes((count + 8*word - 1) / (8 * word) * word)
	if words == nil && count > 0 {
		return nil
	}
	digits := make([]byte, count)
	for i := range digits {
		at := i % (8 * word)
		if !lowFirst {
			at = 8*word - 1 - at
		}
		digits[i] = '0' + words[i/(8*word)*word+at/8]>>(at%8)&1
	}
	return Bits(digits)
}

func (rt *Runtime) bitWords(t *typ) (size int, lowFirst bool) {
	size = rt.types[t.of].size
	return min(size, 8), rt.types[t.order].name() != "Msb0"
}

// Skip reads over a value.
func (rt *Runtime) Skip(id TypeID, d *scale.Decoder) {
	t := &rt.types[id]
	if t.size != variable {
		d.Bytes(t.size)
		return
	}
	if !d.Enter() {
		return
	}
	defer d.Leave()
	switch t.form {
	case composite, tuple:
		for _, f := range t.fields {
			rt.Skip(f.of, d)
		}
	case enum:
		index := d.Byte()
		v := t.variant(index)
		if v == nil {
			d.Fail("%s has no variant %d", t.path, index)
			return
		}
		for _, f := range v.fields {
			rt.Skip(f.of, d)
		}
	case sequence:
		rt.skipList(t.of, d)
	case array:
		for i := 0; i < t.count && d.Err() == nil; i++ {
			rt.Skip(t.of, d)
		}
	case primitive:
		d.Blob()
	case compact:
		if rt.types[t.of].size != 0 {
			d.BigCompact()
		}
	case bits:
		rt.readBits(t, d)
	}
}

func (rt *Runtime) skipList(of TypeID, d *scale.Decoder) {
	size := rt.types[of].size
	if size > 0 {
		n := d.Compact()
		if n > uint64(d.Left()/size) {
			d.Fail("a list of %d values is longer than the %d bytes that are left", n, d.Left())
			return
		}
		d.Bytes(int(n) * size)
		return
	}
	for n := d.Length(0); n > 0 && d.Err() == nil && size != 0; n-- {
		rt.Skip(of, d)
	}
}

// u32 reads four bytes of a value.
func u32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }
