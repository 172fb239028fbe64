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

var (
	measured = metric.Table{Of: "gossip_"}

	changesDesc    = measured.New("leader_changes_total", "Times that this node began to suggest another leader, or the same one in another reign.", "namespace")
	tenureDesc     = measured.New("leader_tenure_seconds", "For how long this node has suggested the leader that it suggests now, 0 while it suggests none.", "namespace")
	leadsDesc      = measured.New("leads", "1 while this node is the suggested leader, as it sees it itself. A hint: others may see another one.", "namespace")
	silentDesc     = measured.New("electors_silent", "Electors that this node, one of them, does not hear. A majority of them, itself counted, has to be heard for a new leader. Elsewhere 0.", "namespace")
	neighboursDesc = measured.New("neighbours", "Nodes of the overlay to which this one has a connection.")
	differingDesc  = measured.New("neighbours_differing", "Neighbours whose [gossip] has another value where all nodes have to have the same.")
	twinsDesc      = measured.New("twins", "Nodes of which two hosts have the key or the name, as this node has seen it in the last two minutes.")
	refusedDesc    = measured.New("refused_total", "What others have sent and this node has left out, by why.", "reason")
	strangersDesc  = measured.New("strangers_refused_total", "Connections of nobody who may join, by why.", "reason")
	bytesDesc      = measured.New("bytes_total", "Bytes of the overlay's messages, before encryption.", "direction")
	messagesDesc   = measured.New("messages_total", "Messages of the overlay.", "direction")
	lostDesc       = measured.New("messages_lost_total", "Messages of the overlay that were not sent or not read. Exchanges repair it.", "why")
)

// strangerReasons say why a connection was refused of somebody that may not join.
var strangerReasons = []mtls.Reason{
	mtls.NoCertificate, mtls.NoTLS, mtls.OldTLS, mtls.UnknownKey, mtls.WrongKey, mtls.OtherCA, mtls.Expired, mtls.Malformed, mtls.Silent, mtls.TooMany,
	mtls.OtherName, mtls.Crowded,
}

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) { measured.Describe(to) }

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
	out := metric.Samples(to)
	for _, name := range c.office.Namespaces() {
		var n gossip.Hint
		if at := slices.IndexFunc(s.Hints, func(n gossip.Hint) bool { return n.Namespace == name }); at >= 0 {
			n = s.Hints[at]
		}
		out.Count(changesDesc, float64(max(0, n.Changes)), name)
		out.Gauge(tenureDesc, n.Tenure.Seconds(), name)
		out.Flag(leadsDesc, n.Leads, name)
		out.Gauge(silentDesc, float64(len(n.Silent)), name)
	}
	differing := 0
	for _, n := range s.Neighbours {
		if len(now.Differs(n.Name)) > 0 {
			differing++
		}
	}
	out.Gauge(neighboursDesc, float64(len(s.Neighbours)))
	out.Gauge(differingDesc, float64(differing))
	twins := slices.DeleteFunc(c.office.Twins(), func(t Twin) bool { return t.Over })
	out.Gauge(twinsDesc, float64(len(twins)))
	for _, reason := range gossip.Reasons() {
		out.Count(refusedDesc, float64(s.Counts.Refused[reason]), reason)
	}
	for _, reason := range strangerReasons {
		out.Count(strangersDesc, float64(strangers[reason]), string(reason))
	}
	out.Count(bytesDesc, float64(s.Counts.BytesSent), "sent")
	out.Count(bytesDesc, float64(s.Counts.BytesReceived), "received")
	out.Count(messagesDesc, float64(s.Counts.MessagesSent), "sent")
	out.Count(messagesDesc, float64(s.Counts.MessagesReceived), "received")
	out.Count(lostDesc, float64(s.Counts.Unsent), "unsent")
	out.Count(lostDesc, float64(s.Counts.Dropped), "dropped")
	out.Count(lostDesc, float64(s.Counts.Undated), "undated")
}
