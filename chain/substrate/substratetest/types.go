package substratetest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// registry is the list of types of a runtime's metadata. A type gets its number when it is first asked for, so that types may
// have each other in them.
type registry struct {
	ids     map[string]uint64
	types   [][]byte
	pallets []pallet
	ether   bool // accounts have 20 bytes
}

// id returns the number of a type by its name: "u32", "Vec<Call>", "[u8;32]", "(u32,H256)", "System::Call".
func (r *registry) id(name string) uint64 {
	id, known := r.ids[name]
	if !known {
		id = uint64(len(r.types))
		r.ids[name] = id
		r.types = append(r.types, nil)
		r.types[id] = r.define(name)
	}
	return id
}

func (r *registry) append(b []byte, name string) []byte { return scale.AppendCompact(b, r.id(name)) }

var primitives = []string{"bool", "char", "str", "u8", "u16", "u32", "u64", "u128", "u256", "i8", "i16", "i32", "i64", "i128", "i256"}

// define encodes a type: its path, parameters, definition, and no words.
func (r *registry) define(name string) []byte {
	if at := slices.Index(primitives, name); at >= 0 {
		return []byte{0, 0, 5, byte(at), 0}
	}
	inner, cut := strings.CutSuffix(name, ">")
	switch {
	case name == "()":
		return []byte{0, 0, 4, 0, 0}
	case cut && strings.HasPrefix(inner, "Vec<"):
		return append(r.append([]byte{0, 0, 2}, inner[4:]), 0)
	case cut && strings.HasPrefix(inner, "Compact<"):
		return append(r.append([]byte{0, 0, 6}, inner[8:]), 0)
	case cut && strings.HasPrefix(inner, "Option<"):
		some := inner[7:]
		head := append(path("Option"), 4)
		head = r.append(append(scale.AppendText(head, "T"), 1), some)
		return r.variants(head, []variant{{"None", 0, nil}, {"Some", 1, []field{{"", some}}}})
	case name[0] == '[':
		kind, size, _ := strings.Cut(strings.Trim(name, "[]"), ";")
		n, _ := strconv.ParseUint(size, 10, 8)
		return append(r.append([]byte{0, 0, 3, byte(n), 0, 0, 0}, kind), 0)
	case name[0] == '(':
		parts := strings.Split(strings.Trim(name, "()"), ",")
		b := scale.AppendCompact([]byte{0, 0, 4}, uint64(len(parts)))
		for _, part := range parts {
			b = r.append(b, part)
		}
		return append(b, 0)
	}
	return r.named(name)
}

func path(text string) []byte {
	parts := strings.Split(text, "::")
	b := scale.AppendCompact(nil, uint64(len(parts)))
	for _, part := range parts {
		b = scale.AppendText(b, part)
	}
	return b
}

// named encodes the types that have a name of their own.
func (r *registry) named(name string) []byte {
	if c, is := composites[name]; is {
		return r.composite(append(path(c.path), 0), c.fields)
	}
	if v, is := sums[name]; is {
		return r.variants(append(path(v.path), 0), v.variants)
	}
	switch name {
	case "AccountId":
		if r.ether {
			return r.composite(append(path("account::AccountId20"), 0), []field{{"", "[u8;20]"}})
		}
		return r.composite(append(path("sp_core::crypto::AccountId32"), 0), []field{{"", "[u8;32]"}})
	case "Address":
		return r.composite(append(path("account::AccountId20"), 0), []field{{"", "[u8;20]"}}) // of 32 bytes it is a sum
	case "Signature":
		return r.composite(append(path("account::EthereumSignature"), 0), []field{{"", "[u8;65]"}})
	case "Era":
		return r.variants(append(path("sp_runtime::generic::era::Era"), 0), eras())
	case "Call", "Event", "Error":
		return r.outer(name)
	case "Extrinsic":
		b := append(path("sp_runtime::generic::unchecked_extrinsic::UncheckedExtrinsic"), 4<<2)
		for _, p := range []field{{"Address", r.address()}, {"Call", "Call"}, {"Signature", r.signature()}, {"Extra", "()"}} {
			b = r.append(append(scale.AppendText(b, p.name), 1), p.kind)
		}
		return r.composite(b, []field{{"", "Vec<u8>"}})
	}
	return r.ofPallet(name)
}

// address and signature return the names of types that depend on the size of an account.
func (r *registry) address() string {
	if r.ether {
		return "Address"
	}
	return "MultiAddress"
}

func (r *registry) signature() string {
	if r.ether {
		return "Signature"
	}
	return "MultiSignature"
}

// outer encodes the sum of what the pallets have: all calls, all events, all errors.
func (r *registry) outer(name string) []byte {
	var all []variant
	for _, p := range r.pallets {
		if len(p.of(name)) > 0 {
			all = append(all, variant{p.name, p.index, []field{{"", p.name + "::" + name}}})
		}
	}
	return r.variants(append(path("substratetest_runtime::Runtime"+name), 0), all)
}

func (r *registry) ofPallet(name string) []byte {
	of, what, _ := strings.Cut(name, "::")
	for _, p := range r.pallets {
		if p.name == of {
			return r.variants(append(path("pallet_"+strings.ToLower(of)+"::pallet::"+what), 0), p.of(what))
		}
	}
	panic("substratetest: no type has the name " + name)
}

func (p pallet) of(what string) []variant {
	switch what {
	case "Call":
		return p.calls
	case "Event":
		return p.events
	}
	return p.errors
}

func (r *registry) fields(b []byte, fields []field) []byte {
	b = scale.AppendCompact(b, uint64(len(fields)))
	for _, f := range fields {
		if f.name == "" {
			b = append(b, 0)
		} else {
			b = scale.AppendText(append(b, 1), f.name)
		}
		kind := f.kind
		if kind == "Address" {
			kind = r.address()
		}
		b = append(r.append(b, kind), 0, 0) // the type has no name in the source, and the field no words
	}
	return b
}

func (r *registry) composite(head []byte, fields []field) []byte {
	return append(r.fields(append(head, 0), fields), 0)
}

func (r *registry) variants(head []byte, variants []variant) []byte {
	b := scale.AppendCompact(append(head, 1), uint64(len(variants)))
	for _, v := range variants {
		b = append(r.fields(scale.AppendText(b, v.name), v.fields), v.index, 0)
	}
	return append(b, 0)
}

func eras() []variant {
	all := []variant{{"Immortal", 0, nil}}
	for i := 1; i < 256; i++ {
		all = append(all, variant{fmt.Sprint("Mortal", i), byte(i), []field{{"", "u8"}}})
	}
	return all
}

func plain(names ...string) (all []variant) {
	for i, name := range names {
		all = append(all, variant{name, byte(i), nil})
	}
	return all
}

var composites = map[string]struct {
	path   string
	fields []field
}{
	"H256":                     {"primitive_types::H256", []field{{"", "[u8;32]"}}},
	"Weight":                   {"sp_weights::weight_v2::Weight", []field{{"ref_time", "Compact<u64>"}, {"proof_size", "Compact<u64>"}}},
	"DispatchInfo":             {"frame_system::DispatchEventInfo", []field{{"weight", "Weight"}, {"class", "DispatchClass"}, {"pays_fee", "Pays"}}},
	"ModuleError":              {"sp_runtime::ModuleError", []field{{"index", "u8"}, {"error", "[u8;4]"}}},
	"AccountData":              {"pallet_balances::types::AccountData", []field{{"free", "u128"}, {"reserved", "u128"}, {"frozen", "u128"}, {"flags", "u128"}}},
	"AccountInfo":              {"frame_system::AccountInfo", []field{{"nonce", "u32"}, {"consumers", "u32"}, {"providers", "u32"}, {"sufficients", "u32"}, {"data", "AccountData"}}},
	"EventRecord":              {"frame_system::EventRecord", []field{{"phase", "Phase"}, {"event", "Event"}, {"topics", "Vec<H256>"}}},
	"CodeUpgradeAuthorization": {"frame_system::CodeUpgradeAuthorization", []field{{"code_hash", "H256"}, {"check_version", "bool"}}},
	"RuntimeVersion": {"sp_version::RuntimeVersion", []field{
		{"spec_name", "str"}, {"impl_name", "str"}, {"authoring_version", "u32"}, {"spec_version", "u32"}, {"impl_version", "u32"},
		{"apis", "Vec<([u8;8],u32)>"}, {"transaction_version", "u32"}, {"system_version", "u8"},
	}},
}

var sums = map[string]struct {
	path     string
	variants []variant
}{
	"MetadataMode":  {"frame_metadata_hash_extension::Mode", plain("Disabled", "Enabled")},
	"DispatchClass": {"frame_support::dispatch::DispatchClass", plain("Normal", "Operational", "Mandatory")},
	"Pays":          {"frame_support::dispatch::Pays", plain("Yes", "No")},
	"TokenError": {"sp_runtime::TokenError", plain("FundsUnavailable", "OnlyProvider", "BelowMinimum", "CannotCreate", "UnknownAsset", "Frozen",
		"Unsupported", "CannotCreateHold", "NotExpendable", "Blocked")},
	"ArithmeticError": {"sp_arithmetic::ArithmeticError", plain("Underflow", "Overflow", "DivisionByZero")},
	"DispatchError": {"sp_runtime::DispatchError", []variant{
		{"Other", 0, nil}, {"CannotLookup", 1, nil}, {"BadOrigin", 2, nil}, {"Module", 3, []field{{"", "ModuleError"}}}, {"ConsumerRemaining", 4, nil},
		{"NoProviders", 5, nil}, {"TooManyConsumers", 6, nil}, {"Token", 7, []field{{"", "TokenError"}}}, {"Arithmetic", 8, []field{{"", "ArithmeticError"}}},
	}},
	"Phase": {"frame_system::Phase", []variant{{"ApplyExtrinsic", 0, []field{{"", "u32"}}}, {"Finalization", 1, nil}, {"Initialization", 2, nil}}},
	"MultiAddress": {"sp_runtime::multiaddress::MultiAddress", []variant{
		{"Id", 0, []field{{"", "AccountId"}}}, {"Index", 1, []field{{"", "Compact<()>"}}}, {"Raw", 2, []field{{"", "Vec<u8>"}}},
		{"Address32", 3, []field{{"", "[u8;32]"}}}, {"Address20", 4, []field{{"", "[u8;20]"}}},
	}},
	"MultiSignature": {"sp_runtime::MultiSignature", []variant{
		{"Ed25519", 0, []field{{"", "[u8;64]"}}}, {"Sr25519", 1, []field{{"", "[u8;64]"}}}, {"Ecdsa", 2, []field{{"", "[u8;65]"}}},
	}},
}
