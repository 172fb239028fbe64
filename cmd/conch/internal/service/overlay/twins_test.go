package overlay

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/gossip/agent"
	"github.com/conchhq/conch/internal/pg/pgtest"
)

// Of two processes with one identity the second is not let in. The node that refuses it names it to its operator, and so does the second
// process itself; the first one hears nothing of that.
func TestASecondHostWithOneIdentity(t *testing.T) {
	t.Parallel()
	all, fronts := site(t, 2)
	for _, f := range fronts {
		_ = f.Close()
	}
	a, b, copied := host(t), host(t), host(t)
	a.start(t, all[0])
	b.start(t, all[1])
	pgtest.Eventually(t, nodetest.Patience, "both name one leader", func() bool { return a.leader() != "" && a.leader() == b.leader() })
	disk := *config.Of[*Section](all[1])
	disk.peers.Identity.Listen, disk.Advertise = "127.0.0.1:0", "127.0.0.1:0"
	copied.start(t, config.Config{Sections: []config.Section{&disk}})
	pgtest.Eventually(t, nodetest.Patience, "it is named", func() bool { return slices.Equal(a.Twins(), []string{"n1"}) })
	pgtest.Eventually(t, nodetest.Patience, "it names itself", func() bool { return slices.Equal(copied.Twins(), []string{"n1"}) })
	a.log.Says(t, "two hosts have its key")
	copied.log.Says(t, "two hosts have its key")
}

// What is kept of twins is bounded, and ends.
func TestTwinsAreForgotten(t *testing.T) {
	t.Parallel()
	all, now := new(twins), time.Unix(0, 0)
	for i := range 2 * mostTwins {
		all.see(fmt.Sprint("n", i), now)
	}
	if n := len(all.names(now)); n != mostTwins {
		t.Errorf("%d are kept, want %d", n, mostTwins)
	}
	now = now.Add(twinsFor + 1)
	all.see(called(agent.Node{Name: "new"}), now)
	if got := all.names(now); !slices.Equal(got, []string{"new"}) {
		t.Errorf("an hour later there are %q", got)
	}
}
