package pgmint_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election/mint"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
	"github.com/conchhq/conch/internal/runtest"
)

// A promoted standby does not know a scope that was first led after the standby fell behind. Its
// leader may still act, so the next leader holds even after an advance.
func TestAdvanceOfAScopeThatAFailoverForgot(t *testing.T) {
	runtest.LongRun(t)
	t.Parallel()
	primary := primaryServer(t)
	const longest = 27 * time.Second
	candidate(t, newMint(t, database(primary).URL), "slow", longest, mint.Strict)
	standby := replicaOf(t, primary, "s1")
	standby.catchesUp(t, primary)
	standby.link.Blackhole(tcpproxy.Both)
	tokens := takeovers(t, primary, 1)
	standby.promote(t)
	there := database(standby.Server)
	advance(t, there.Connect(t), "s", 5_000_000)
	next := candidate(t, newMint(t, there.URL), "next", time.Second, mint.Fast) // the row accepts any takeover mode
	r := bid(t, next, mint.Bid{Scope: "s", Lease: time.Second})
	if r.Outcome != mint.Won || r.Handoff || r.Hold != longest || r.Token.Epoch <= 5_000_000 {
		t.Errorf("the bid: got %+v, want Won with a hold of the longest lease and an epoch above 5000000", r)
	}
	growing(t, append(tokens, r.Token))
	if who := value(t, standby.Server, `SELECT actor FROM conch.leadership_history WHERE event = 'evicted'`); who != "ops" {
		t.Errorf("got the actor %q in the history, want ops", who)
	}
}
