package gossip

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/transport/mtls"
)

// collector measures the overlay whenever the page is read. While the listener is away all is 0: a series that ends looks like a node
// that is gone, and an alert on what it counts would be silent. Without [gossip] there is nothing to measure.
type collector struct{ office office }

var _ prometheus.Collector = (*collector)(nil)

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(metric.Prefix+"gossip_"+name, help, labels, nil)
}

var (
	changesDesc    = desc("leader_changes_total", "Times that this node began to suggest another leader, or the same one in another reign.", "namespace")
	tenureDesc     = desc("leader_tenure_seconds", "For how long this node has suggested the leader that it suggests now, 0 while it suggests none.", "namespace")
	leadsDesc      = desc("leads", "1 while this node is the suggested leader, as it sees it itself. A hint: others may see another one.", "namespace")
	silentDesc     = desc("electors_silent", "Electors that this node, one of them, does not hear. A majority of them, itself counted, has to be heard for a new leader. Elsewhere 0.", "namespace")
	neighboursDesc = desc("neighbours", "Nodes of the overlay to which this one has a connection.")
	differingDesc  = desc("neighbours_differing", "Neighbours whose [gossip] has another value where all nodes have to have the same.")
	twinsDesc      = desc("twins", "Nodes of which two hosts have the key or the name, as this node has seen it in the last two minutes.")
	refusedDesc    = desc("refused_total", "What others have sent and this node has left out, by why.", "reason")
	strangersDesc  = desc("strangers_refused_total", "Connections of nobody who may join, by why.", "reason")
	bytesDesc      = desc("bytes_total", "Bytes of the overlay's messages, before encryption.", "direction")
	messagesDesc   = desc("messages_total", "Messages of the overlay.", "direction")
	lostDesc       = desc("messages_lost_total", "Messages of the overlay that were not sent or not read. Exchanges repair it.", "why")
)

// strangerReasons say why a connection was refused of somebody that may not join.
var strangerReasons = []mtls.Reason{
	mtls.NoCertificate, mtls.NoTLS, mtls.OldTLS, mtls.UnknownKey, mtls.WrongKey, mtls.OtherCA, mtls.Expired, mtls.Malformed, mtls.Silent, mtls.TooMany,
	mtls.OtherName, mtls.Crowded,
}

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{changesDesc, tenureDesc, leadsDesc, silentDesc, neighboursDesc, differingDesc, twinsDesc, refusedDesc, strangersDesc, bytesDesc, messagesDesc, lostDesc} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	now, there := c.office.Member()
	if !there {
		return
	}
	var s gossip.Status
	var strangers map[mtls.Reason]uint64
	if now != nil {
		s, strangers = now.Status(), now.Strangers()
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	count := func(d *prometheus.Desc, v uint64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for _, name := range c.office.Namespaces() {
		var n gossip.Hint
		if at := slices.IndexFunc(s.Hints, func(n gossip.Hint) bool { return n.Namespace == name }); at >= 0 {
			n = s.Hints[at]
		}
		count(changesDesc, uint64(max(0, n.Changes)), name)
		gauge(tenureDesc, n.Tenure.Seconds(), name)
		leads := 0.0
		if n.Leads {
			leads = 1
		}
		gauge(leadsDesc, leads, name)
		gauge(silentDesc, float64(len(n.Silent)), name)
	}
	differing := 0
	for _, n := range s.Neighbours {
		if len(now.Differs(n.Name)) > 0 {
			differing++
		}
	}
	gauge(neighboursDesc, float64(len(s.Neighbours)))
	gauge(differingDesc, float64(differing))
	twins := slices.DeleteFunc(c.office.Twins(), func(t Twin) bool { return t.Over })
	gauge(twinsDesc, float64(len(twins)))
	for _, reason := range gossip.Reasons() {
		count(refusedDesc, s.Counts.Refused[reason], reason)
	}
	for _, reason := range strangerReasons {
		count(strangersDesc, strangers[reason], string(reason))
	}
	count(bytesDesc, s.Counts.BytesSent, "sent")
	count(bytesDesc, s.Counts.BytesReceived, "received")
	count(messagesDesc, s.Counts.MessagesSent, "sent")
	count(messagesDesc, s.Counts.MessagesReceived, "received")
	count(lostDesc, s.Counts.Unsent, "unsent")
	count(lostDesc, s.Counts.Dropped, "dropped")
	count(lostDesc, s.Counts.Undated, "undated")
}
