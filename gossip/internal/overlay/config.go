package overlay

import (
	"cmp"

	"github.com/conchhq/conch/internal/faults"
)

// Config configures a [Machine].
type Config struct {
	Self        Peer   // this node, as others call and reach it
	Incarnation uint64 // random, for each start; not 0
	Seed        uint64 // of the machine's choices; random, for each start
	Contacts    []Peer // to join by; without any the node waits for others

	every int // ticks between two exchanges; tests have others
	floor int // neighbours, at least; fewer are filled from the cache
}

// mostCache is how many peers are remembered.
const mostCache = 16

func (c Config) withDefaults() Config {
	c.every = cmp.Or(c.every, 10)
	c.floor = cmp.Or(c.floor, 5)
	return c
}

// Validate returns an error that lists every fault.
func (c Config) Validate() error {
	f := faults.List{Of: "overlay: "}
	f.Add(!c.Self.isSound(), "the node %.80q has no sound name of 1 to %d bytes, or its address is longer than %d", c.Self.Name, MostName, MostAddress)
	f.Add(c.Incarnation == 0, "the incarnation is zero: draw one at each start, or a node that restarts keeps arcs of its past")
	for i, p := range c.Contacts {
		f.Add(!p.isSound(), "contact %d, %.80q, has no sound name and address", i+1, p.Name)
		f.Add(p.Name == c.Self.Name, "contact %d is the node itself", i+1)
	}
	return f.All()
}
