package gossip

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// B21: changes of the leader and its tenure are exported for each namespace; while the listener is away each is there, and 0. Without
// [gossip] there is nothing.
func TestMetrics(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := &collector{w}
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP conch_gossip_leader_changes_total Times that this node began to suggest another leader, or the same one in another reign.
# TYPE conch_gossip_leader_changes_total counter
conch_gossip_leader_changes_total{namespace="default"} 2
conch_gossip_leader_changes_total{namespace="empty"} 0
# HELP conch_gossip_leader_tenure_seconds For how long this node has suggested the leader that it suggests now, 0 while it suggests none.
# TYPE conch_gossip_leader_tenure_seconds gauge
conch_gossip_leader_tenure_seconds{namespace="default"} 90
conch_gossip_leader_tenure_seconds{namespace="empty"} 0
# HELP conch_gossip_neighbours Nodes of the overlay to which this one has a connection.
# TYPE conch_gossip_neighbours gauge
conch_gossip_neighbours 1
# HELP conch_gossip_neighbours_differing Neighbours whose [gossip] has another value where all nodes have to have the same.
# TYPE conch_gossip_neighbours_differing gauge
conch_gossip_neighbours_differing 1
# HELP conch_gossip_twins Nodes of which two hosts have the key or the name, as this node has seen it in the last two minutes.
# TYPE conch_gossip_twins gauge
conch_gossip_twins 1
# HELP conch_gossip_bytes_total Bytes of the overlay's messages, before encryption.
# TYPE conch_gossip_bytes_total counter
conch_gossip_bytes_total{direction="received"} 8
conch_gossip_bytes_total{direction="sent"} 7
# HELP conch_gossip_messages_lost_total Messages of the overlay that were not sent or not read. Exchanges repair it.
# TYPE conch_gossip_messages_lost_total counter
conch_gossip_messages_lost_total{why="dropped"} 4
conch_gossip_messages_lost_total{why="undated"} 5
conch_gossip_messages_lost_total{why="unsent"} 3
`), "conch_gossip_leader_changes_total", "conch_gossip_leader_tenure_seconds", "conch_gossip_neighbours", "conch_gossip_neighbours_differing", "conch_gossip_twins", "conch_gossip_bytes_total", "conch_gossip_messages_lost_total"); err != nil {
		t.Error(err)
	}
	if problems, err := testutil.CollectAndLint(c); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	all := testutil.CollectAndCount(c)
	w.down = true
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP conch_gossip_leader_changes_total Times that this node began to suggest another leader, or the same one in another reign.
# TYPE conch_gossip_leader_changes_total counter
conch_gossip_leader_changes_total{namespace="default"} 0
conch_gossip_leader_changes_total{namespace="empty"} 0
# HELP conch_gossip_leads 1 while this node is the suggested leader, as it sees it itself. A hint: others may see another one.
# TYPE conch_gossip_leads gauge
conch_gossip_leads{namespace="default"} 0
conch_gossip_leads{namespace="empty"} 0
# HELP conch_gossip_neighbours Nodes of the overlay to which this one has a connection.
# TYPE conch_gossip_neighbours gauge
conch_gossip_neighbours 0
# HELP conch_gossip_twins Nodes of which two hosts have the key or the name, as this node has seen it in the last two minutes.
# TYPE conch_gossip_twins gauge
conch_gossip_twins 1
`), "conch_gossip_leader_changes_total", "conch_gossip_leads", "conch_gossip_neighbours", "conch_gossip_twins"); err != nil {
		t.Error(err)
	}
	if n := testutil.CollectAndCount(c); n != all {
		t.Errorf("%d metrics while the listener is away, want %d", n, all)
	}
	w.none = true
	if n := testutil.CollectAndCount(c); n != 0 {
		t.Errorf("%d metrics of nothing", n)
	}
}
