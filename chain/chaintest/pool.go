package chaintest

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/conchhq/conch/chain"
)

// minRaise is how many percent more a replacement has to pay, in both parts of the fee.
const minRaise = 10

// pool has the transactions that wait, by slot. The node's lock guards it.
type pool struct {
	node  *Node
	slots map[slot]*pooled
	by    map[chain.Hash]slot
	count map[chain.Account]int
	costs map[chain.Account]*big.Int // the most that the account's transactions cost together
	seen  uint64
}

type slot struct {
	account chain.Account
	index   uint64
}

type pooled struct {
	transaction
	signed chain.Signed
	seen   uint64
}

func newPool(n *Node) *pool {
	return &pool{node: n, slots: map[slot]*pooled{}, by: map[chain.Hash]slot{}, count: map[chain.Account]int{}, costs: map[chain.Account]*big.Int{}}
}

func (p *pool) has(h chain.Hash) bool {
	_, has := p.by[h]
	return has
}

// add checks a transaction in the order of go-ethereum, and adds it to the pool.
func (p *pool) add(raw []byte) chain.Outcome {
	one, ok := p.node.read(raw)
	if !ok {
		return chain.Outcome{Verdict: chain.Invalid, Text: "cannot be decoded"}
	}
	tx, signed := one.transaction, one.signed
	next := p.node.head().states[tx.account()].next
	at := slot{tx.account(), tx.Index}
	old := p.slots[at]
	crowded := old == nil && p.node.cfg.PerAccount > 0 && p.count[tx.account()] >= p.node.cfg.PerAccount
	switch {
	case p.has(signed.Hash):
		return chain.Outcome{Verdict: chain.Known, Text: "already known"}
	case tx.Chain != p.node.cfg.ID:
		return chain.Outcome{Verdict: chain.Refused, Text: "invalid chain id"}
	case p.node.banned[signed.Hash]:
		return chain.Outcome{Verdict: chain.Outworn, Text: "temporarily banned"}
	case p.node.outworn(tx) != "": // before the nonce, as a signature is checked before it
		return chain.Outcome{Verdict: chain.Outworn, Text: p.node.outworn(tx)}
	case tx.Gas > p.node.cfg.BlockGas || tx.Gas < tx.needs():
		return chain.Outcome{Verdict: chain.Invalid, Text: "gas out of range"}
	case tx.Tip.Cmp(big.NewInt(p.node.cfg.MinTip)) < 0:
		return chain.Outcome{Verdict: chain.FeeTooLow, Text: "tip below minimum"}
	case tx.Index < next:
		return chain.Outcome{Verdict: chain.IndexTooLow, Text: "nonce too low"}
	case p.committed(at).Cmp(new(big.Int).Sub(p.node.balance(tx.account(), p.node.head()), tx.cost())) > 0:
		return chain.Outcome{Verdict: chain.NoFunds, Text: "insufficient funds"}
	case old != nil && !replaces(tx, old.transaction):
		return chain.Outcome{Verdict: chain.Underpriced, Text: "replacement underpriced"}
	case crowded && p.last(at) == at:
		return chain.Outcome{Verdict: chain.Full, Text: "account limit exceeded"}
	case old == nil && p.node.cfg.Pool > 0 && len(p.slots) >= p.node.cfg.Pool:
		p.node.lost = append(p.node.lost, signed)
		return chain.Outcome{Verdict: chain.Accepted} // real nodes lie in the same way
	}
	if crowded {
		p.drop(p.last(at))
	}
	costs := p.committed(at)
	if old != nil {
		p.remove(old.signed.Hash)
	}
	p.costs[tx.account()] = costs.Add(costs, tx.cost())
	p.seen++
	p.slots[at] = &pooled{tx, signed, p.seen}
	p.by[signed.Hash] = at
	p.count[tx.account()]++
	return chain.Outcome{Verdict: chain.Accepted}
}

// last returns the highest slot of the account, including the slot to.
func (p *pool) last(to slot) slot {
	last := to
	for at := range p.slots {
		if at.account == to.account && at.index > last.index {
			last = at
		}
	}
	return last
}

// drop silently removes an accepted transaction, to make room for a lower nonce.
func (p *pool) drop(at slot) {
	p.node.lost = append(p.node.lost, p.slots[at].signed)
	p.remove(p.slots[at].signed.Hash)
}

// committed returns what the account's other slots in the pool may cost.
func (p *pool) committed(but slot) *big.Int {
	sum := new(big.Int)
	if p.costs[but.account] != nil {
		sum.Set(p.costs[but.account])
	}
	if old := p.slots[but]; old != nil {
		sum.Sub(sum, old.cost())
	}
	return sum
}

func replaces(tx, old transaction) bool {
	enough := func(now, before *big.Int) bool {
		least := new(big.Int).Mul(before, big.NewInt(100+minRaise))
		return new(big.Int).Mul(now, big.NewInt(100)).Cmp(least) >= 0
	}
	return enough(tx.Max, old.Max) && enough(tx.Tip, old.Tip)
}

// ready returns the transactions of the next block, by arrival, each account's by nonce.
func (p *pool) ready() (txs []chain.Signed) {
	next := map[chain.Account]*pooled{}
	step := func(a chain.Account, index uint64) {
		delete(next, a)
		if tx := p.slots[slot{a, index}]; tx != nil && tx.Max.Cmp(p.node.baseFee) >= 0 && p.node.outworn(tx.transaction) == "" {
			next[a] = tx
		}
	}
	for a := range p.count {
		step(a, p.node.head().states[a].next)
	}
	for gas := uint64(0); len(next) > 0; {
		var first *pooled
		for _, tx := range next {
			if first == nil || tx.seen < first.seen {
				first = tx
			}
		}
		if gas += first.needs(); gas > p.node.cfg.BlockGas {
			break
		}
		txs = append(txs, first.signed)
		step(first.account(), first.Index+1)
	}
	return txs
}

// prune removes transactions whose slot is used in the best chain, and silently drops those that have worn out.
func (p *pool) prune() {
	var worn []*pooled
	for at, tx := range p.slots {
		if at.index < p.node.head().states[at.account].next {
			p.remove(tx.signed.Hash)
		} else if p.node.outworn(tx.transaction) != "" {
			worn = append(worn, tx)
		}
	}
	slices.SortFunc(worn, func(a, b *pooled) int { return cmp.Compare(a.seen, b.seen) }) // a map has no order, and a seed has one
	for _, tx := range worn {
		p.drop(slot{tx.account(), tx.Index})
	}
}

func (p *pool) remove(h chain.Hash) (chain.Signed, bool) {
	at, has := p.by[h]
	if !has {
		return chain.Signed{}, false
	}
	signed := p.slots[at].signed
	p.costs[at.account].Sub(p.costs[at.account], p.slots[at].cost())
	delete(p.slots, at)
	delete(p.by, h)
	if p.count[at.account]--; p.count[at.account] == 0 {
		delete(p.count, at.account)
		delete(p.costs, at.account)
	}
	return signed, true
}

// clear empties the pool and returns its transactions, by arrival.
func (p *pool) clear() []chain.Signed {
	var all []*pooled
	for _, tx := range p.slots {
		all = append(all, tx)
	}
	slices.SortFunc(all, func(a, b *pooled) int { return int(a.seen) - int(b.seen) })
	var txs []chain.Signed
	for _, tx := range all {
		txs = append(txs, tx.signed)
		p.remove(tx.signed.Hash)
	}
	return txs
}
