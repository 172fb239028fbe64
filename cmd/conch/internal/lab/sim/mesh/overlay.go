// Package mesh grows the overlay of many nodes for simulations of what runs on it: each node has a [spray.Machine]. Messages
// take no time and nobody fails; the nodes tick one after another.
package mesh

import (
	"slices"
	"strconv"

	"github.com/conchhq/conch/gossip/spray"
	"github.com/conchhq/conch/internal/world"
)

// overlay is the network while it grows.
type overlay struct {
	nodes  []*spray.Machine
	byName map[string]int
	ends   []map[int]bool
	queue  []delivery
	draw   func() uint64
	due    float64 // ticks of single nodes
	next   int     // the node that ticks next
}

type delivery struct {
	to int
	in spray.Input
}

func nameOf(i int) string { return "n" + strconv.Itoa(i) }

// Grow grows an overlay by a fiftieth in a second, lets it settle for a minute, and returns with which others each node is
// connected then. With thousands of nodes it takes a while, and serves several runs.
func Grow(nodes int, seed uint64) [][]int {
	o := &overlay{byName: map[string]int{}, draw: world.New(seed, nil).Draw}
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

func (o *overlay) join() {
	i := len(o.nodes)
	c := spray.Config{Self: spray.Peer{Name: nameOf(i)}, Incarnation: o.draw() | 1, Seed: o.draw()}
	for contact := range min(i, contacts) {
		c.Contacts = append(c.Contacts, spray.Peer{Name: nameOf(contact)})
	}
	o.byName[nameOf(i)] = i
	o.nodes, o.ends = append(o.nodes, spray.New(c)), append(o.ends, map[int]bool{})
	o.step(i, spray.Tick{})
	o.settle()
}

// lets lets time pass, in ticks. The nodes tick one after another, so that others join between the ticks of two.
func (o *overlay) lets(ticks float64) {
	for o.due += ticks * float64(len(o.nodes)); o.due >= 1; o.due-- {
		o.next = (o.next + 1) % len(o.nodes)
		o.step(o.next, spray.Tick{})
		o.settle()
	}
}

func (o *overlay) settle() {
	for len(o.queue) > 0 {
		d := o.queue[0]
		o.queue = o.queue[1:]
		o.step(d.to, d.in)
	}
}

func (o *overlay) tell(to int, in spray.Input) { o.queue = append(o.queue, delivery{to, in}) }

func (o *overlay) step(i int, in spray.Input) {
	if m, is := in.(spray.Received); is && !o.ends[i][o.byName[m.From]] {
		return
	}
	for _, a := range o.nodes[i].Step(in) {
		switch a := a.(type) {
		case spray.Connect:
			to := o.byName[a.Peer.Name]
			if !o.ends[i][to] { // else the other one has asked for it too, and both have been told
				o.ends[i][to], o.ends[to][i] = true, true
				o.tell(to, spray.Up{Peer: nameOf(i)})
				o.tell(i, spray.Up{Peer: nameOf(to)})
			}
		case spray.Disconnect:
			if to := o.byName[a.Peer]; o.ends[i][to] {
				delete(o.ends[i], to)
				delete(o.ends[to], i)
				o.tell(to, spray.Down{Peer: nameOf(i)})
			}
		case spray.Send:
			o.tell(o.byName[a.To], spray.Received{From: nameOf(i), Message: a.Message})
		}
	}
}
