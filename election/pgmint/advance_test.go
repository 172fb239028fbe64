package pgmint_test

import (
	"testing"
	"time"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/pg/tcpproxy"
)

// A scope that was first led after the standby fell behind is unknown there once it is
// promoted. To advance it by hand says nothing of its leader, who may act still.
func TestAdvanceOfAScopeThatAFailoverForgot(t *testing.T) {
	t.Parallel()
	primary := primaryServer(t)
	const longest = 27 * time.Second
	candidate(t, newMint(t, database(primary).URL), "slow", longest, election.Strict)
	standby := replicaOf(t, primary, "s1")
	standby.catchesUp(t, primary)
	standby.link.Blackhole(tcpproxy.Both)
	tokens := takeovers(t, primary, 1)
	standby.promote(t)
	there := database(standby.Server)
	advance(t, there.Connect(t), "s", 5_000_000)
	next := candidate(t, newMint(t, there.URL), "next", time.Second, election.Fast) // it has agreed on no takeover
	r := bid(t, next, election.Bid{Scope: "s", Lease: time.Second})
	if r.Outcome != election.Won || r.Handoff || r.Hold != longest || r.Token.Epoch <= 5_000_000 {
		t.Errorf("%+v", r)
	}
	growing(t, append(tokens, r.Token))
	if who := value(t, standby.Server, `SELECT actor FROM conch.leadership_history WHERE event = 'evicted'`); who != "ops" {
		t.Errorf("the history says it was %q", who)
	}
}
