//go:build unix

package main_test

import (
	"strings"
	"testing"
	"time"
)

// senderAt is a node that sends over any line. A setting of the chain, such as
// "finality = 2", can be replaced by another.
func senderAt(t *testing.T, id, db, url, more string, instead ...string) *daemon {
	t.Helper()
	n := prepareDaemon(t, id, db, "")
	n.write(fileOf(db, "listen = \"127.0.0.1:0\"\n"+strings.NewReplacer(instead...).Replace(accountAt(n, url, 1337, more))))
	return n.start()
}

// wished has a node accept some of the numbered transactions, and returns what it
// acknowledged: IDs and deeds.
func wished(t *testing.T, n *daemon, from, to int) map[string]string {
	t.Helper()
	api := n.api()
	c := newCrowd(t, func() []string { return []string{api} })
	c.wants(from, to)
	return c.acknowledged()
}

// 30 % of all calls are lost, before or after the node has done them, within batches
// too, and batches arrive in another order: everything is done once.
func TestLostResponses(t *testing.T) {
	t.Parallel()
	db, chain := migrated(t), startDevnode(t)
	line := newWire(t, chain, 4)
	// finality = 0: that the chain knows what is final must survive a lost answer too.
	n := senderAt(t, "n1", db.URL, line.url, "", "finality = 2", "finality = 0")
	line.does(harm{before: 0.12, after: 0.15, refused: 0.03, shuffled: true, most: 20 * time.Millisecond})
	asked := wished(t, n, 0, 300)
	judge(t, chain, db.URL, asked)
	for _, way := range []string{"before", "after", "refused"} {
		if line.count(line.hurt, way) < 20 {
			t.Errorf("too little was lost to prove anything: %v", line.hurt)
		}
	}
	t.Log(line.hurt, line.calls)
}
