package contracts

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/transport/mtls"
)

// scrapePatience is how long a scrape waits for the node.
const scrapePatience = time.Second

// collector reads the metrics from the node when they are asked for. While another process leads there are none.
type collector struct{ s *service }

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("conch_sequencer_"+name, help, labels, nil)
}

var (
	openDesc         = desc("transactions", "Open transactions of this node's users.", "contract", "state")
	coordinatingDesc = desc("coordinating", "Transactions that this node coordinates.", "contract", "stage")
	entriesDesc      = desc("entries_total", "Entries that this node has sent to the ledger since its start, by how they have ended.", "contract", "end")
	finalDesc        = desc("final_block", "Last final block that this node has followed.", "contract")
	nudgesDesc       = desc("nudges_total", "Empty transactions that this node sent since a chain stood still.", "contract")
	missingDesc      = desc("missing_attempts", "Attempts on the ledger whose contents this node lacks.", "contract")
	forgottenDesc    = desc("forgotten_total", "What the database has forgotten since the node's term began, as it ended long ago.", "kind")
	aloneDesc        = desc("told_alone_total", "Transactions told as confirmed since the node's term began, though no other member had said that it keeps their contents.")
	connectedDesc    = desc("peer_connected", "1 if messages to the peer leave.", "peer")
	messagesDesc     = desc("messages_total", "Messages to and from a peer.", "peer", "direction")
	bytesDesc        = desc("message_bytes_total", "Bytes of the packets in which messages to and from a peer were, before encryption.", "peer", "direction")
	droppedDesc      = desc("messages_dropped_total", "Messages to and from a peer that were dropped.", "peer", "reason")
	brakedDesc       = desc("peer_braked_total", "Times that a peer sent more than its rate, and was made to wait.", "peer")
	differDesc       = desc("members_differing", "Members that have another declaration of the contract, or none.", "contract")
	strangersDesc    = desc("strangers_refused_total", "Connections of nobody who is known.", "reason")
	outagesDesc      = desc("outages_total", "Times that contracts began to wait for a chain or the database.", "reason")
	refusedDesc      = desc("peer_refused_total", "Connections with a peer that were refused or ended.", "peer", "reason")
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		openDesc, coordinatingDesc, entriesDesc, finalDesc, missingDesc, nudgesDesc, forgottenDesc, aloneDesc, connectedDesc, messagesDesc, bytesDesc, droppedDesc, brakedDesc, differDesc, strangersDesc, outagesDesc, refusedDesc,
	} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.s.mu.Lock()
	t := c.s.term
	c.s.mu.Unlock()
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapePatience)
	defer cancel()
	for _, address := range t.node.Contracts() {
		if s, err := t.node.Look(ctx, address); err == nil {
			contractMetrics(to, address, s)
		}
	}
	forgotten := t.node.Forgotten()
	for kind, n := range map[string]int{"transactions": forgotten.Intents, "attempts": forgotten.Attempts} {
		to <- prometheus.MustNewConstMetric(forgottenDesc, prometheus.CounterValue, float64(n), kind)
	}
	to <- prometheus.MustNewConstMetric(aloneDesc, prometheus.CounterValue, float64(t.node.Alone()))
	stats := t.endpoint.Stats()
	for name, s := range stats.Peers {
		peerMetrics(to, name, s)
	}
	for reason, n := range stats.Strangers {
		to <- prometheus.MustNewConstMetric(strangersDesc, prometheus.CounterValue, float64(n), string(reason))
	}
	for reason, n := range t.node.Outages() {
		to <- prometheus.MustNewConstMetric(outagesDesc, prometheus.CounterValue, float64(n), reason)
	}
}

func contractMetrics(to chan<- prometheus.Metric, address string, s sequencer.Status) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for state, n := range s.Intents {
		gauge(openDesc, float64(n), address, state)
	}
	for stage, n := range s.Coordinates {
		gauge(coordinatingDesc, float64(n), address, stage)
	}
	to <- prometheus.MustNewConstMetric(entriesDesc, prometheus.CounterValue, float64(s.Landed), address, "landed")
	for why, n := range s.Skipped {
		to <- prometheus.MustNewConstMetric(entriesDesc, prometheus.CounterValue, float64(n), address, why)
	}
	gauge(finalDesc, float64(s.Final), address)
	gauge(missingDesc, float64(s.Missing), address)
	differing := 0
	for _, m := range s.Members {
		if m.Differs {
			differing++
		}
	}
	gauge(differDesc, float64(differing), address)
	to <- prometheus.MustNewConstMetric(nudgesDesc, prometheus.CounterValue, float64(s.Nudges), address)
}

func peerMetrics(to chan<- prometheus.Metric, name string, s mtls.PeerStats) {
	connected := 0.0
	if s.Connected {
		connected = 1
	}
	to <- prometheus.MustNewConstMetric(connectedDesc, prometheus.GaugeValue, connected, name)
	count := func(d *prometheus.Desc, n uint64, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), name, label)
	}
	count(messagesDesc, s.Sent, "sent")
	count(messagesDesc, s.Received, "received")
	count(bytesDesc, s.SentBytes, "sent")
	count(bytesDesc, s.ReceivedBytes, "received")
	count(droppedDesc, s.Full, "full")
	count(droppedDesc, s.Outdated, "outdated")
	count(droppedDesc, s.Dropped, "inbox")
	count(droppedDesc, s.Unread, "unread")
	to <- prometheus.MustNewConstMetric(brakedDesc, prometheus.CounterValue, float64(s.Braked), name)
	for reason, n := range s.Refused {
		count(refusedDesc, n, string(reason))
	}
}
