package metadata

import (
	"errors"
	"fmt"
	"slices"
)

// ErrUnknown is in the errors of lookups: the runtime has nothing of this name.
var ErrUnknown = errors.New("the runtime has no")

// Runtime is what a runtime says of itself. It never changes.
type Runtime struct {
	version    int
	types      []typ
	pallets    []pallet
	names      map[string]int
	indices    [256]int16
	versions   []byte
	extensions []Extension
	address    TypeID
	signature  TypeID
	events     eventTypes
}

// Extension is a part of each signed extrinsic: a value in it, and an implicit one, which is only signed.
type Extension struct {
	Name     string
	Value    TypeID
	Implicit TypeID
}

// Call names something that an extrinsic may do.
type Call struct {
	Pallet, Name string
	// Index are the two bytes that stand for it in this runtime, and maybe for another call in the next.
	Index     [2]byte
	Arguments []Argument
}

// Argument is one of a call.
type Argument struct {
	Name string
	Type TypeID
}

// index looks for names that stand for two things, and remembers where they are.
func (rt *Runtime) index() error {
	rt.names = make(map[string]int, len(rt.pallets))
	for i := range rt.indices {
		rt.indices[i] = -1
	}
	for i, p := range rt.pallets {
		if _, twice := rt.names[p.name]; twice || rt.indices[p.index] >= 0 {
			return fmt.Errorf("two pallets have the name %q or the number %d", p.name, p.index)
		}
		rt.names[p.name], rt.indices[p.index] = i, int16(i)
	}
	rt.events = rt.findEvents()
	return nil
}

// Version returns the version of the metadata: 14, 15 or 16.
func (rt *Runtime) Version() int { return rt.version }

// Versions returns which versions of extrinsics the runtime takes.
func (rt *Runtime) Versions() []byte { return slices.Clone(rt.versions) }

// Extensions returns the extensions of extrinsics of version 4, in their order.
func (rt *Runtime) Extensions() []Extension { return slices.Clone(rt.extensions) }

// Address and Signature return the types of those of an extrinsic.
func (rt *Runtime) Address() TypeID { return rt.address }

// Signature returns the type of an extrinsic's signature.
func (rt *Runtime) Signature() TypeID { return rt.signature }

func (rt *Runtime) pallet(name string) (*pallet, error) {
	if at, found := rt.names[name]; found {
		return &rt.pallets[at], nil
	}
	return nil, fmt.Errorf("%w pallet %q", ErrUnknown, name)
}

// PalletAt returns the name of the pallet of a number, empty if there is none.
func (rt *Runtime) PalletAt(index byte) string {
	if at := rt.indices[index]; at >= 0 {
		return rt.pallets[at].name
	}
	return ""
}

// Call looks up a call by its names. The error wraps ErrUnknown.
func (rt *Runtime) Call(palletName, name string) (Call, error) {
	p, err := rt.pallet(palletName)
	if err != nil {
		return Call{}, err
	}
	if p.calls != none {
		if v := rt.types[p.calls].named(name); v != nil {
			return callOf(p, v), nil
		}
	}
	return Call{}, fmt.Errorf("%w call %q in the pallet %s", ErrUnknown, name, palletName)
}

// CallAt looks up a call by its indices. The error wraps ErrUnknown.
func (rt *Runtime) CallAt(index [2]byte) (Call, error) {
	if at := rt.indices[index[0]]; at >= 0 && rt.pallets[at].calls != none {
		if v := rt.types[rt.pallets[at].calls].variant(index[1]); v != nil {
			return callOf(&rt.pallets[at], v), nil
		}
	}
	return Call{}, fmt.Errorf("%w call %d.%d", ErrUnknown, index[0], index[1])
}

func callOf(p *pallet, v *variant) Call {
	c := Call{Pallet: p.name, Name: v.name, Index: [2]byte{p.index, v.index}}
	for _, f := range v.fields {
		c.Arguments = append(c.Arguments, Argument{f.name, f.of})
	}
	return c
}

// Storage looks up an entry of a pallet's storage. The error wraps ErrUnknown.
func (rt *Runtime) Storage(palletName, name string) (Storage, error) {
	p, err := rt.pallet(palletName)
	if err != nil {
		return Storage{}, err
	}
	if s, found := p.storage[name]; found {
		return s, nil
	}
	return Storage{}, fmt.Errorf("%w storage %q in the pallet %s", ErrUnknown, name, palletName)
}

// Constant looks up a constant of a pallet. The error wraps ErrUnknown.
func (rt *Runtime) Constant(palletName, name string) (Constant, error) {
	p, err := rt.pallet(palletName)
	if err != nil {
		return Constant{}, err
	}
	if c, found := p.constants[name]; found {
		return c, nil
	}
	return Constant{}, fmt.Errorf("%w constant %q in the pallet %s", ErrUnknown, name, palletName)
}

// ErrorAt returns the name of a pallet's error, such as "Balances.InsufficientBalance", empty if there is none.
func (rt *Runtime) ErrorAt(palletIndex, index byte) string {
	if at := rt.indices[palletIndex]; at >= 0 && rt.pallets[at].errors != none {
		if v := rt.types[rt.pallets[at].errors].variant(index); v != nil {
			return rt.pallets[at].name + "." + v.name
		}
	}
	return ""
}

// TypeName returns the path of a type, or its form if it has none.
func (rt *Runtime) TypeName(id TypeID) string {
	t := &rt.types[id]
	if t.path != "" {
		return t.path
	}
	switch t.form {
	case primitive:
		return primitives[t.primitive]
	case compact:
		return "Compact<" + primitiveOr(rt, t.of) + ">"
	case sequence:
		return "Vec<" + primitiveOr(rt, t.of) + ">"
	case array:
		return fmt.Sprintf("[%s; %d]", primitiveOr(rt, t.of), t.count)
	case tuple:
		return fmt.Sprintf("a tuple of %d", len(t.fields))
	case bits:
		return "BitVec"
	case composite, enum:
	}
	return "a type without a name"
}

func primitiveOr(rt *Runtime, id TypeID) string {
	if t := &rt.types[id]; t.form == primitive {
		return primitives[t.primitive]
	}
	return rt.types[id].path
}

var primitives = [...]string{
	"bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "u256", "i8", "i16", "i32", "i64", "i128", "i256",
}

// Size returns how many bytes each value of a type has; false if they differ.
func (rt *Runtime) Size(id TypeID) (size int, fixed bool) {
	size = rt.types[id].size
	return max(size, 0), size != variable
}

// IsOption reports whether a type is an Option.
func (rt *Runtime) IsOption(id TypeID) bool { return rt.types[id].path == "Option" }

// Variant returns the first byte of an enum's variant; false if the type is no enum, or has none of this name.
func (rt *Runtime) Variant(id TypeID, name string) (byte, bool) {
	if v := rt.types[id].named(name); v != nil {
		return v.index, true
	}
	return 0, false
}

// VariantAt returns the name of an enum's variant, empty if there is none.
func (rt *Runtime) VariantAt(id TypeID, index byte) string {
	if v := rt.types[id].variant(index); v != nil {
		return v.name
	}
	return ""
}

// IsEnum reports whether a type is an enum.
func (rt *Runtime) IsEnum(id TypeID) bool { return rt.types[id].form == enum }
