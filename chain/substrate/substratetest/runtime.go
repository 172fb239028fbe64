package substratetest

import (
	"encoding/json"
	"slices"
)

// Runtime is a version of the chain's runtime. It is in the state of a block, below ":code", and so belongs to a branch: what the
// children of that block take is signed for it, and they are read with its metadata.
type Runtime struct {
	// Spec and Transaction are the versions that a signature covers.
	Spec, Transaction uint32
	// Moved gives other indices to the pallets Balances, TransactionPayment and Utility: old bytes of a call are another call.
	Moved bool `json:",omitempty"`
	// Reshaped lets System.remark have a second argument, topic, a u32.
	Reshaped bool `json:",omitempty"`
	// Extension is the name of one more extension of transactions, behind the others, with a u32 in the bytes; empty: none.
	Extension string `json:",omitempty"`
}

// Code returns what a state has below ":code", and System.apply_authorized_upgrade takes.
func (r Runtime) Code() []byte {
	code, _ := json.Marshal(r) //nolint:errchkjson // numbers, bools and a text
	return code
}

// runtimeOf is the inverse of Code.
func runtimeOf(code []byte) (r Runtime, ok bool) {
	err := json.Unmarshal(code, &r)
	return r, err == nil && len(r.Extension) < 64
}

// field, variant, entry and pallet describe the runtime, for its metadata and for what decodes and carries out calls. A type is
// named as the registry names it.
type (
	field   struct{ name, kind string }
	variant struct {
		name   string
		index  byte
		fields []field
	}
	entry struct {
		name   string
		key    string // empty: the entry has no key
		hasher byte   // of the key
		value  string
		zero   []byte // what an absent value stands for; nil: absent
	}
	constant struct {
		name, kind string
		value      []byte
	}
	pallet struct {
		name                  string
		index                 byte
		calls, events, errors []variant
		storage               []entry
		constants             []constant
	}
)

// The hashers of keys, as the metadata numbers them.
const (
	blake2Concat = 2
	twoxConcat   = 5
)

const moved = 10 // how much higher the indices of pallets are that have moved

// pallets returns the pallets of a runtime, by index. The lock is held.
func (n *Node) pallets(r Runtime) []pallet {
	if n.tables[r] == nil {
		n.tables[r] = n.describe(r)
	}
	return n.tables[r]
}

func (n *Node) describe(r Runtime) []pallet {
	all := []pallet{
		{name: "System", index: 0, calls: systemCalls(r), events: systemEvents, errors: systemErrors, storage: systemStorage, constants: n.systemConstants(r)},
		{name: "Timestamp", index: 2, calls: []variant{{"set", 0, []field{{"now", "Compact<u64>"}}}}, storage: []entry{{"Now", "", 0, "u64", make([]byte, 8)}}},
		{name: "Balances", index: 4, calls: balancesCalls, events: balancesEvents, errors: balancesErrors, storage: []entry{{"TotalIssuance", "", 0, "u128", make([]byte, 16)}}, constants: n.balancesConstants()},
		{name: "TransactionPayment", index: 5, events: []variant{{"TransactionFeePaid", 0, []field{{"who", "AccountId"}, {"actual_fee", "u128"}, {"tip", "u128"}}}}},
		{name: "Utility", index: 6, calls: utilityCalls, events: utilityEvents, errors: []variant{{"TooManyCalls", 0, nil}}},
	}
	if r.Moved {
		for i := range all[2:] {
			all[2+i].index += moved
		}
	}
	return all
}

// find returns the variant of a name. All names here are constants.
func find(variants []variant, name string) variant {
	at := slices.IndexFunc(variants, func(v variant) bool { return v.name == name })
	return variants[at]
}

func systemCalls(r Runtime) []variant {
	remark := []field{{"remark", "Vec<u8>"}}
	if r.Reshaped {
		remark = append(remark, field{"topic", "u32"})
	}
	return []variant{
		{"remark", 0, remark},
		{"set_code", 2, []field{{"code", "Vec<u8>"}}},
		{"remark_with_event", 7, []field{{"remark", "Vec<u8>"}}},
		{"apply_authorized_upgrade", 11, []field{{"code", "Vec<u8>"}}},
	}
}

var systemEvents = []variant{
	{"ExtrinsicSuccess", 0, []field{{"dispatch_info", "DispatchInfo"}}},
	{"ExtrinsicFailed", 1, []field{{"dispatch_error", "DispatchError"}, {"dispatch_info", "DispatchInfo"}}},
	{"CodeUpdated", 2, nil},
	{"NewAccount", 3, []field{{"account", "AccountId"}}},
	{"KilledAccount", 4, []field{{"account", "AccountId"}}},
	{"Remarked", 5, []field{{"sender", "AccountId"}, {"hash", "H256"}}},
	{"UpgradeAuthorized", 6, []field{{"code_hash", "H256"}, {"check_version", "bool"}}},
}

var systemErrors = []variant{
	{"InvalidSpecName", 0, nil}, {"SpecVersionNeedsToIncrease", 1, nil}, {"FailedToExtractRuntimeVersion", 2, nil}, {"NonDefaultComposite", 3, nil},
	{"NonZeroRefCount", 4, nil}, {"CallFiltered", 5, nil}, {"MultiBlockMigrationsOngoing", 6, nil}, {"NothingAuthorized", 7, nil}, {"Unauthorized", 8, nil},
}

var systemStorage = []entry{
	{"Account", "AccountId", blake2Concat, "AccountInfo", make([]byte, 80)},
	{"BlockHash", "u32", twoxConcat, "H256", make([]byte, 32)},
	{"Number", "", 0, "u32", make([]byte, 4)},
	{"ParentHash", "", 0, "H256", make([]byte, 32)},
	{"Events", "", 0, "Vec<EventRecord>", []byte{0}},
	{"EventCount", "", 0, "u32", make([]byte, 4)},
	{"AuthorizedUpgrade", "", 0, "CodeUpgradeAuthorization", nil},
}

var balancesCalls = []variant{
	{"transfer_allow_death", 0, []field{{"dest", "Address"}, {"value", "Compact<u128>"}}},
	{"transfer_keep_alive", 3, []field{{"dest", "Address"}, {"value", "Compact<u128>"}}},
	{"transfer_all", 4, []field{{"dest", "Address"}, {"keep_alive", "bool"}}},
}

var balancesEvents = []variant{
	{"Endowed", 0, []field{{"account", "AccountId"}, {"free_balance", "u128"}}},
	{"DustLost", 1, []field{{"account", "AccountId"}, {"amount", "u128"}}},
	{"Transfer", 2, []field{{"from", "AccountId"}, {"to", "AccountId"}, {"amount", "u128"}}},
	{"Deposit", 7, []field{{"who", "AccountId"}, {"amount", "u128"}}},
	{"Withdraw", 8, []field{{"who", "AccountId"}, {"amount", "u128"}}},
}

var balancesErrors = []variant{
	{"VestingBalance", 0, nil}, {"LiquidityRestrictions", 1, nil}, {"InsufficientBalance", 2, nil}, {"ExistentialDeposit", 3, nil}, {"Expendability", 4, nil},
}

var utilityCalls = []variant{
	{"batch", 0, []field{{"calls", "Vec<Call>"}}},
	{"batch_all", 2, []field{{"calls", "Vec<Call>"}}},
	{"force_batch", 4, []field{{"calls", "Vec<Call>"}}},
}

var utilityEvents = []variant{
	{"BatchInterrupted", 0, []field{{"index", "u32"}, {"error", "DispatchError"}}},
	{"BatchCompleted", 1, nil},
	{"BatchCompletedWithErrors", 2, nil},
	{"ItemCompleted", 3, nil},
	{"ItemFailed", 4, []field{{"error", "DispatchError"}}},
}
