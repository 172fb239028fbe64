package substratetest

import (
	"math/big"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// maxNesting is how deep calls are in each other at most.
const maxNesting = 8

// call is a decoded call of the runtime: its name as "Pallet.call", and those of the arguments that it has.
type call struct {
	name  string
	data  []byte
	dest  string // empty: no account
	value *big.Int
	keep  bool
	calls []call
}

// readCall decodes a call with the indices and shapes of a runtime. The decoder has the error.
func (n *Node) readCall(r Runtime, d *scale.Decoder, depth int) (c call) {
	pallet, index := d.Byte(), d.Byte()
	for _, p := range n.pallets(r) {
		for _, v := range p.calls {
			if p.index == pallet && v.index == index {
				c.name = p.name + "." + v.name
				for _, f := range v.fields {
					n.readArgument(r, d, f.kind, &c, depth)
				}
				return c
			}
		}
	}
	d.Fail("the runtime has no call %d of pallet %d", index, pallet)
	return c
}

func (n *Node) readArgument(r Runtime, d *scale.Decoder, kind string, c *call, depth int) {
	switch kind {
	case "Vec<u8>":
		c.data = d.Blob()
	case "u32":
		d.U32()
	case "bool":
		c.keep = d.Bool()
	case "Compact<u64>":
		d.Compact()
	case "Compact<u128>":
		if c.value = d.BigCompact(); c.value.BitLen() > 128 {
			d.Fail("a balance has 128 bits")
		}
	case "Address":
		c.dest = n.readAddress(d)
	case "Vec<Call>":
		if depth >= maxNesting {
			d.Fail("calls are more than %d deep in each other", maxNesting)
			return
		}
		for range d.Length(2) {
			c.calls = append(c.calls, n.readCall(r, d, depth+1))
		}
	}
}

// readAddress decodes an address. One that is no account is empty.
func (n *Node) readAddress(d *scale.Decoder) string {
	if n.cfg.Ethereum {
		return string(d.Bytes(20))
	}
	switch d.Byte() {
	case 0:
		return string(d.Bytes(32))
	case 1:
	case 2:
		d.Blob()
	case 3:
		d.Bytes(32)
	case 4:
		d.Bytes(20)
	default:
		d.Fail("no address begins so")
	}
	return ""
}

// failure is a DispatchError, encoded; nil: the call did what it says.
type failure []byte

var (
	cannotLookup  = failure{1}
	badOrigin     = failure{2}
	belowMinimum  = failure{7, 2}
	notExpendable = failure{7, 8}
	underflow     = failure{8, 0}
)

// execution carries out the extrinsics of a block.
type execution struct {
	node    *Node
	runtime Runtime // that the block is executed by
	state   state
	undo    []change
	events  [][]byte
}

type change struct {
	key string
	was []byte // nil: it was absent
}

func (x *execution) set(key string, value []byte) {
	x.undo = append(x.undo, change{key, x.state[key]})
	if value == nil {
		delete(x.state, key)
	} else {
		x.state[key] = value
	}
}

// layer carries a call out in a layer of storage of its own: if it fails, nothing of it stays.
func (x *execution) layer(act func() failure) failure {
	changes, events := len(x.undo), len(x.events)
	failed := act()
	if failed != nil {
		for i := len(x.undo) - 1; i >= changes; i-- {
			if c := x.undo[i]; c.was == nil {
				delete(x.state, c.key)
			} else {
				x.state[c.key] = c.was
			}
		}
		x.undo, x.events = x.undo[:changes], x.events[:events]
	}
	return failed
}

// emit deposits an event by its names.
func (x *execution) emit(pallet, name string, fields ...[]byte) {
	for _, p := range x.node.pallets(x.runtime) {
		if p.name == pallet {
			x.events = append(x.events, concat([]byte{p.index, find(p.events, name).index}, concat(fields...)))
		}
	}
}

// module returns the error of a pallet.
func (x *execution) module(pallet, name string) failure {
	for _, p := range x.node.pallets(x.runtime) {
		if p.name == pallet {
			return failure{3, p.index, find(p.errors, name).index, 0, 0, 0}
		}
	}
	return failure{0}
}

func (x *execution) do(who string, c call) failure {
	switch c.name {
	case "System.remark":
		return nil
	case "System.remark_with_event":
		sum := blake2b.Sum256(c.data)
		x.emit("System", "Remarked", []byte(who), sum[:])
		return nil
	case "System.apply_authorized_upgrade":
		return x.upgrade(c.data)
	case "Balances.transfer_allow_death", "Balances.transfer_keep_alive":
		return x.transfer(who, c.dest, c.value, c.name == "Balances.transfer_keep_alive")
	case "Balances.transfer_all":
		return x.transferAll(who, c)
	case "Utility.batch", "Utility.batch_all", "Utility.force_batch":
		return x.batch(who, c)
	}
	return badOrigin // only the chain itself may
}

func (x *execution) upgrade(code []byte) failure {
	authorized, sum := x.state[authorizedKey], blake2b.Sum256(code)
	next, ok := runtimeOf(code)
	switch {
	case authorized == nil:
		return x.module("System", "NothingAuthorized")
	case string(authorized[:32]) != string(sum[:]):
		return x.module("System", "Unauthorized")
	case !ok:
		return x.module("System", "FailedToExtractRuntimeVersion")
	case next.Spec <= x.runtime.Spec:
		return x.module("System", "SpecVersionNeedsToIncrease")
	}
	x.set(authorizedKey, nil)
	x.set(codeKey, code)
	x.emit("System", "CodeUpdated")
	return nil
}

func (x *execution) batch(who string, c call) failure {
	if len(c.calls) > x.node.cfg.MaxBatchCalls {
		return x.module("Utility", "TooManyCalls")
	}
	some := false
	for i, inner := range c.calls {
		failed := x.layer(func() failure { return x.do(who, inner) })
		switch {
		case failed == nil:
			x.emit("Utility", "ItemCompleted")
		case c.name == "Utility.batch_all":
			return failed
		case c.name == "Utility.batch":
			x.emit("Utility", "BatchInterrupted", u32(uint32(i)), failed)
			return nil
		default:
			some = true
			x.emit("Utility", "ItemFailed", failed)
		}
	}
	if some {
		x.emit("Utility", "BatchCompletedWithErrors")
	} else {
		x.emit("Utility", "BatchCompleted")
	}
	return nil
}
