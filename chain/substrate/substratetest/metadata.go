package substratetest

import (
	"encoding/binary"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// extension is an extension of transactions: the type of what it adds to the bytes, and of what it adds to the signed payload alone.
type extension struct{ name, extra, implicit string }

// extensions returns those of a runtime, in their order.
func extensions(r Runtime) []extension {
	all := []extension{
		{"CheckNonZeroSender", "()", "()"},
		{"CheckSpecVersion", "()", "u32"},
		{"CheckTxVersion", "()", "u32"},
		{"CheckGenesis", "()", "H256"},
		{"CheckMortality", "Era", "H256"},
		{"CheckNonce", "Compact<u32>", "()"},
		{"CheckWeight", "()", "()"},
		{"ChargeTransactionPayment", "Compact<u128>", "()"},
		{"CheckMetadataHash", "MetadataMode", "Option<[u8;32]>"},
	}
	if r.Extension != "" {
		all = append(all, extension{r.Extension, "u32", "()"})
	}
	return all
}

// The metadata of a runtime has these versions; state_getMetadata answers with the first.
var metadataVersions = []uint32{14, 15}

// metadata encodes what a runtime says of itself.
func (n *Node) metadata(r Runtime, version uint32) []byte {
	g := &registry{ids: map[string]uint64{}, pallets: n.pallets(r), ether: n.cfg.Ethereum}
	rest := scale.AppendCompact(nil, uint64(len(g.pallets)))
	for _, p := range g.pallets {
		rest = g.pallet(rest, p, version)
	}
	if version == 14 {
		rest = append(g.append(rest, "Extrinsic"), 4)
	} else {
		rest = append(rest, 4)
		for _, kind := range []string{g.address(), "Call", g.signature(), "()"} {
			rest = g.append(rest, kind)
		}
	}
	all := extensions(r)
	rest = scale.AppendCompact(rest, uint64(len(all)))
	for _, e := range all {
		rest = g.append(g.append(scale.AppendText(rest, e.name), e.extra), e.implicit)
	}
	rest = g.append(rest, "()") // the runtime itself
	if version > 14 {
		rest = g.apis(rest)
		for _, kind := range []string{"Call", "Event", "Error"} {
			rest = g.append(rest, kind)
		}
		rest = append(rest, 0) // nothing of the chain's own
	}
	b := scale.AppendCompact([]byte{'m', 'e', 't', 'a', byte(version)}, uint64(len(g.types)))
	for id, t := range g.types {
		b = append(scale.AppendCompact(b, uint64(id)), t...)
	}
	return append(b, rest...)
}

func (r *registry) pallet(b []byte, p pallet, version uint32) []byte {
	b = scale.AppendText(b, p.name)
	b = scale.AppendBool(b, len(p.storage) > 0)
	if len(p.storage) > 0 {
		b = r.storage(scale.AppendText(b, p.name), p.storage)
	}
	for _, what := range []string{"Call", "Event"} {
		if b = scale.AppendBool(b, len(p.of(what)) > 0); len(p.of(what)) > 0 {
			b = r.append(b, p.name+"::"+what)
		}
	}
	b = scale.AppendCompact(b, uint64(len(p.constants)))
	for _, c := range p.constants {
		b = append(scale.AppendBlob(r.append(scale.AppendText(b, c.name), c.kind), c.value), 0)
	}
	if b = scale.AppendBool(b, len(p.errors) > 0); len(p.errors) > 0 {
		b = r.append(b, p.name+"::Error")
	}
	b = append(b, p.index)
	if version > 14 {
		b = append(b, 0) // words
	}
	return b
}

func (r *registry) storage(b []byte, entries []entry) []byte {
	b = scale.AppendCompact(b, uint64(len(entries)))
	for _, e := range entries {
		b = scale.AppendBool(scale.AppendText(b, e.name), e.zero != nil)
		if e.key == "" {
			b = r.append(append(b, 0), e.value)
		} else {
			b = r.append(r.append(append(b, 1, 1<<2, e.hasher), e.key), e.value)
		}
		zero := e.zero
		if zero == nil {
			zero = []byte{0}
		}
		b = append(scale.AppendBlob(b, zero), 0)
	}
	return b
}

// apis encodes those functions of the runtime's interface whose types the metadata has.
func (r *registry) apis(b []byte) []byte {
	type method struct {
		name   string
		inputs []field
		output string
	}
	all := []struct {
		name    string
		methods []method
	}{
		{"Core", []method{{"version", nil, "RuntimeVersion"}}},
		{"Metadata", []method{{"metadata", nil, "Vec<u8>"}, {"metadata_at_version", []field{{"version", "u32"}}, "Option<Vec<u8>>"}, {"metadata_versions", nil, "Vec<u32>"}}},
		{"AccountNonceApi", []method{{"account_nonce", []field{{"account", "AccountId"}}, "u32"}}},
	}
	b = scale.AppendCompact(b, uint64(len(all)))
	for _, api := range all {
		b = scale.AppendCompact(scale.AppendText(b, api.name), uint64(len(api.methods)))
		for _, m := range api.methods {
			b = scale.AppendCompact(scale.AppendText(b, m.name), uint64(len(m.inputs)))
			for _, in := range m.inputs {
				b = r.append(scale.AppendText(b, in.name), in.kind)
			}
			b = append(r.append(b, m.output), 0)
		}
		b = append(b, 0)
	}
	return b
}

func (n *Node) systemConstants(r Runtime) []constant {
	return []constant{
		{"BlockHashCount", "u32", u32(blockHashes)},
		{"Version", "RuntimeVersion", n.version(r)},
		{"SS58Prefix", "u16", binary.LittleEndian.AppendUint16(nil, n.cfg.SS58)},
	}
}

func (n *Node) balancesConstants() []constant {
	return []constant{{"ExistentialDeposit", "u128", u128(n.deposit)}}
}

// specName is the name of the runtime, in all versions.
const specName = "substratetest"

// systemVersion 1: values of a state are hashed in their nodes if they are long, and those of extrinsics are not.
const systemVersion = 1

// version encodes the runtime's RuntimeVersion.
func (n *Node) version(r Runtime) []byte {
	b := scale.AppendText(scale.AppendText(nil, specName), specName)
	b = append(append(append(b, u32(1)...), u32(r.Spec)...), u32(1)...)
	b = append(b, 0) // no interfaces
	return append(append(b, u32(r.Transaction)...), systemVersion)
}

func u32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }

// u128 encodes a balance, which is never negative and has room in 16 bytes.
func u128(v *big.Int) []byte {
	b := v.FillBytes(make([]byte, 16))
	slices.Reverse(b)
	return b
}

func concat(parts ...[]byte) []byte { return slices.Concat(parts...) }

func u64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }
