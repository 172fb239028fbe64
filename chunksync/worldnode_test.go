package chunksync

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/fence"
)

// A world's nodes have the real promise and machine, and simulated disks and connections.

func (n *worldNode) lead() {
	w := n.w
	w.epoch++
	l := &worldLeader{
		n: n, life: n.life, tenure: Tenure{w.epoch, fence.Term{byte(w.epoch), byte(n.id)}},
		sending: map[string]catalog{}, waiting: map[string]Version{},
	}
	set := settings{
		Copies: w.copies, Grace: 200 * time.Millisecond, Repair: time.Second,
		RetryMin: 20 * time.Millisecond, RetryMax: 300 * time.Millisecond, Parallel: 2,
	}
	for _, other := range w.nodes {
		if other != n {
			set.Peers = append(set.Peers, strconv.Itoa(other.id))
		}
	}
	l.m = newMachine(set)
	p, err := n.promise.raise(l.tenure, "")
	if err != nil {
		return
	}
	n.promise = p
	if !n.whole(n.catalog) {
		return
	}
	n.leads = append(n.leads, l)
	l.step(begin{n.promise.Held})
}

// counted counts takeovers that needed the answer of a damaged peer.
func (l *worldLeader) counted() {
	whole := 0
	for _, p := range l.m.peers {
		if p.promised && !p.damaged {
			whole++
		}
	}
	if whole < l.m.set.Need() {
		l.n.w.counted++
	}
}

// take does what Store.take does, in memory.
func (n *worldNode) take(c catalog) (missing []Hash, held Version, err error) {
	p, err := n.promise.raise(c.Tenure, "")
	if err != nil {
		n.w.refusals++
		return nil, p.Held, err
	}
	n.promise = p
	fresh := p.fresh(c.Version())
	if !fresh {
		c = n.catalog // chunks that rotted are missing again
	}
	missing = n.missing(c)
	if len(missing) > 0 {
		n.offered = c.chunks()
		return missing[:min(len(missing), 3)], p.Held, nil
	}
	if fresh {
		n.commit(c)
	}
	return nil, n.promise.Held, nil
}

func (n *worldNode) missing(c catalog) (missing []Hash) {
	for _, name := range c.names() {
		for _, h := range c.Files[name].Chunks {
			if _, there := n.have[h]; !there && !slices.Contains(missing, h) {
				missing = append(missing, h)
			}
		}
	}
	return missing
}

func (n *worldNode) whole(c catalog) bool {
	for _, f := range c.Files {
		for _, h := range f.Chunks {
			if _, there := n.have[h]; !there {
				return false
			}
		}
	}
	return true
}

// rot removes a chunk, which the node notices at once, unless it has no peers to restore it.
func (n *worldNode) rot() {
	chunks := slices.SortedFunc(maps.Keys(n.catalog.chunks()), func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	if len(chunks) == 0 || len(n.w.nodes) == 1 {
		return
	}
	h := chunks[n.w.rng.IntN(len(chunks))]
	delete(n.have, h)
	n.rotten[h] = struct{}{}
}

func (n *worldNode) commit(c catalog) {
	w := n.w
	if c.Version().Compare(n.catalog.Version()) <= 0 {
		w.wrong("node %d goes back from %s to %s", n.id, n.catalog.Version(), c.Version())
	}
	made, known := w.made[c.Version()]
	own := slices.ContainsFunc(n.leads, func(l *worldLeader) bool { return l.tenure == c.Tenure })
	switch {
	case !known && own:
		w.made[c.Version()] = c
		if c.Seq == 0 {
			w.begin(c)
		}
	case !made.sameAs(c):
		w.wrong("node %d holds another catalog %s than its leader made", n.id, c.Version())
	}
	n.catalog, n.promise.Held, n.offered = c, c.Version(), nil
	keep := c.chunks()
	for _, l := range n.leads {
		for _, s := range l.sending {
			maps.Copy(keep, s.chunks())
		}
	}
	maps.DeleteFunc(n.have, func(h Hash, _ struct{}) bool { _, kept := keep[h]; return !kept })
	for h := range c.chunks() {
		if _, there := n.have[h]; !there {
			w.wrong("node %d shows %s without its content", n.id, c.Version())
		}
	}
}

// begin checks that a new leader's first catalog has all acknowledged files.
func (w *world) begin(c catalog) {
	w.begun[c.Tenure.Epoch] = c
	for name, epoch := range w.acked {
		w.kept(name, epoch, c)
	}
}

func (w *world) kept(name string, epoch int64, c catalog) {
	_, removed := w.gone[name]
	if _, there := c.Files[name]; !there && !removed && epoch < c.Tenure.Epoch && w.copies > 0 {
		w.wrong("%s was acknowledged in epoch %d, and epoch %d begins without it", name, epoch, c.Tenure.Epoch)
	}
}

func (l *worldLeader) alive() bool { return !l.over && l.n.up && l.life == l.n.life }

func (l *worldLeader) step(in input) {
	if !l.alive() {
		return
	}
	w := l.n.w
	for _, a := range l.m.Step(w.now, in) {
		l.do(a)
	}
	for _, name := range slices.Sorted(maps.Keys(l.waiting)) {
		if l.m.Holders(l.waiting[name]) >= w.copies {
			delete(l.waiting, name)
			w.acks++
			w.acked[name] = l.tenure.Epoch
			for epoch := l.tenure.Epoch + 1; epoch <= w.epoch; epoch++ {
				if c, begun := w.begun[epoch]; begun {
					w.kept(name, l.tenure.Epoch, c)
				}
			}
		}
	}
	if at := l.m.Next(); at != 0 {
		w.after(max(at.Sub(w.now), 1), func() { l.step(tick{}) })
	}
}

func (l *worldLeader) do(a action) {
	w := l.n.w
	switch a := a.(type) {
	case ask:
		l.call(a.Peer, true, func(n *worldNode) input {
			p, err := n.promise.raise(l.tenure, "")
			if err != nil {
				w.refusals++
				return deposed{}
			}
			n.promise = p
			return promised{a.Peer, p.Held, !n.whole(n.catalog)}
		})
	case adopt:
		l.adopt(a)
	case offer:
		base, known := w.made[l.m.Held(a.Peer)]
		c, under := l.sending[a.Peer]
		if !under || c.Version() != a.Version {
			c = l.n.catalog
			if c.Tenure != l.tenure {
				w.after(1, func() { l.step(deposed{}) })
				return
			}
			if !l.n.whole(c) {
				l.over = true // it resigns
				return
			}
			l.sending[a.Peer] = c
		}
		l.call(a.Peer, true, func(n *worldNode) input {
			next := c
			if known && base.Tenure == c.Tenure {
				if by := w.changeOf(base, c); by.follows(n.catalog) {
					w.changes++
					if base.Version() != n.catalog.Version() {
						w.passed++
					}
					next = n.catalog.after(by)
				}
			}
			missing, held, err := n.take(next)
			switch {
			case err != nil:
				return deposed{}
			case len(missing) > 0:
				return lacking{a.Peer, missing}
			}
			return took{a.Peer, held}
		})
	case send:
		if _, there := l.n.have[a.Chunk]; !there {
			if _, rotten := l.n.rotten[a.Chunk]; !rotten {
				w.wrong("node %d has swept what it sends", l.n.id)
			}
			l.over = true // it resigns
			return
		}
		l.call(a.Peer, false, func(n *worldNode) input {
			if _, err := n.promise.raise(l.tenure, ""); err != nil {
				return deposed{}
			}
			if _, wanted := n.offered[a.Chunk]; !wanted {
				return failed{a.Peer, w.rng.Float64()}
			}
			if _, rotten := n.rotten[a.Chunk]; rotten {
				w.repairs++
			}
			n.have[a.Chunk] = struct{}{}
			return sent{a.Peer}
		})
	case resign:
		l.over = true
	}
}

// changeOf returns the change between two catalogs of a leader, as Store.changeSince does.
func (w *world) changeOf(base, c catalog) change {
	by := difference(base, c)
	for v := base; v.Seq < c.Seq; {
		next := w.made[Version{v.Tenure.Epoch, v.Seq + 1}]
		for name := range difference(v, next).Files {
			if f, there := c.Files[name]; there {
				by.Files[name] = &f
			} else {
				by.Files[name] = nil
			}
		}
		v = next
	}
	return by
}

// call is one exchange. It may get lost on the way there or back, or arrive again later.
// whole says that nothing else is in transit to that peer.
func (l *worldLeader) call(peer string, whole bool, handle func(*worldNode) input) {
	w := l.n.w
	id, _ := strconv.Atoi(peer)
	n, there, back := w.nodes[id], w.some(40*time.Millisecond), w.some(40*time.Millisecond)
	lost := func() {
		w.after(150*time.Millisecond, func() {
			if whole {
				delete(l.sending, peer)
			}
			l.step(failed{peer, w.rng.Float64()})
		})
	}
	if w.chance(5) {
		w.after(w.some(3*time.Second), func() { // a late duplicate
			if n.up {
				handle(n)
			}
		})
	}
	w.after(there, func() {
		if !n.up || w.cut[[2]int{l.n.id, id}] || w.chance(5) {
			lost()
			return
		}
		in := handle(n)
		if w.cut[[2]int{id, l.n.id}] || w.chance(5) {
			lost()
			return
		}
		w.after(back, func() {
			if _, done := in.(took); done {
				delete(l.sending, peer)
			}
			l.step(in)
		})
	})
}

func (l *worldLeader) adopt(a adopt) {
	w := l.n.w
	take := func(files map[string]File, have map[Hash]struct{}) {
		if !l.alive() {
			return
		}
		maps.Copy(l.n.have, have)
		switch missing, held, err := l.n.take(catalog{Tenure: l.tenure, Files: files}); {
		case err != nil:
			l.step(deposed{})
		case len(missing) > 0:
			l.over = true // it resigns
		default:
			l.counted()
			l.step(adopted{held})
		}
	}
	if a.Peer == "" {
		w.after(w.some(20*time.Millisecond), func() { take(l.n.catalog.Files, nil) })
		return
	}
	id, _ := strconv.Atoi(a.Peer)
	n := w.nodes[id]
	w.after(w.some(200*time.Millisecond), func() {
		if !n.up || w.cut[[2]int{l.n.id, id}] || w.chance(20) || n.catalog.Version() != a.Version || !n.whole(n.catalog) {
			l.step(unadopted{a.Peer, w.rng.Float64()})
			return
		}
		w.found++
		take(n.catalog.Files, n.catalog.chunks())
	})
}
