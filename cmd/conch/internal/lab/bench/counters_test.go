//go:build unix

package bench

import "testing"

// Only what was sent counts: what one node has sent another has received.
func TestCountersOfAPage(t *testing.T) {
	t.Parallel()
	got := countersOf(`# HELP conch_sequencer_messages_total Messages to and from a peer.
conch_sequencer_peer_connected{peer="east"} 1
conch_sequencer_peer_connected{peer="west"} 0
conch_sequencer_messages_total{direction="sent",peer="east"} 7
conch_sequencer_messages_total{direction="received",peer="east"} 100
conch_sequencer_messages_total{direction="sent",peer="west"} 2
conch_sequencer_message_bytes_total{direction="sent",peer="east"} 1.5e+06
conch_sequencer_message_bytes_total{direction="received",peer="east"} 9
conch_sequencer_messages_dropped_total{peer="east",reason="full"} 3
conch_build_info 1
`)
	if want := (counters{connected: 1, messages: 9, bytes: 1_500_000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
