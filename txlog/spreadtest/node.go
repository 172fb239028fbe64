package spreadtest

import (
	"time"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/follower"
)

// node is one process.
type node struct {
	r     *run
	index int
	m     *follower.Machine
	near  []int
	links map[int]*world.Stream
	head  uint64        // the newest that it has passed on
	told  int           // who has brought it
	free  time.Duration // its uplink is
	bytes int64
}

// begin has a node find its peers, and time pass for it.
func (n *node) begin() {
	var names []string
	for _, to := range n.near {
		names = append(names, nameOf(to))
	}
	n.step(follower.Peers{Names: names})
	n.tick()
}

func (n *node) tick() {
	n.step(follower.Tick{})
	n.r.w.After(tickEvery, n.tick)
}

// hears passes a head on when it is the first of its index, and tells the machine.
func (n *node) hears(h txlog.Head, from int) {
	if h.Index <= n.head {
		return
	}
	n.head, n.told = h.Index, from
	for _, to := range n.near {
		if to != from || n.index == 0 {
			n.send(to, headSize, func(o *node) { o.hears(h, n.index) })
		}
	}
	n.step(follower.Heard{Head: h, Via: nameOf(from)})
}

func (n *node) step(in follower.Input) {
	for _, a := range n.m.Step(n.r.w.Now(), in) {
		n.perform(a)
	}
}

// The bytes of messages beside the records in them.
const (
	headSize = 420 // with the gossip's own signature
	pullSize = 60
	giveSize = 60
)

func (n *node) perform(a follower.Action) {
	r, name := n.r, nameOf(n.index)
	switch a := a.(type) {
	case follower.Ask:
		r.asked++
		if r.cfg.Alone && a.To != nameOf(n.told) {
			return
		}
		n.send(r.byName[a.To], pullSize, func(o *node) { o.step(follower.Asked{From: name, Pull: a.Pull}) })
	case follower.Give:
		if a.From > 0 {
			a.History.Records = r.records[a.From-1 : a.Upto]
		}
		size := giveSize + headSize*len(a.History.Heads)
		for _, record := range a.History.Records {
			size += len(record.Raw())
			r.uploads[record.Index-1][n.index]++
		}
		n.send(r.byName[a.To], size, func(o *node) {
			before := o.m.Snapshot().Counts.Doubled
			o.step(follower.HistoryCame{From: name, History: a.History})
			r.came += uint64(len(a.History.Records))
			r.doubled += o.m.Snapshot().Counts.Doubled - before
		})
	case follower.Apply:
		for _, record := range a.Records {
			r.applied(record.Index)
		}
	case follower.Refused:
		r.refused++
		r.w.Note(name, a.Why.Error(), 0)
	}
}

// send sends a message. It waits for the uplink, and then for what stalls on the connection; nothing overtakes.
func (n *node) send(to, size int, arrive func(o *node)) {
	w := n.r.w
	n.bytes += int64(size)
	n.r.bytes += int64(size)
	n.free = max(n.free, w.Now()) + time.Duration(size)*time.Second/time.Duration(n.r.cfg.Uplink)
	l := n.links[to]
	if l == nil {
		l = &world.Stream{}
		n.links[to] = l
	}
	l.Loses(n.free, stall, mostStall, func() bool { return n.r.cfg.Loss > 0 && w.Chance(float64(n.r.cfg.Loss)/100) })
	w.After(l.Arrives(n.free+w.Between(leastDelay, mostDelay))-w.Now(), func() { arrive(n.r.nodes[to]) })
}
