package chunksync

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/conchhq/conch/fence"
)

// What the nodes of a world do. A node decides with the Keeper and a leader with the
// Machine, as in life; the disk and the line are played.

func (n *dweller) lead() {
	w := n.w
	w.epoch++
	r := &reigning{
		n: n, life: n.life, reign: Reign{w.epoch, fence.Term{byte(w.epoch), byte(n.id)}},
		sending: map[string]Catalog{}, waiting: map[string]Version{},
	}
	set := Settings{
		Copies: w.copies, Grace: 200 * time.Millisecond, Repair: time.Second,
		RetryMin: 20 * time.Millisecond, RetryMax: 300 * time.Millisecond, Parallel: 2,
	}
	for _, other := range w.nodes {
		if other != n {
			set.Peers = append(set.Peers, strconv.Itoa(other.id))
		}
	}
	r.m = NewMachine(set)
	k, err := n.keeper.Hear(r.reign, "")
	if err != nil {
		return
	}
	n.keeper = k
	if !n.whole(n.catalog) {
		return
	}
	n.leads = append(n.leads, r)
	r.step(Begin{n.keeper.Held})
}

// counted notes a takeover that only damaged peers made possible.
func (r *reigning) counted() {
	whole := 0
	for _, p := range r.m.peers {
		if p.voted && !p.hurt {
			whole++
		}
	}
	if whole < r.m.set.Need() {
		r.n.w.counted++
	}
}

// take is Store.take in memory.
func (n *dweller) take(c Catalog) (missing []Hash, held Version, err error) {
	k, err := n.keeper.Hear(c.Reign, "")
	if err != nil {
		n.w.refusals++
		return nil, k.Held, err
	}
	n.keeper = k
	fresh := k.Fresh(c.Version())
	if !fresh {
		c = n.catalog // what rotted of it is missing again
	}
	missing = n.missing(c)
	if len(missing) > 0 {
		n.offered = c.chunks()
		return missing[:min(len(missing), 3)], k.Held, nil
	}
	if fresh {
		n.commit(c)
	}
	return nil, n.keeper.Held, nil
}

func (n *dweller) missing(c Catalog) (missing []Hash) {
	for _, name := range c.names() {
		for _, h := range c.Files[name].Chunks {
			if _, there := n.have[h]; !there && !slices.Contains(missing, h) {
				missing = append(missing, h)
			}
		}
	}
	return missing
}

func (n *dweller) whole(c Catalog) bool {
	for _, f := range c.Files {
		for _, h := range f.Chunks {
			if _, there := n.have[h]; !there {
				return false
			}
		}
	}
	return true
}

// rot takes a chunk away, which is noticed at once. A node alone goes on without it,
// and is another story.
func (n *dweller) rot() {
	chunks := slices.SortedFunc(maps.Keys(n.catalog.chunks()), func(a, b Hash) int { return bytes.Compare(a[:], b[:]) })
	if len(chunks) == 0 || len(n.w.nodes) == 1 {
		return
	}
	h := chunks[n.w.rng.IntN(len(chunks))]
	delete(n.have, h)
	n.rotten[h] = struct{}{}
}

func (n *dweller) commit(c Catalog) {
	w := n.w
	if c.Version().Compare(n.catalog.Version()) <= 0 {
		w.wrong("node %d goes back from %s to %s", n.id, n.catalog.Version(), c.Version())
	}
	made, known := w.made[c.Version()]
	own := slices.ContainsFunc(n.leads, func(r *reigning) bool { return r.reign == c.Reign })
	switch {
	case !known && own:
		w.made[c.Version()] = c
		if c.Seq == 0 {
			w.begin(c)
		}
	case !made.sameAs(c):
		w.wrong("node %d holds another %s than its leader made", n.id, c.Version())
	}
	n.catalog, n.keeper.Held, n.offered = c, c.Version(), nil
	keep := c.chunks()
	for _, r := range n.leads {
		for _, s := range r.sending {
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

// begin holds a new leader's first catalog against what was acknowledged.
func (w *world) begin(c Catalog) {
	w.begun[c.Reign.Epoch] = c
	for name, epoch := range w.acked {
		w.kept(name, epoch, c)
	}
}

func (w *world) kept(name string, epoch int64, c Catalog) {
	_, removed := w.gone[name]
	if _, there := c.Files[name]; !there && !removed && epoch < c.Reign.Epoch && w.copies > 0 {
		w.wrong("%s was acknowledged in epoch %d, and epoch %d begins without it", name, epoch, c.Reign.Epoch)
	}
}

func (r *reigning) alive() bool { return !r.over && r.n.up && r.life == r.n.life }

func (r *reigning) step(in Input) {
	if !r.alive() {
		return
	}
	w := r.n.w
	for _, a := range r.m.Step(w.now, in) {
		r.do(a)
	}
	for _, name := range slices.Sorted(maps.Keys(r.waiting)) {
		if r.m.Holders(r.waiting[name]) >= w.copies {
			delete(r.waiting, name)
			w.acks++
			w.acked[name] = r.reign.Epoch
			for epoch := r.reign.Epoch + 1; epoch <= w.epoch; epoch++ {
				if c, begun := w.begun[epoch]; begun {
					w.kept(name, r.reign.Epoch, c)
				}
			}
		}
	}
	if at := r.m.Next(); at != 0 {
		w.after(max(at.Sub(w.now), 1), func() { r.step(Tick{}) })
	}
}

func (r *reigning) do(a Action) {
	w := r.n.w
	switch a := a.(type) {
	case Ask:
		r.call(a.Peer, true, func(n *dweller) Input {
			k, err := n.keeper.Hear(r.reign, "")
			if err != nil {
				w.refusals++
				return Deposed{}
			}
			n.keeper = k
			return Promised{a.Peer, k.Held, !n.whole(n.catalog)}
		})
	case Adopt:
		r.adopt(a)
	case Offer:
		c, under := r.sending[a.Peer]
		if !under || c.Version() != a.Version {
			c = r.n.catalog
			if c.Reign != r.reign {
				w.after(1, func() { r.step(Deposed{}) })
				return
			}
			if !r.n.whole(c) {
				r.over = true // it resigns
				return
			}
			r.sending[a.Peer] = c
		}
		r.call(a.Peer, true, func(n *dweller) Input {
			missing, held, err := n.take(c)
			switch {
			case err != nil:
				return Deposed{}
			case len(missing) > 0:
				return Missing{a.Peer, missing}
			}
			return Took{a.Peer, held}
		})
	case Send:
		if _, there := r.n.have[a.Chunk]; !there {
			if _, rotten := r.n.rotten[a.Chunk]; !rotten {
				w.wrong("node %d has swept what it sends", r.n.id)
			}
			r.over = true // it resigns
			return
		}
		r.call(a.Peer, false, func(n *dweller) Input {
			if _, err := n.keeper.Hear(r.reign, ""); err != nil {
				return Deposed{}
			}
			if _, wanted := n.offered[a.Chunk]; !wanted {
				return Failed{a.Peer, w.rng.Float64()}
			}
			if _, rotten := n.rotten[a.Chunk]; rotten {
				w.repairs++
			}
			n.have[a.Chunk] = struct{}{}
			return Sent{a.Peer}
		})
	case Resign:
		r.over = true
	}
}

// call is one exchange: it may be lost on the way there or back, or come twice, late.
// Whole says that nothing else is under way to that peer.
func (r *reigning) call(peer string, whole bool, handle func(*dweller) Input) {
	w := r.n.w
	id, _ := strconv.Atoi(peer)
	n, there, back := w.nodes[id], w.some(40*time.Millisecond), w.some(40*time.Millisecond)
	failed := func() {
		w.after(150*time.Millisecond, func() {
			if whole {
				delete(r.sending, peer)
			}
			r.step(Failed{peer, w.rng.Float64()})
		})
	}
	if w.chance(5) {
		w.after(w.some(3*time.Second), func() { // a copy of it, much later
			if n.up {
				handle(n)
			}
		})
	}
	w.after(there, func() {
		if !n.up || w.cut[[2]int{r.n.id, id}] || w.chance(5) {
			failed()
			return
		}
		in := handle(n)
		if w.cut[[2]int{id, r.n.id}] || w.chance(5) {
			failed()
			return
		}
		w.after(back, func() {
			if _, took := in.(Took); took {
				delete(r.sending, peer)
			}
			r.step(in)
		})
	})
}

func (r *reigning) adopt(a Adopt) {
	w := r.n.w
	take := func(files map[string]File, have map[Hash]struct{}) {
		if !r.alive() {
			return
		}
		maps.Copy(r.n.have, have)
		switch missing, held, err := r.n.take(Catalog{Reign: r.reign, Files: files}); {
		case err != nil:
			r.step(Deposed{})
		case len(missing) > 0:
			r.over = true // it resigns
		default:
			r.counted()
			r.step(Adopted{held})
		}
	}
	if a.Peer == "" {
		w.after(w.some(20*time.Millisecond), func() { take(r.n.catalog.Files, nil) })
		return
	}
	id, _ := strconv.Atoi(a.Peer)
	n := w.nodes[id]
	w.after(w.some(200*time.Millisecond), func() {
		if !n.up || w.cut[[2]int{r.n.id, id}] || w.chance(20) || n.catalog.Version() != a.Version || !n.whole(n.catalog) {
			r.step(Unadopted{a.Peer, w.rng.Float64()})
			return
		}
		w.found++
		take(n.catalog.Files, n.catalog.chunks())
	})
}
