package contracts

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/conchhq/conch/cmd/conch/internal/metric"
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/transport/mtls"
)

// scrapePatience is how long a scrape waits for the node.
const scrapePatience = time.Second

// collector reads the metrics from the node when they are asked for. While another process leads there are none.
type collector struct{ s *service }

var (
	measured = metric.Table{Of: "sequencer_"}

	openDesc         = measured.New("transactions", "Open transactions of this node's users.", "contract", "state")
	coordinatingDesc = measured.New("coordinating", "Transactions that this node coordinates.", "contract", "stage")
	entriesDesc      = measured.New("entries_total", "Entries that this node has sent to the ledger since its start, by how they have ended.", "contract", "end")
	finalDesc        = measured.New("final_block", "Last final block that this node has followed.", "contract")
	nudgesDesc       = measured.New("nudges_total", "Empty transactions that this node sent since a chain stood still.", "contract")
	missingDesc      = measured.New("missing_attempts", "Attempts on the ledger whose contents this node lacks.", "contract")
	forgottenDesc    = measured.New("forgotten_total", "What the database has forgotten since the node's term began, as it ended long ago.", "kind")
	aloneDesc        = measured.New("told_alone_total", "Transactions told as confirmed since the node's term began, though no other member had said that it keeps their contents.")
	connectedDesc    = measured.New("peer_connected", "1 if messages to the peer leave.", "peer")
	messagesDesc     = measured.New("messages_total", "Messages to and from a peer.", "peer", "direction")
	bytesDesc        = measured.New("message_bytes_total", "Bytes of the packets in which messages to and from a peer were, before encryption.", "peer", "direction")
	droppedDesc      = measured.New("messages_dropped_total", "Messages to and from a peer that were dropped.", "peer", "reason")
	brakedDesc       = measured.New("peer_braked_total", "Times that a peer sent more than its rate, and was made to wait.", "peer")
	differDesc       = measured.New("members_differing", "Members that have another declaration of the contract, or none.", "contract")
	strangersDesc    = measured.New("strangers_refused_total", "Connections of nobody who is known.", "reason")
	outagesDesc      = measured.New("outages_total", "Times that contracts began to wait for a chain or the database.", "reason")
	refusedDesc      = measured.New("peer_refused_total", "Connections with a peer that were refused or ended.", "peer", "reason")
)

// Describe implements prometheus.Collector.
func (*collector) Describe(to chan<- *prometheus.Desc) { measured.Describe(to) }

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
	out := metric.Samples(to)
	for _, address := range t.node.Contracts() {
		if s, err := t.node.Look(ctx, address); err == nil {
			contractMetrics(out, address, s)
		}
	}
	forgotten := t.node.Forgotten()
	for kind, n := range map[string]int{"transactions": forgotten.Intents, "attempts": forgotten.Attempts} {
		out.Count(forgottenDesc, float64(n), kind)
	}
	out.Count(aloneDesc, float64(t.node.Alone()))
	stats := t.endpoint.Stats()
	for name, s := range stats.Peers {
		peerMetrics(out, name, s)
	}
	for reason, n := range stats.Strangers {
		out.Count(strangersDesc, float64(n), string(reason))
	}
	for reason, n := range t.node.Outages() {
		out.Count(outagesDesc, float64(n), reason)
	}
}

func contractMetrics(out metric.Samples, address string, s sequencer.Status) {
	for state, n := range s.Intents {
		out.Gauge(openDesc, float64(n), address, state)
	}
	for stage, n := range s.Coordinates {
		out.Gauge(coordinatingDesc, float64(n), address, stage)
	}
	out.Count(entriesDesc, float64(s.Landed), address, "landed")
	for why, n := range s.Skipped {
		out.Count(entriesDesc, float64(n), address, why)
	}
	out.Gauge(finalDesc, float64(s.Final), address)
	out.Gauge(missingDesc, float64(s.Missing), address)
	differing := 0
	for _, m := range s.Members {
		if m.Differs {
			differing++
		}
	}
	out.Gauge(differDesc, float64(differing), address)
	out.Count(nudgesDesc, float64(s.Nudges), address)
}

func peerMetrics(out metric.Samples, name string, s mtls.PeerStats) {
	out.Flag(connectedDesc, s.Connected, name)
	count := func(d *prometheus.Desc, n uint64, label string) {
		out.Count(d, float64(n), name, label)
	}
	count(messagesDesc, s.Sent, "sent")
	count(messagesDesc, s.Received, "received")
	count(bytesDesc, s.SentBytes, "sent")
	count(bytesDesc, s.ReceivedBytes, "received")
	count(droppedDesc, s.Full, "full")
	count(droppedDesc, s.Outdated, "outdated")
	count(droppedDesc, s.Dropped, "inbox")
	count(droppedDesc, s.Unread, "unread")
	out.Count(brakedDesc, float64(s.Braked), name)
	for reason, n := range s.Refused {
		count(refusedDesc, n, string(reason))
	}
}
