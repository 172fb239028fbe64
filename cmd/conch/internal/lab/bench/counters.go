//go:build unix

package bench

import (
	"context"
	"strconv"
	"strings"

	"github.com/conchhq/conch/cmd/conch/internal/lab/consortium"
)

// counters are what a node's metrics say of its peers, summed up.
type counters struct {
	connected       int // peers
	messages, bytes float64
}

func (c counters) plus(o counters) counters {
	return counters{c.connected + o.connected, c.messages + o.messages, c.bytes + o.bytes}
}

func (c counters) minus(o counters) counters {
	return counters{c.connected - o.connected, c.messages - o.messages, c.bytes - o.bytes}
}

// sent returns what all nodes have sent.
func (g *group) sent(ctx context.Context) (all counters, err error) {
	for _, m := range g.Members {
		one, err := g.counters(ctx, m)
		if err != nil {
			return all, err
		}
		all = all.plus(one)
	}
	return all, nil
}

// counters reads what a node has sent.
func (g *group) counters(ctx context.Context, m *consortium.Member) (c counters, err error) {
	page, err := m.Text(ctx, "/metrics")
	return countersOf(page), err
}

func countersOf(page string) (c counters) {
	for line := range strings.Lines(page) {
		name, text, _ := strings.Cut(strings.TrimSpace(line), "} ")
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			continue // a comment, or without labels
		}
		switch {
		case strings.HasPrefix(name, "conch_sequencer_peer_connected{"):
			c.connected += int(value)
		case strings.Contains(name, `direction="sent"`) && strings.HasPrefix(name, "conch_sequencer_messages_total{"):
			c.messages += value
		case strings.Contains(name, `direction="sent"`) && strings.HasPrefix(name, "conch_sequencer_message_bytes_total{"):
			c.bytes += value
		}
	}
	return c
}
