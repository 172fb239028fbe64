package agent

import (
	"testing"
	"time"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/wire"
)

// What waited while a process stood still looks new in every namespace in which a heartbeat counts for less than that, also where there is
// another one in which it counts for longer.
func TestStandingStillInTwoNamespaces(t *testing.T) {
	t.Parallel()
	for _, nearer := range []int{0, 1} {
		d := newDesk(t, true)
		cfg := d.agent.cfg
		one, other := cfg.Namespaces[0], gossip.Namespace{Name: "other", Electors: []wire.Subject{key("b").Subject()}}
		cfg.Namespaces = []gossip.Namespace{one, other}
		if nearer == 1 {
			cfg.Namespaces = []gossip.Namespace{other, one}
		}
		d.sits(cfg)
		_ = d.agent.step(Tick{})
		d.now += 3 * time.Second
		if d.heard(said(t, 1, 0)); d.core.counts.Undated != 1 {
			t.Errorf("it has stood still for 3s, and takes for new what a leader said meanwhile whose word counts for %v", d.core.gossip.Snapshot()[nearer].Valid)
		}
		d.now += cfg.Round
		if d.heard(said(t, 2, 0)); d.core.counts.Undated != 1 {
			t.Error("a round later it hears nothing yet")
		}
	}
}
