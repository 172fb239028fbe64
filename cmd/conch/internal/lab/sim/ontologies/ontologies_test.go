package ontologies

import (
	"testing"

	"github.com/conchhq/conch/internal/world"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/txlog/quorum/quorumtest"
)

// B16 to B20, B22, V3 to V5, told with goals in Prolog. With -update they are written anew: read the diff.
func TestStories(t *testing.T) {
	t.Parallel()
	worldtest.Texts(t, Simulator())
}

// B8 to B15, B18 to B20, B22: logs of one to seven members whose goals are goals in Prolog, under every fault.
func TestOntologies(t *testing.T) {
	t.Parallel()
	worldtest.Seeds(t, 2, worldtest.Enough[uint64](2, 4, map[bool]uint64{true: 20, false: 400}[worldtest.Raced]), func(seed uint64) world.Report {
		s := Simulator()
		c := quorumtest.Config{Machine: Machine.Name, Seed: seed, Members: int([]uint64{5, 3, 4, 7, 1}[seed%5]), Loss: []int{0, 5, 15}[seed%3], Stalls: seed%4 == 1}
		c.Nodes = c.Members + int(seed%4)
		return s.Run(s.Complete(c))
	})
}

// A rule that is broken shows with goals in Prolog too: the judge executes them itself.
func TestARuleIsNeeded(t *testing.T) {
	t.Parallel()
	worldtest.Falls(t, Simulator(), "prolog-partition", "hold", "one-door")
}
