package gossiptest

import (
	"slices"
	"strconv"

	"github.com/conchhq/conch/gossip/internal/overlay"
	"github.com/conchhq/conch/internal/world"
)

// mesh is the network of an overlay while it grows: each node has a machine of its own.
type mesh struct {
	nodes  []*overlay.Machine
	byName map[string]int
	ends   []map[int]bool
	queue  []delivery
	draw   func() uint64
	due    float64 // ticks of single nodes
	next   int     // the node that ticks next
}

type delivery struct {
	to int
	in overlay.Input
}

func nameOf(i int) string { return "n" + strconv.Itoa(i) }

// Grow grows an overlay by a fiftieth in a second, lets it settle for a minute, and returns with which others each node is
// connected then. Messages take no time and nobody fails; the nodes tick one after another. With thousands of nodes it takes a
// while, and serves several runs.
func Grow(nodes int, seed uint64) [][]int {
	o := &mesh{byName: map[string]int{}, draw: world.New(seed, nil).Draw}
	for len(o.nodes) < nodes {
		o.join()
		o.lets(min(2, 50/float64(len(o.nodes))))
	}
	o.lets(settles)
	all := make([][]int, nodes)
	for i, ends := range o.ends {
		for to := range ends {
			all[i] = append(all[i], to)
		}
		slices.Sort(all[i])
	}
	return all
}

// settles is for how many ticks the overlay settles: newcomers look at their contacts often.
const settles = 60

const contacts = 3

func (o *mesh) join() {
	i := len(o.nodes)
	c := overlay.Config{Self: overlay.Peer{Name: nameOf(i)}, Incarnation: o.draw() | 1, Seed: o.draw()}
	for contact := range min(i, contacts) {
		c.Contacts = append(c.Contacts, overlay.Peer{Name: nameOf(contact)})
	}
	o.byName[nameOf(i)] = i
	o.nodes, o.ends = append(o.nodes, overlay.New(c)), append(o.ends, map[int]bool{})
	o.step(i, overlay.Tick{})
	o.settle()
}

// lets lets time pass, in ticks. The nodes tick one after another, so that others join between the ticks of two.
func (o *mesh) lets(ticks float64) {
	for o.due += ticks * float64(len(o.nodes)); o.due >= 1; o.due-- {
		o.next = (o.next + 1) % len(o.nodes)
		o.step(o.next, overlay.Tick{})
		o.settle()
	}
}

func (o *mesh) settle() {
	for len(o.queue) > 0 {
		d := o.queue[0]
		o.queue = o.queue[1:]
		o.step(d.to, d.in)
	}
}

func (o *mesh) tell(to int, in overlay.Input) { o.queue = append(o.queue, delivery{to, in}) }

func (o *mesh) step(i int, in overlay.Input) {
	if m, is := in.(overlay.Received); is && !o.ends[i][o.byName[m.From]] {
		return
	}
	for _, a := range o.nodes[i].Step(in) {
		switch a := a.(type) {
		case overlay.Connect:
			to := o.byName[a.Peer.Name]
			if !o.ends[i][to] { // else the other one has asked for it too, and both have been told
				o.ends[i][to], o.ends[to][i] = true, true
				o.tell(to, overlay.Up{Peer: nameOf(i)})
				o.tell(i, overlay.Up{Peer: nameOf(to)})
			}
		case overlay.Disconnect:
			if to := o.byName[a.Peer]; o.ends[i][to] {
				delete(o.ends[i], to)
				delete(o.ends[to], i)
				o.tell(to, overlay.Down{Peer: nameOf(i)})
			}
		case overlay.Send:
			o.tell(o.byName[a.To], overlay.Received{From: nameOf(i), Message: a.Message})
		}
	}
}
