// Package runtimetest writes the metadata of a small runtime, as a test wants it.
package runtimetest

import (
	"strconv"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// Runtime is what a small runtime has, of one pallet, System, with the calls remark and note.
type Runtime struct {
	Version    byte   // of its metadata: 14, 15 or 16
	System     byte   // the number of the pallet
	Remark     byte   // the number of its call remark; that of note is the next
	Argument   string // the name of remark's argument
	Of         uint64 // the type of it
	Extra      bool   // another variant in the enum of what may be noted
	Nested     uint64 // the type of the field of what may be noted
	Field      string // the name of it
	Nothing    string // the name of the first variant of what may be noted
	More       []byte // another type, as it is in the metadata
	Extensions []Extension
	Address    uint64
	Signature  uint64
	Extrinsics byte // the version of its extrinsics
}

// Extension is one of extrinsics.
type Extension struct {
	Name            string
	Value, Implicit uint64
}

// The types of a Runtime.
const (
	U8, U32, Bytes, Unit, Notes, Compact, Noted                                                uint64 = 0, 1, 2, 5, 13, 11, 12
	Hash, Account20, Era, Option, MultiAddress, MultiSignature, EthereumSignature, CompactU128 uint64 = 15, 16, 17, 18, 19, 20, 21, 22
	Mode                                                                                       uint64 = 26
)

// Small returns a runtime with the extensions that most have.
func Small(version byte) Runtime {
	return Runtime{
		Version: version, Remark: 1, Argument: "remark", Of: Bytes, Nested: U32, Field: "height", Nothing: "Nothing", Address: MultiAddress, Signature: MultiSignature, Extrinsics: 4,
		Extensions: []Extension{
			{"CheckNonZeroSender", Unit, Unit}, {"CheckSpecVersion", Unit, U32}, {"CheckTxVersion", Unit, U32}, {"CheckGenesis", Unit, Hash},
			{"CheckMortality", Era, Hash}, {"CheckNonce", Compact, Unit}, {"ChargeTransactionPayment", CompactU128, Unit}, {"CheckMetadataHash", Mode, Option},
		},
	}
}

// Text is a text in SCALE.
func Text(s string) []byte { return scale.AppendText(nil, s) }

// Join joins numbers of one byte (int, byte), compact ones (uint64), texts and bytes.
func Join(parts ...any) (b []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			b = append(b, byte(p))
		case byte:
			b = append(b, p)
		case uint64:
			b = scale.AppendCompact(b, p)
		case string:
			b = append(b, Text(p)...)
		case []byte:
			b = append(b, p...)
		}
	}
	return b
}

// List is a list in SCALE.
func List(items ...[]byte) []byte {
	b := scale.AppendCompact(nil, uint64(len(items)))
	for _, one := range items {
		b = append(b, one...)
	}
	return b
}

var (
	empty = List()
	yes   = []byte{1}
	no    = []byte{0}
)

// fieldOf is a field: its name, or none, and its type.
func fieldOf(name string, of uint64) []byte {
	if name == "" {
		return Join(no, of, no, empty)
	}
	return Join(yes, name, of, no, empty)
}

func variantOf(name string, index byte, fields ...[]byte) []byte {
	return Join(name, List(fields...), index, empty)
}

// types are those of the constants, and: 3 the calls, 4 the extrinsic, 6 phase, 7 System's events, 8 all events, 9 an event's
// record, 10 a list of those, 14 the errors.
func (t Runtime) types() []byte {
	path := func(s string) []byte { return List(Text(s)) }
	kind := func(id uint64, path []byte, def []byte) []byte { return Join(id, path, empty, def, empty) }
	noted := [][]byte{variantOf(t.Nothing, 0), variantOf("Height", 1, fieldOf(t.Field, t.Nested))}
	if t.Extra {
		noted = append(noted, variantOf("More", 2, fieldOf("", 2)))
	}
	all := [][]byte{
		kind(0, empty, []byte{5, 3}),
		kind(1, empty, []byte{5, 5}),
		kind(2, empty, Join(2, uint64(0))),
		kind(3, path("Call"), Join(1, List(
			variantOf("remark", t.Remark, fieldOf(t.Argument, t.Of)),
			variantOf("note", t.Remark+1, fieldOf("notes", 13)),
		))),
		Join(uint64(4), path("UncheckedExtrinsic"), List(Join("Address", yes, t.Address), Join("Call", yes, uint64(3)), Join("Signature", yes, t.Signature), Join("Extra", no)), 0, empty, empty),
		kind(5, empty, Join(4, empty)),
		kind(6, path("Phase"), Join(1, List(variantOf("ApplyExtrinsic", 0, fieldOf("", 1)), variantOf("Finalization", 1)))),
		kind(7, path("Event"), Join(1, List(variantOf("Remarked", 0, fieldOf("by", 1), fieldOf("what", 2))))),
		kind(8, path("RuntimeEvent"), Join(1, List(variantOf("System", t.System, fieldOf("", 7))))),
		kind(9, path("EventRecord"), Join(0, List(fieldOf("phase", 6), fieldOf("event", 8), fieldOf("topics", 2)))),
		kind(10, empty, Join(2, uint64(9))),
		kind(11, empty, Join(6, uint64(1))),
		kind(12, path("Noted"), Join(1, List(noted...))),
		kind(13, empty, Join(2, uint64(12))),
		kind(14, path("Error"), Join(1, List(variantOf("TooLong", 3)))),
		kind(Hash, empty, Join(3, []byte{32, 0, 0, 0}, U8)),
		kind(Account20, List(Text("AccountId20")), Join(3, []byte{20, 0, 0, 0}, U8)),
		kind(Era, path("Era"), Join(1, List(eras()...))),
		kind(Option, path("Option"), Join(1, List(variantOf("None", 0), variantOf("Some", 1, fieldOf("", Hash))))),
		kind(MultiAddress, path("MultiAddress"), Join(1, List(variantOf("Id", 0, fieldOf("", 24)), variantOf("Raw", 2, fieldOf("", Bytes))))),
		kind(MultiSignature, path("MultiSignature"), Join(1, List(variantOf("Ed25519", 0, fieldOf("", 25)), variantOf("Sr25519", 1, fieldOf("", 25)), variantOf("Ecdsa", 2, fieldOf("", EthereumSignature))))),
		kind(EthereumSignature, List(Text("EthereumSignature")), Join(3, []byte{65, 0, 0, 0}, U8)),
		kind(CompactU128, empty, Join(6, uint64(23))),
		kind(23, empty, []byte{5, 7}),
		kind(24, path("AccountId32"), Join(0, List(fieldOf("", Hash)))),
		kind(25, empty, Join(3, []byte{64, 0, 0, 0}, U8)),
		kind(Mode, path("Mode"), Join(1, List(variantOf("Disabled", 0), variantOf("Enabled", 1)))),
	}
	if t.More != nil {
		all = append(all, t.More)
	}
	return List(all...)
}

// Metadata returns the bytes that a node would answer.
func (t Runtime) Metadata() []byte {
	late := t.Version > 14
	end := empty
	variants := []byte{}
	if t.Version == 16 {
		end, variants = Join(empty, 0), empty
	}
	entry := func(name string, of uint64) []byte { return Join(name, 1, 0, of, empty, end) }
	pallet := Join("System", yes, "System", List(entry("Events", 10)),
		yes, uint64(3), variants, yes, uint64(7), variants,
		List(Join("Most", uint64(1), uint64(4), []byte{5, 0, 0, 0}, end)), yes, uint64(14), variants)
	if t.Version == 16 {
		pallet = Join(pallet, empty, empty)
	}
	pallet = Join(pallet, t.System)
	if late {
		pallet = Join(pallet, end)
	}
	var extensions, first [][]byte
	for i, e := range t.Extensions {
		extensions = append(extensions, Join(e.Name, e.Value, e.Implicit))
		first = append(first, Join(uint64(i+1)))
	}
	b := Join([]byte("meta"), t.Version, t.types(), List(pallet))
	switch t.Version {
	case 14:
		return Join(b, uint64(4), t.Extrinsics, List(extensions...), uint64(5))
	case 15:
		b = Join(b, t.Extrinsics, t.Address, uint64(3), t.Signature, uint64(11), List(extensions...), uint64(5))
	case 16:
		other := Join("Unused", uint64(2), uint64(5))
		b = Join(b, List([]byte{t.Extrinsics}, []byte{5}), t.Address, uint64(3), t.Signature, List(Join(0, List(first...)), Join(1, List(Join(uint64(0))))), List(append([][]byte{other}, extensions...)...))
	}
	method := Join("version", empty, uint64(1), end)
	api := Join("Core", List(method), empty)
	if t.Version == 16 {
		api = Join(api, uint64(5), 0)
	}
	return Join(b, List(api), uint64(3), uint64(8), uint64(14), List(Join("ours", uint64(1), uint64(4), []byte{0, 0, 0, 0})))
}

// eras are the variants of an era: none, and one for each first byte of those that have two.
func eras() [][]byte {
	all := [][]byte{variantOf("Immortal", 0)}
	for i := 1; i < 256; i++ {
		all = append(all, variantOf("Mortal"+strconv.Itoa(i), byte(i), fieldOf("", U8)))
	}
	return all
}
