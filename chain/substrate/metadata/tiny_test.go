package metadata_test

import (
	"github.com/conchhq/conch/chain/substrate/scale"
)

// tiny writes small metadata of a version, with what a change of it may be: the number of a pallet, of a call, and a field.
type tiny struct {
	version   byte
	system    byte   // the number of the pallet
	remark    byte   // the number of the call
	argument  string // of the call
	of        uint64 // its type: 2 is bytes, 0 is u8
	extra     bool   // another variant in the enum of what may be noted
	nested    uint64 // type of the noted value's field
	extension string
}

func small(version byte) tiny {
	return tiny{version: version, system: 0, remark: 1, argument: "remark", of: 2, nested: 1, extension: "CheckNonce"}
}

func text(s string) []byte { return scale.AppendText(nil, s) }

func join(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case byte:
			b = append(b, p)
		case uint64:
			b = scale.AppendCompact(b, p)
		case string:
			b = append(b, text(p)...)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

func list(items ...[]byte) []byte {
	b := scale.AppendCompact(nil, uint64(len(items)))
	for _, one := range items {
		b = append(b, one...)
	}
	return b
}

var (
	empty = list()
	yes   = []byte{1}
	no    = []byte{0}
)

// fieldOf is a field: its name, or none, and its type.
func fieldOf(name string, of uint64) []byte {
	if name == "" {
		return join(no, of, no, empty)
	}
	return join(yes, name, of, no, empty)
}

func variantOf(name string, index byte, fields ...[]byte) []byte {
	return join(name, list(fields...), index, empty)
}

// types are: 0 u8, 1 u32, 2 Vec<u8>, 3 the calls, 4 the extrinsic, 5 (), 6 phase, 7 System's events, 8 all events, 9 an event's
// record, 10 a list of those, 11 Compact<u32>, 12 what may be noted, 13 a list of it, 14 the errors.
func (t tiny) types() []byte {
	path := func(s string) []byte { return list(text(s)) }
	kind := func(id uint64, path []byte, def []byte) []byte { return join(id, path, empty, def, empty) }
	noted := [][]byte{variantOf("Nothing", 0), variantOf("Height", 1, fieldOf("height", t.nested))}
	if t.extra {
		noted = append(noted, variantOf("More", 2, fieldOf("", 2)))
	}
	return list(
		kind(0, empty, []byte{5, 3}),
		kind(1, empty, []byte{5, 5}),
		kind(2, empty, join(2, uint64(0))),
		kind(3, path("Call"), join(1, list(
			variantOf("remark", t.remark, fieldOf(t.argument, t.of)),
			variantOf("note", t.remark+1, fieldOf("notes", 13)),
		))),
		join(uint64(4), path("UncheckedExtrinsic"), list(join("Address", yes, uint64(2)), join("Call", yes, uint64(3)), join("Signature", yes, uint64(2)), join("Extra", no)), 0, empty, empty),
		kind(5, empty, join(4, empty)),
		kind(6, path("Phase"), join(1, list(variantOf("ApplyExtrinsic", 0, fieldOf("", 1)), variantOf("Finalization", 1)))),
		kind(7, path("Event"), join(1, list(variantOf("Remarked", 0, fieldOf("by", 1), fieldOf("what", 2))))),
		kind(8, path("RuntimeEvent"), join(1, list(variantOf("System", t.system, fieldOf("", 7))))),
		kind(9, path("EventRecord"), join(0, list(fieldOf("phase", 6), fieldOf("event", 8), fieldOf("topics", 2)))),
		kind(10, empty, join(2, uint64(9))),
		kind(11, empty, join(6, uint64(1))),
		kind(12, path("Noted"), join(1, list(noted...))),
		kind(13, empty, join(2, uint64(12))),
		kind(14, path("Error"), join(1, list(variantOf("TooLong", 3)))),
	)
}

func (t tiny) bytes() []byte {
	late := t.version > 14
	end := empty
	variants := []byte{}
	if t.version == 16 {
		end, variants = join(empty, 0), empty
	}
	entry := func(name string, of uint64) []byte { return join(name, 1, 0, of, empty, end) }
	pallet := join("System", yes, "System", list(entry("Events", 10)),
		yes, uint64(3), variants, yes, uint64(7), variants,
		list(join("Most", uint64(1), uint64(4), []byte{5, 0, 0, 0}, end)), yes, uint64(14), variants)
	if t.version == 16 {
		pallet = join(pallet, empty, empty)
	}
	pallet = join(pallet, t.system)
	if late {
		pallet = join(pallet, end)
	}
	extension := join(t.extension, uint64(11), uint64(5))
	b := join([]byte("meta"), t.version, t.types(), list(pallet))
	switch t.version {
	case 14:
		return join(b, uint64(4), 4, list(extension), uint64(5))
	case 15:
		b = join(b, 4, uint64(2), uint64(3), uint64(2), uint64(11), list(extension), uint64(5))
	case 16:
		other := join("Unused", uint64(2), uint64(5))
		b = join(b, list([]byte{4}, []byte{5}), uint64(2), uint64(3), uint64(2), list(join(0, list(join(uint64(1)))), join(1, list(join(uint64(0))))), list(other, extension))
	}
	method := join("version", empty, uint64(1), end)
	api := join("Core", list(method), empty)
	if t.version == 16 {
		api = join(api, uint64(5), 0)
	}
	return join(b, list(api), uint64(3), uint64(8), uint64(14), list(join("ours", uint64(1), uint64(4), []byte{0, 0, 0, 0})))
}
