package sequencer

import (
	"testing"

	"github.com/conchhq/conch/sequencer/core"
)

// P38: what waits for the writer keeps its order, whether there was room for it at once or not.
func TestWritesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	n := &Node{writes: make(chan core.Write, 1)}
	for _, name := range []string{"1", "2"} {
		n.queue(core.Write{Change: Change{Contract: name}})
	}
	got := (<-n.writes).Change.Contract
	n.queue(core.Write{Change: Change{Contract: "3"}})
	for range 2 {
		got += (<-n.writes).Change.Contract
		n.refill()
	}
	if got != "123" {
		t.Errorf("they are written in the order %s", got)
	}
}
