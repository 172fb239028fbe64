package substratetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/chain/substrate/scale"
)

// bannedFor is how long a node refuses bytes that were in a block, or that it has thrown out of its pool.
const bannedFor = 30 * time.Minute

// finalityPatience is for how many blocks a stream waits for finality.
const finalityPatience = 512

// pool has the transactions that wait. The node's lock guards it.
type pool struct {
	node   *Node
	ready  map[slot]*pooled // an account's are consecutive, from its nonce on
	future map[[32]byte]*pooled
	by     map[[32]byte]*pooled
	banned map[[32]byte]time.Time // until when
	seen   uint64
}

type slot struct {
	from  string
	nonce uint32
}

type pooled struct {
	*extrinsic
	priority, seen uint64
}

func (p *pooled) slot() slot { return slot{p.from, p.nonce} }

func newPool(n *Node) *pool {
	return &pool{node: n, ready: map[slot]*pooled{}, future: map[[32]byte]*pooled{}, by: map[[32]byte]*pooled{}, banned: map[[32]byte]time.Time{}}
}

// submit takes bytes from a client, as a node does.
func (p *pool) submit(raw []byte, chopsticks bool) (*extrinsic, *rpcError) {
	d := scale.NewDecoder(raw)
	if d.Blob(); d.Done() != nil {
		return nil, &rpcError{Code: 1001, Message: "Extrinsic has invalid format: " + d.Err().Error()}
	}
	head := p.node.head()
	x, err := p.node.readExtrinsic(head.runtime, raw)
	if err != nil {
		return nil, &rpcError{Code: 1002, Message: "Verification Error: Runtime error: Execution failed: Execution aborted due to trap", Data: "RuntimeApi(\"" + err.Error() + "\")"}
	}
	switch {
	case p.isBanned(x.hash):
		return nil, &rpcError{Code: 1012, Message: "Transaction is temporarily banned"}
	case p.by[x.hash] != nil:
		return nil, &rpcError{Code: 1013, Message: "Transaction Already Imported", Data: hexed(x.hash[:])}
	}
	if f := p.node.validate(x, head, head.state); f != nil {
		p.ban(x.hash)
		return nil, f.refusal(chopsticks)
	}
	return x, p.add(x)
}

// add takes what is valid into the ready queue, or into the future one if a nonce before it is missing.
func (p *pool) add(x *extrinsic) *rpcError {
	p.seen++
	one := &pooled{extrinsic: x, priority: p.node.priority(x), seen: p.seen}
	if old := p.ready[one.slot()]; old != nil && p.isNext(one) {
		if one.priority <= old.priority {
			return &rpcError{Code: 1014, Message: fmt.Sprintf("Priority is too low: (%d vs %d)", old.priority, one.priority), Data: "The transaction has too low priority to replace another transaction already in the pool."}
		}
	}
	p.by[x.hash] = one
	p.place(one)
	p.limit()
	if p.by[x.hash] == nil {
		return &rpcError{Code: 1016, Message: "Immediately Dropped", Data: "The transaction couldn't enter the pool because of the limit"}
	}
	return nil
}

// isNext reports whether the nonces before a transaction are all there.
func (p *pool) isNext(one *pooled) bool {
	return one.nonce == p.node.head().state.account(one.from).nonce || one.nonce > 0 && p.ready[slot{one.from, one.nonce - 1}] != nil
}

// place puts a transaction of the pool into the queue where it belongs, and then those that wait for it.
func (p *pool) place(one *pooled) {
	if !p.isNext(one) {
		p.future[one.hash] = one
		p.node.status(one.hash, "future", false)
		return
	}
	delete(p.future, one.hash)
	if old := p.ready[one.slot()]; old != nil && old != one {
		if one.priority <= old.priority { // two were in the future queue
			p.remove(one)
			p.node.status(one.hash, "invalid", true)
			return
		}
		p.remove(old)
		p.node.status(old.hash, map[string]any{"usurped": hexed(one.hash[:])}, true)
	}
	p.ready[one.slot()] = one
	p.node.status(one.hash, "ready", false)
	p.node.status(one.hash, map[string]any{"broadcast": []string{"12D3KooWSubstratetest"}}, false)
	for _, waits := range p.sorted(p.future) {
		if waits.from == one.from && waits.nonce == one.nonce+1 {
			p.place(waits)
		}
	}
}

// limit drops what has no room: the least priority, and of equals the newest.
func (p *pool) limit() {
	for len(p.ready) > p.node.cfg.Ready {
		var worst *pooled
		for _, one := range p.ready {
			if worst == nil || cmp.Or(cmp.Compare(one.priority, worst.priority), cmp.Compare(worst.seen, one.seen)) < 0 {
				worst = one
			}
		}
		p.throw(worst, "dropped")
	}
	for len(p.future) > p.node.cfg.Future {
		p.throw(slices.MaxFunc(p.sorted(p.future), func(a, b *pooled) int { return cmp.Compare(a.seen, b.seen) }), "dropped")
	}
}

// throw removes a transaction for which there is no place any more, and bans its bytes.
func (p *pool) throw(one *pooled, status string) {
	p.remove(one)
	p.ban(one.hash)
	p.node.status(one.hash, status, true)
	p.demote(one)
}

// demote moves to the future queue what was ready because of one that is gone.
func (p *pool) demote(gone *pooled) {
	for nonce := gone.nonce + 1; ; nonce++ {
		next := p.ready[slot{gone.from, nonce}]
		if next == nil {
			return
		}
		delete(p.ready, next.slot())
		p.future[next.hash] = next
		p.node.status(next.hash, "future", false)
	}
}

func (p *pool) remove(one *pooled) {
	delete(p.by, one.hash)
	delete(p.future, one.hash)
	if p.ready[one.slot()] == one {
		delete(p.ready, one.slot())
	}
}

func (p *pool) ban(hash [32]byte) { p.banned[hash] = p.node.now().Add(bannedFor) }

func (p *pool) isBanned(hash [32]byte) bool {
	until, is := p.banned[hash]
	if is && !p.node.now().Before(until) {
		delete(p.banned, hash)
		return false
	}
	return is
}

func (p *pool) sorted(some map[[32]byte]*pooled) []*pooled {
	all := make([]*pooled, 0, len(some))
	for _, one := range some {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *pooled) int { return cmp.Compare(a.seen, b.seen) })
	return all
}

// settle judges the pool anew for the head of the best chain.
func (p *pool) settle() {
	head := p.node.head()
	all := p.sorted(p.by)
	were := p.ready
	p.ready = map[slot]*pooled{}
	slices.SortStableFunc(all, func(a, b *pooled) int { return cmp.Compare(a.nonce, b.nonce) })
	for _, one := range all {
		x, err := p.node.readExtrinsic(head.runtime, one.raw)
		if err == nil {
			x.proven = one.proven
			one.extrinsic = x
		}
		if err != nil || p.node.validate(x, head, head.state) != nil {
			p.throw(one, "invalid")
			continue
		}
		if were[one.slot()] == one && p.isNext(one) {
			p.ready[one.slot()] = one // and says nothing
		} else if p.future[one.hash] == nil || p.isNext(one) {
			p.place(one)
		}
	}
}

// block returns the ready transactions in the order in which a block takes them: by priority, each account's by nonce.
func (p *pool) block() (xs []*extrinsic) {
	var heads []*pooled
	for _, one := range p.ready {
		if one.nonce == 0 || p.ready[slot{one.from, one.nonce - 1}] == nil {
			heads = append(heads, one)
		}
	}
	room := blockLength
	for len(heads) > 0 && len(xs) < p.node.cfg.PerBlock {
		at := 0
		for i, one := range heads {
			if cmp.Or(cmp.Compare(heads[at].priority, one.priority), cmp.Compare(one.seen, heads[at].seen)) < 0 {
				at = i
			}
		}
		one := heads[at]
		if room -= len(one.raw); room < 0 {
			break
		}
		xs = append(xs, one.extrinsic)
		if next := p.ready[slot{one.from, one.nonce + 1}]; next != nil {
			heads[at] = next
		} else {
			heads = slices.Delete(heads, at, at+1)
		}
	}
	return xs
}
