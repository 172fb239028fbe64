package substratetest

import (
	"slices"
	"strconv"

	"github.com/conchhq/conch/chain/substrate/scale"
)

func hexNumber(v uint64) string { return "0x" + strconv.FormatUint(v, 16) }

func submitExtrinsic(q *query) any {
	raw := q.bytes(0)
	if q.err != nil {
		return nil
	}
	x, refused := q.node().pool.submit(raw, q.node().cfg.Chopsticks)
	if q.err = refused; refused != nil {
		return nil
	}
	return hexed(x.hash[:])
}

// submitAndWatch begins the watch before it submits, so that it misses nothing.
func submitAndWatch(q *query) any {
	raw := q.bytes(0)
	if q.err != nil {
		return nil
	}
	n := q.node()
	id, s := q.subscribe("author_extrinsicUpdate")
	if s == nil {
		return nil
	}
	s.hash = Hash(raw)
	w := n.watched[s.hash]
	if w == nil {
		w = &watch{}
	}
	// Nobody else hears anything from what follows if it is refused: what is known or banned changes nothing.
	n.watched[s.hash] = &watch{subscriptions: append(slices.Clip(w.subscriptions), s), in: w.in}
	if _, refused := n.pool.submit(raw, n.cfg.Chopsticks); refused != nil {
		q.err, q.begun = refused, nil
		n.forget(s)
		return nil
	}
	return id
}

func pendingExtrinsics(q *query) any {
	n := q.node()
	all := []string{}
	for _, one := range n.pool.sorted(n.pool.by) {
		if n.pool.future[one.hash] == nil {
			all = append(all, hexed(one.raw))
		}
	}
	return all
}

// removeExtrinsic throws out of the pool what is named by {"hash": …} or {"extrinsic": …}.
func removeExtrinsic(q *query) any {
	var named []struct {
		Hash      string `json:"hash"`
		Extrinsic string `json:"extrinsic"`
	}
	q.arg(0, &named)
	removed := []string{}
	for _, one := range named {
		hash := Hash(nil)
		if one.Extrinsic != "" {
			hash = Hash(q.unhex(one.Extrinsic))
		} else if b := q.unhex(one.Hash); len(b) == len(hash) {
			hash = [32]byte(b)
		}
		if had := q.node().pool.by[hash]; had != nil && q.err == nil {
			q.node().pool.throw(had, "invalid")
			removed = append(removed, hexed(hash[:]))
		}
	}
	return removed
}

// nextIndex returns the nonce behind those that are ready in the pool.
func nextIndex(q *query) any {
	var text string
	q.arg(0, &text)
	who, ok := q.node().readAccount(text)
	if !ok {
		q.fail(-32602, "Invalid params: not an account of this chain")
		return nil
	}
	nonce := q.view.head.state.account(who).nonce
	for q.node().pool.ready[slot{who, nonce}] != nil {
		nonce++
	}
	return nonce
}

// weight of an extrinsic, as dispatchInfo has it.
func queryInfo(q *query) any {
	raw, at := q.bytes(0), q.state(1)
	if _, err := q.node().readExtrinsic(at.runtime, raw); err != nil {
		q.fail(1, "Unable to query dispatch info.")
		return nil
	}
	return map[string]any{
		"weight": map[string]any{"ref_time": len(raw), "proof_size": 0}, "class": "normal", "partialFee": fee(len(raw)).String(),
	}
}

// runtimeCall calls a function of the runtime's interface.
func runtimeCall(q *query) any {
	var name string
	q.arg(0, &name)
	input, at := q.bytes(1), q.state(2)
	if q.err != nil {
		return nil
	}
	if output, ok := q.node().perform(name, input, at); ok {
		return hexed(output)
	}
	q.fail(4003, "Client error: Execution failed: %s", "Execution aborted due to trap: "+strconv.QuoteToASCII(name[:min(len(name), 80)]))
	return nil
}

// perform carries out a function of the runtime after a block. What cannot be decoded is a trap.
func (n *Node) perform(name string, input []byte, at *block) (output []byte, ok bool) {
	d := scale.NewDecoder(input)
	switch name {
	case "Core_version":
		output = n.version(at.runtime)
	case "Metadata_metadata":
		output = scale.AppendBlob(nil, n.metadata(at.runtime, metadataVersions[0]))
	case "Metadata_metadata_versions":
		output = scale.AppendCompact(nil, uint64(len(metadataVersions)))
		for _, v := range metadataVersions {
			output = append(output, u32(v)...)
		}
	case "Metadata_metadata_at_version":
		output = []byte{0}
		for want, v := d.U32(), uint32(0); len(metadataVersions) > int(v); v++ {
			if metadataVersions[v] == want {
				output = scale.AppendBlob([]byte{1}, n.metadata(at.runtime, want))
			}
		}
	case "AccountNonceApi_account_nonce":
		output = u32(at.state.account(string(d.Bytes(n.cfg.accountSize()))).nonce)
	case "TransactionPaymentApi_query_info":
		x, err := n.readExtrinsic(at.runtime, input[:max(len(input)-4, 0)])
		if err != nil {
			return nil, false
		}
		d.Bytes(len(x.raw))
		length := d.U32()
		output = concat(scale.AppendCompact(scale.AppendCompact(nil, uint64(len(x.raw))), 0), []byte{0}, u128(fee(int(length))))
	case "TaggedTransactionQueue_validate_transaction":
		return n.validity(d, at)
	default:
		return nil, false
	}
	return output, d.Done() == nil
}

// validity is what validate_transaction answers: of a source, an extrinsic and the hash of the block.
func (n *Node) validity(d *scale.Decoder, at *block) ([]byte, bool) {
	source := d.Byte()
	raw := d.Bytes(d.Left() - 32)
	d.Bytes(32)
	if d.Done() != nil || source > 2 {
		return nil, false
	}
	x, err := n.readExtrinsic(at.runtime, raw)
	if err != nil {
		return nil, false
	}
	if f := n.validate(x, at, at.state); f != nil {
		return f.encode(), true
	}
	tag := func(nonce uint32) []byte { return scale.AppendBlob(nil, concat([]byte(x.from), u32(nonce))) }
	requires := []byte{0}
	if x.nonce > at.state.account(x.from).nonce {
		requires = append([]byte{1 << 2}, tag(x.nonce-1)...)
	}
	return concat([]byte{0}, u64(n.priority(x)), requires, []byte{1 << 2}, tag(x.nonce), u64(x.longevity(uint64(at.number)+1)), []byte{1}), true
}
