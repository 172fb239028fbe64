package spread_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/gossip/gossiptest"
	"github.com/conchhq/conch/internal/world/worldtest"
	"github.com/conchhq/conch/txlog/spreadtest"
)

// crowd is how many followers there is time for.
func crowd() int { return worldtest.Enough(60, 300, 5000) }

func run(t *testing.T, c spreadtest.Config, on [][]int) spreadtest.Result {
	t.Helper()
	r, err := spreadtest.Run(c, on)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The figures of the log: from the commit to 99 of 100 followers in 20 means of a link's delay with 5 % of the messages lost, to
// the last in 40, and no node gives an entry more than 25 times: nobody carries the crowd. Large entries too.
func TestFigures(t *testing.T) {
	t.Parallel()
	on := gossiptest.Grow(crowd()+1, 1)
	for _, size := range []int{200, 50 << 10} {
		for _, loss := range []int{0, 5} {
			t.Run(fmt.Sprint(size, " bytes, ", loss, " %"), func(t *testing.T) {
				t.Parallel()
				r := run(t, spreadtest.Config{Seed: 1, Loss: loss, Size: size, Entries: 10}, on)
				t.Logf("%d nodes with %.1f neighbours, %d at most: p50 %.1f, p99 %.1f, last %.1f; %.2f pulls, uploads %d at most, %d in 99 of 100; %.0f %% of the records in vain; %d bytes a node, %d at most",
					r.Nodes, r.Neighbours, r.Most, spreadtest.Delays(r.P50), spreadtest.Delays(r.P99), spreadtest.Delays(r.Last), r.Pulls, r.Uploads, r.UploadsP99, 100*r.Doubled, r.Bytes, r.MostBytes)
				if spreadtest.Delays(r.P99) > 20 || spreadtest.Delays(r.Last) > 40 || r.Uploads > 25 || r.Missing > 0 || r.Refused > 0 {
					t.Errorf("p99 after %.1f delays, want 20; the last after %.1f, want 40; %d uploads, want 25; %d are missing, %d refused",
						spreadtest.Delays(r.P99), spreadtest.Delays(r.Last), r.Uploads, r.Missing, r.Refused)
				}
			})
		}
	}
}

// The figures need that others are asked (B9): without it a stall holds up all who pull through it.
func TestOthersAreAsked(t *testing.T) {
	t.Parallel()
	r := run(t, spreadtest.Config{Seed: 1, Loss: 5, Entries: 10, Alone: true}, gossiptest.Grow(crowd()+1, 1))
	if spreadtest.Delays(r.Last) <= 40 {
		t.Errorf("the last has an entry after %.1f delays although nobody but the first is asked", spreadtest.Delays(r.Last))
	}
}

// 1,000 entries in a second: the heads come 20 times a second, each covers some 50 entries, and every follower has all of
// them within a second of the last commit.
func TestAThousandInASecond(t *testing.T) {
	t.Parallel()
	nodes := min(crowd(), 300)
	r := run(t, spreadtest.Config{Seed: 2, Loss: 5, Entries: 1000, Every: time.Millisecond}, gossiptest.Grow(nodes+1, 2))
	t.Logf("p50 %.1f, p99 %.1f, last %.1f; %.2f pulls for an entry; %d bytes an entry and node", spreadtest.Delays(r.P50), spreadtest.Delays(r.P99), spreadtest.Delays(r.Last), r.Pulls, r.Bytes)
	if r.Missing > 0 || r.Last > time.Second || r.Pulls > 0.5 {
		t.Errorf("%d are missing, the last came after %v, and there were %.2f pulls for an entry", r.Missing, r.Last, r.Pulls)
	}
}

// Equal configurations give equal runs.
func TestRunsAreEqual(t *testing.T) {
	t.Parallel()
	c := spreadtest.Config{Seed: 3, Loss: 5, Entries: 3}
	one := run(t, c, gossiptest.Grow(40, 3))
	if two := run(t, c, gossiptest.Grow(40, 3)); one != two {
		t.Errorf("one run gives %+v, the other %+v", one, two)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []spreadtest.Config{{Loss: -1}, {Loss: 51}, {Size: -1}, {Size: 2 << 20}, {Entries: -1}, {Every: -1}, {Settle: -1}, {Uplink: -1}} {
		if c.Validate() == nil {
			t.Errorf("%+v is valid", c)
		}
	}
	if err := (spreadtest.Config{}).Validate(); err != nil {
		t.Error(err)
	}
}
