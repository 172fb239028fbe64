package gossip

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/gossip"
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
	pgtest.Eventually(t, nodetest.Patience, "it is named", func() bool { return slices.Equal(namesIn(a.Twins()), []string{"n1"}) })
	pgtest.Eventually(t, nodetest.Patience, "it names itself", func() bool { return slices.Equal(namesIn(copied.Twins()), []string{"n1"}) })
	a.log.Says(t, "two hosts have its key")
	copied.log.Says(t, "two hosts have its key")
}

func namesIn(all []Twin) (names []string) {
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names
}

// What is kept of twins is bounded, and ends: soon it is said that they were there, and after an hour nothing.
func TestTwinsAreForgotten(t *testing.T) {
	t.Parallel()
	all, now := new(twins), time.Unix(0, 0)
	for i := range 2 * mostTwins {
		all.see(fmt.Sprint("n", i), now)
	}
	over := func() int {
		return len(slices.DeleteFunc(all.all(now), func(one Twin) bool { return !one.Over }))
	}
	if n := len(all.all(now)); n != mostTwins || over() != 0 {
		t.Errorf("%d are kept, %d of them as gone, want %d and none", n, over(), mostTwins)
	}
	now = now.Add(twinsOver + 1)
	all.see("n0", now)
	if got := all.all(now); len(got) != mostTwins || over() != mostTwins-1 || got[0].Over || !got[1].LastSeen.Equal(time.Unix(0, 0)) {
		t.Errorf("two minutes later there are %+v", got)
	}
	now = now.Add(twinsFor + 1)
	all.see(called(gossip.Node{Name: "new"}), now)
	if got := namesIn(all.all(now)); !slices.Equal(got, []string{"new"}) {
		t.Errorf("an hour later there are %q", got)
	}
}
