package substratetest

import (
	"fmt"
	"maps"
	"math/big"

	"golang.org/x/crypto/blake2b"

	"github.com/conchhq/conch/chain/substrate/internal/trie"
	"github.com/conchhq/conch/chain/substrate/scale"
)

type block struct {
	number                uint32
	hash                  [32]byte
	up                    *block
	stateRoot, bodiesRoot [32]byte
	logs                  [][]byte // the digest
	header                []byte
	body                  []*extrinsic
	state                 state
	runtime               Runtime // in that state: its children are executed by it
	pruned                bool    // the node answers that it has discarded the state
}

// bodies returns the extrinsics as they are.
func (b *block) bodies() [][]byte {
	raws := make([][]byte, len(b.body))
	for i, x := range b.body {
		raws[i] = x.raw
	}
	return raws
}

// seal computes what a header says, and the hash.
func (b *block) seal() {
	b.stateRoot = b.state.root()
	b.bodiesRoot = trie.OrderedRoot(trie.V0, b.bodies())
	var parent [32]byte
	if b.up != nil {
		parent = b.up.hash
	}
	h := scale.AppendCompact(parent[:], uint64(b.number))
	h = scale.AppendCompact(concat(h, b.stateRoot[:], b.bodiesRoot[:]), uint64(len(b.logs)))
	b.header = concat(h, concat(b.logs...))
	b.hash = blake2b.Sum256(b.header)
}

// beginning makes the first block, with what its accounts have.
func (n *Node) beginning() *block {
	x := &execution{node: n, runtime: n.cfg.Runtime, state: state{codeKey: n.cfg.Runtime.Code(), issuanceKey: u128(new(big.Int))}}
	for who, amount := range n.cfg.Accounts {
		x.mint(who, amount)
	}
	b := &block{state: x.state, runtime: n.cfg.Runtime}
	x.state[eventsKey] = []byte{0}
	b.logs = [][]byte{concat([]byte{0}, scale.AppendBlob(nil, []byte(n.cfg.Name)))} // else two chains have one genesis
	b.seal()
	return b
}

// mint gives to an account what nobody has had.
func (x *execution) mint(who string, amount *big.Int) {
	x.endow(who, amount)
	x.set(issuanceKey, u128(new(big.Int).Add(x.state.issuance(), amount)))
}

// script is what the next block does besides its transactions.
type script struct {
	upgrade   *Runtime
	authorize []byte // the hash of a code
	fund      []funding
	reap      []string
}

type funding struct {
	who    string
	amount *big.Int
}

// extend makes the next block of the best chain, of those transactions that it takes. Refused are the others.
func (n *Node) extend(xs []*extrinsic) (b *block, refused map[*extrinsic]*fault) {
	parent := n.head()
	n.made++
	b = &block{number: parent.number + 1, up: parent, runtime: parent.runtime}
	x := &execution{node: n, runtime: parent.runtime, state: maps.Clone(parent.state)}
	records := new(records)
	x.begin(b)
	todo := n.next
	n.next = script{}
	x.before(todo)
	records.add(x, []byte{2})
	now, _ := n.readExtrinsic(parent.runtime, n.inherent(parent.runtime, b.number))
	x.state[nowKey] = u64(n.timestamp(b.number))
	b.body = []*extrinsic{now}
	x.emit("System", "ExtrinsicSuccess", dispatchInfo(0, 2, 1))
	records.add(x, append([]byte{0}, u32(0)...))
	refused = map[*extrinsic]*fault{}
	for _, one := range xs {
		if f := x.apply(one, parent); f != nil {
			refused[one] = f
			continue
		}
		records.add(x, append([]byte{0}, u32(uint32(len(b.body)))...))
		b.body = append(b.body, one)
	}
	for _, who := range todo.reap {
		if had := x.state.account(who).free; had.Sign() > 0 {
			x.take(who, had)
			x.set(issuanceKey, u128(new(big.Int).Sub(x.state.issuance(), had)))
		}
	}
	records.add(x, []byte{1})
	x.state[eventsKey] = concat(scale.AppendCompact(nil, records.count), records.bytes)
	x.state[eventCountKey] = u32(uint32(records.count))
	b.state, b.runtime = x.state, x.state.runtime()
	b.logs = [][]byte{concat([]byte{6}, []byte("test"), scale.AppendBlob(nil, u64(n.made)))} // else twins have one hash
	if string(parent.state[codeKey]) != string(b.state[codeKey]) {
		b.logs = append(b.logs, []byte{8}) // RuntimeEnvironmentUpdated
	}
	b.seal()
	n.known[b.hash] = b
	n.best = append(n.best, b)
	return b, refused
}

// begin does what a runtime does at the beginning of a block.
func (x *execution) begin(b *block) {
	x.state[numberKey] = u32(b.number)
	x.state[parentKey] = b.up.hash[:]
	x.state[blockHashKey(b.number-1)] = b.up.hash[:]
	if b.number > blockHashes+1 {
		delete(x.state, blockHashKey(b.number-1-blockHashes))
	}
}

func (x *execution) before(todo script) {
	for _, f := range todo.fund {
		x.mint(f.who, f.amount)
		x.emit("Balances", "Deposit", []byte(f.who), u128(f.amount))
	}
	if todo.authorize != nil {
		x.set(authorizedKey, concat(todo.authorize, []byte{1}))
		x.emit("System", "UpgradeAuthorized", todo.authorize, []byte{1})
	}
	if todo.upgrade != nil {
		x.set(codeKey, todo.upgrade.Code())
		x.emit("System", "CodeUpdated")
	}
}

// apply carries out a transaction. A fault is why a block cannot have it.
func (x *execution) apply(one *extrinsic, parent *block) *fault {
	if f := x.node.validate(one, parent, x.state); f != nil {
		return f
	}
	a := x.state.account(one.from)
	if one.nonce > a.nonce {
		return faultFuture
	}
	a.nonce++
	x.set(accountKey(one.from), a.encode())
	total := fee(len(one.raw))
	x.pay(one.from, total.Add(total, one.tip), one.tip)
	info := dispatchInfo(int64(len(one.raw)), 0, 0)
	if failed := x.layer(func() failure { return x.do(one.from, one.call) }); failed != nil {
		x.emit("System", "ExtrinsicFailed", failed, info)
	} else {
		x.emit("System", "ExtrinsicSuccess", info)
	}
	x.undo = nil
	return nil
}

// dispatchInfo is a DispatchInfo: weight, class, and whether it pays.
func dispatchInfo(weight int64, class, free byte) []byte {
	return append(scale.AppendCompact(scale.AppendCompact(nil, uint64(weight)), 0), class, free)
}

// records is the list of a block's events.
type records struct {
	count uint64
	bytes []byte
}

// add moves the events that there are to the list, with their phase.
func (r *records) add(x *execution, phase []byte) {
	for _, e := range x.events {
		r.bytes = append(append(append(r.bytes, phase...), e...), 0)
		r.count++
	}
	x.events = nil
}

// inherent is the first extrinsic of a block, which says the time.
func (n *Node) inherent(r Runtime, number uint32) []byte {
	for _, p := range n.pallets(r) {
		if p.name == "Timestamp" {
			body := scale.AppendCompact([]byte{4, p.index, 0}, n.timestamp(number))
			return scale.AppendBlob(nil, body)
		}
	}
	panic(fmt.Sprint("substratetest: no Timestamp in ", r))
}

// timestamp is the time of a block, in milliseconds: one each six seconds.
func (n *Node) timestamp(number uint32) uint64 { return 1_750_000_000_000 + 6_000*uint64(number) }
