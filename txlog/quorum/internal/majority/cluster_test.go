package majority

import (
	"fmt"
	"testing"
	"time"

	"github.com/conchhq/conch/internal/runtest"
	"github.com/conchhq/conch/txlog/internal/authority"
)

func seeds(few int) int {
	if runtest.Nightly() {
		return 20 * few
	}
	if testing.Short() {
		return max(1, few/4)
	}
	return few
}

// Members over a network that loses, repeats and reorders, which is cut now and then, on disks that lose what was not
// synced, with crashes at each point of a step: one record an index, a leader has all that was committed, terms only grow,
// one leader a term, one act door at most; and when the faults end all have the same log (V7, B15).
func TestClusterUnderFaults(t *testing.T) {
	t.Parallel()
	total, committed, dropped := map[string]int{}, 0, 0
	for seed := range uint64(seeds(9)) {
		w := newWorld(t, seed, []int{3, 5, 4}[seed%3])
		w.loss, w.twice, w.crashes = 0.1*w.rand.Float64(), 0.1, 0.002
		if seed%2 == 0 {
			w.keep = 5
		}
		storm(w, 60)
		w.loss, w.crashes, w.most = 0, 0, 0
		w.heal()
		w.until(200, fmt.Sprintf("seed %d: all have the same log", seed), w.settled)
		for kind, n := range w.facts {
			total[kind] += n
		}
		if a, b, is := w.overlap(); is {
			t.Fatalf("seed %d: two act doors are open: %+v, %+v", seed, a, b)
		}
		committed += len(w.committed)
		dropped += w.dropped
	}
	t.Log(total, committed, dropped)
	if dropped < seeds(9)/2 {
		t.Errorf("leaders have dropped what they had proposed %d times: too rarely", dropped)
	}
	if committed < 200*seeds(9) {
		t.Errorf("%d records were committed: the storms are too strong", committed)
	}
	for _, kind := range []authority.Fact{authority.Leads{}, authority.Deposed{}, authority.Stored{}, authority.Dropped{}, authority.Committed{}} {
		if total[fmt.Sprintf("%T", kind)] == 0 {
			t.Errorf("nothing was told of kind %T", kind)
		}
	}
}

// storm cuts and heals, crashes and pauses.
func storm(w *world, times int) {
	for range times {
		n := w.nodes[w.rand.IntN(len(w.nodes))]
		switch w.rand.IntN(7) {
		case 0:
			w.apart(n.name)
		case 1:
			w.apart(n.name, w.nodes[w.rand.IntN(len(w.nodes))].name)
		case 2:
			from := n.name // one way alone
			w.cut = func(a, _ string) bool { return a == from }
		case 3:
			w.heal()
		case 4:
			if n.m != nil {
				n.dies()
			}
		case 5:
			n.paused = !n.paused
		case 6:
			for _, n := range w.nodes { // also one that has not heard that it leads no more
				if n.m != nil && (n.toy.leads > 0 || w.rand.IntN(4) == 0) {
					n.givesUp()
				}
			}
		}
		w.run(time.Duration(w.rand.Int64N(int64(25 * round))))
	}
	for _, n := range w.nodes {
		n.paused = false
	}
}

// givesUp ends the machine as that of a leader whose memory is wrong, and starts another one.
func (n *node) givesUp() {
	tail := n.m.log.last().entry.GetIndex() - n.m.log.mark.Index
	if n.step(GiveUp{}); n.m == nil {
		return // it has died there
	}
	if left := len(n.disk.Kept().Entries) - int(n.disk.Kept().Mark.Index-n.disk.Kept().Base.Index); tail > 0 && left == 0 {
		n.world.dropped++
	}
	n.crash()
	n.start()
}

// settled reports whether there is a leader and all have what is committed.
func (w *world) settled() bool {
	l := w.leader()
	if l == nil {
		return false
	}
	for _, n := range w.nodes {
		if n.m == nil || n.m.Snapshot().Committed.Index != uint64(len(w.committed)) || n.leader != l.name {
			return false
		}
	}
	return l.toy.committed >= l.toy.opening
}
