package logs

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/node/nodetest"
	"github.com/conchhq/conch/internal/pg/pgtest"
	"github.com/conchhq/conch/transport/mtls"
	"github.com/conchhq/conch/txlog"
)

// metric returns the value of a metric of a node, or the sum over its labels.
func (n *testNode) metric(name string) (sum float64) {
	n.t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(&collector{n.svc, n.svc.denied}); err != nil {
		n.t.Fatal(err)
	}
	all, err := r.Gather()
	if err != nil {
		n.t.Fatal(err)
	}
	is := false
	for _, family := range all {
		if family.GetName() != "conch_log_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			is = true
			sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	if !is {
		n.t.Fatalf("there is no metric %s", name)
	}
	return sum
}

// reaches waits until a metric has a value.
func (n *testNode) reaches(name string, least, most float64) {
	n.t.Helper()
	pgtest.Eventually(n.t, 2*nodetest.Patience, n.name+": "+name, func() bool { v := n.metric(name); return v >= least && v <= most })
}

// B21: each metric of a log moves with what it counts. Goals without a majority wait, and are counted once they have waited for
// goal_timeout (B8); a node that was away asks others for what it lacks (B9).
func TestMetricsMove(t *testing.T) {
	t.Parallel()
	s := newSite(t, "n1", "n2", "n3")
	s.nodes["n1"].more = "goal_timeout = \"1s\"\n"
	s.start(s.names...)
	n1, n2, n3 := s.nodes["n1"], s.nodes["n2"], s.nodes["n3"]
	if n1.metric("index")+n1.metric("term")+n1.metric("members")+n1.metric("is_leader") != 0 {
		t.Error("there are figures of a log that nobody has made")
	}
	n1.create("n1", "n2")
	n3.reaches("members", 2, 2)
	n1.put("a", 1)
	s.equal(s.names...)
	at := n1.metric("index")
	pgtest.Eventually(t, nodetest.Patience, "one leads", func() bool { // it may change on a machine that stands still for a moment
		return n1.metric("is_leader")+n2.metric("is_leader")+n3.metric("is_leader") == 1
	})
	if at < 2 || n1.metric("term") < 1 {
		t.Errorf("index %v, term %v", at, n1.metric("term"))
	}
	if v := n1.metric("pending_goals") + n1.metric("forks_total"); v != 0 {
		t.Errorf("while all is well there is a figure above 0")
	}
	if n2.metric("goal_result_timeouts_total") != 0 {
		t.Error("a goal of another node is counted here")
	}
	late := n1.metric("goal_result_timeouts_total") // the first goal may have waited for the first leader

	n2.stop() // nothing is committed any more
	n3.stop()
	done := make(chan string, 1)
	go func() {
		_, text := n1.asks(http.MethodPost, "/v1/logs/flags/goals", `{"goal_id":"late","goal":{"op":"put","key":"late","value":1}}`)
		done <- text
	}()
	n1.reaches("pending_goals", 1, 1)
	n1.reaches("goal_result_timeouts_total", late+1, late+9)
	n2.start()
	pgtest.Within(t, nodetest.Patience, "the goal has an answer", func() { <-done })
	if o := gets[Outcome](n1, http.MethodPost, "/v1/logs/flags/goals", `{"goal_id":"late","goal":{"op":"put","key":"late","value":1}}`); o.Fault != "" {
		t.Errorf("%+v", o)
	}
	n1.reaches("pending_goals", 0, 0)
	n1.reaches("index", at+1, at+100)
	n3.start()
	s.equal(s.names...)
	n3.reaches("history_requests_total", 1, 1000)
	n3.reaches("behind", 0, 0)
	s.net.Part([]string{"n3"}, []string{"n1", "n2"}) // it hears of an entry that does not come
	o := n1.put("a", 2)
	pgtest.Eventually(t, nodetest.Patience, "n3 hears a head", func() bool {
		store := n1.svc.Parts()[0].reading()
		if head, found, err := store.Head(o.Index, store.View().Last.Index); err == nil && found { // another leader has made more entries
			n3.ground.Load().Tell(node.News{Topic: topicOf("flags"), Body: head.Encode(), Via: "n1"})
		}
		return n3.metric("behind") >= 1
	})
	s.net.Heal()
	n3.reaches("behind", 0, 0)

	// Two heads of one member that cannot both be true, and one that nobody has signed.
	id, err := mtls.LoadIdentity(filepath.Join(n1.dir, "key"), "")
	if err != nil {
		t.Fatal(err)
	}
	refused := n3.metric("refused_total")
	forge := func() txlog.Head {
		at := n3.svc.Parts()[0].running().Position()
		at.Hash = txlog.Hash{7}
		return txlog.Head{Position: at, Member: "n1"}
	}
	forged := forge()
	n3.ground.Load().Tell(node.News{Topic: topicOf("flags"), Body: forged.Encode(), Via: "n2"})
	n3.reaches("refused_total", refused+1, refused+9)
	if n3.metric("forks_total") != 0 {
		t.Error("what nobody has signed is taken for a fork")
	}
	pgtest.Eventually(t, nodetest.Patience, "the fork is seen", func() bool {
		other := forge().Sign(id.Signer())
		n3.ground.Load().Tell(node.News{Topic: topicOf("flags"), Body: other.Encode(), Via: "n2"})
		return n3.metric("forks_total") >= 1
	})
}
