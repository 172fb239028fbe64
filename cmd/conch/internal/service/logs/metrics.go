package logs

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/txlog/quorum"
)

// Why something of another node is left out, besides what quorum.Reasons has.
const (
	reasonMalformed = "malformed"
	reasonStranger  = "stranger"
)

// counts are of one log, since the start of the node. They are safe for concurrent use.
type counts struct {
	mu                     sync.Mutex
	refused                map[string]uint64
	timeouts, forks, aside uint64
	asked                  uint64 // by hosts that have ended, or begun anew
	last                   uint64 // of the one that runs
}

func newCounts() *counts {
	c := &counts{refused: map[string]uint64{reasonMalformed: 0, reasonStranger: 0}}
	for _, reason := range quorum.Reasons() {
		c.refused[reason] = 0
	}
	return c
}

func (c *counts) refuse(reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused[reason]++
}

func (c *counts) setAside() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.aside++
}

func (c *counts) count(e quorum.Event) {
	switch e := e.(type) {
	case quorum.Refused:
		c.refuse(e.Reason)
	case quorum.TimedOut:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timeouts++
	case quorum.Forked:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.forks++
	}
}

// history returns how often history was asked for, given how often the running host has, which begins at 0 each time.
func (c *counts) history(now uint64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now < c.last {
		c.asked += c.last
	}
	c.last = now
	return c.asked + now
}

// collector measures the logs whenever the page is read.
type collector struct {
	shelf  shelf
	denied *denials
}

var _ prometheus.Collector = (*collector)(nil)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return measured.New(name, help, append([]string{"namespace"}, labels...)...)
}

var (
	measured = metric.Table{Of: "log_"}

	timeoutsDesc = desc("goal_result_timeouts_total", "Times that a goal had no answer within goal_timeout (15 seconds), and was tried again.")
	historyDesc  = desc("history_requests_total", "Times that this node asked another one for entries that it lacked.")
	pendingDesc  = desc("pending_goals", "Goals of this node's users that wait for their result.")
	indexDesc    = desc("index", "Index of the newest entry of this node's copy.")
	termDesc     = desc("term", "The newest term of the log's leader that this node knows of.")
	leaderDesc   = desc("is_leader", "1 while this node leads the log, as far as it knows.")
	membersDesc  = desc("members", "Number of the members that decide what the next entry is.")
	behindDesc   = desc("behind", "Entries that are known to be committed, and that this node's copy does not have yet.")
	refusedDesc  = desc("refused_total", "What other nodes have sent and this node has left out, by why.", "reason")
	deniedDesc   = measured.New("requests_refused_total", "Requests to /v1/logs that this node has refused, by why.", "reason")
	forksDesc    = desc("forks_total", "Times that two signed heads of the log contradicted each other.")
	doubtsDesc   = desc("heads_denied", "Heads that a member has signed and the leader denies, as far as this node knows: either that member lies, or its key is stolen, or a store was restored that has forgotten them.")
	failedDesc   = desc("store_failed", "1 if the disk of the log has failed to write: the log is closed on this node until its next start.")
	asideDesc    = desc("stores_set_aside_total", "Times that the store was of no use any more, and was moved aside.")
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) { measured.Describe(to) }

// Collect implements prometheus.Collector. A log that does not run has zeros, but for why.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	out := metric.Samples(to)
	for reason, n := range c.denied.now() {
		out.Count(deniedDesc, float64(n), reason)
	}
	for _, r := range c.shelf.Parts() {
		var s quorum.Status
		if h := r.running(); h != nil {
			s = h.Status()
		}
		gauge := func(d *prometheus.Desc, v uint64) { out.Gauge(d, float64(v), r.Namespace) }
		out.Count(historyDesc, float64(r.counts.history(s.Copy.Asked)), r.Namespace)
		gauge(pendingDesc, uint64(max(0, s.Pending)))
		gauge(indexDesc, s.Position.Index)
		gauge(termDesc, s.Term)
		out.Flag(leaderDesc, s.Leads, r.Namespace)
		out.Flag(failedDesc, r.shut() != nil, r.Namespace)
		gauge(membersDesc, uint64(len(s.Members)))
		gauge(behindDesc, copyOf(s.Position.Index, s.Copy).Behind)
		gauge(doubtsDesc, copyOf(s.Position.Index, s.Copy).Denied)
		r.counts.mu.Lock()
		out.Count(timeoutsDesc, float64(r.counts.timeouts), r.Namespace)
		out.Count(forksDesc, float64(r.counts.forks), r.Namespace)
		out.Count(asideDesc, float64(r.counts.aside), r.Namespace)
		for reason, n := range r.counts.refused {
			out.Count(refusedDesc, float64(n), r.Namespace, reason)
		}
		r.counts.mu.Unlock()
	}
}
