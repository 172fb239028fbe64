package agent

import (
	"errors"

	"github.com/conchhq/conch/gossip"
	"github.com/conchhq/conch/gossip/spray"
	spraywire "github.com/conchhq/conch/gossip/spray/wire"
	"github.com/conchhq/conch/gossip/wire"
)

// Counts are of this start. Bytes are those of messages, without what a transport adds.
type Counts struct {
	MessagesSent, MessagesReceived uint64
	BytesSent, BytesReceived       uint64
	Unsent                         uint64 // messages that the transport did not take: the peer is gone, or too slow
	Dropped                        uint64 // messages that found an inbox full
	Undated                        uint64 // parcels that were left out after the process stood still
	// Refused counts what peers have sent and was left out, by reason (Reasons has them all).
	Refused map[string]uint64
}

// gossipReasons are short names for why a statement or a parcel is refused.
var gossipReasons = map[error]string{
	gossip.ErrSignature: "signature", gossip.ErrBack: "back", gossip.ErrElector: "elector", gossip.ErrFlood: "flood", gossip.ErrNews: "news",
	gossip.ErrNamespace: "namespace", gossip.ErrTopics: "topics", gossip.ErrPeer: "unconnected", gossip.ErrLastReign: "last-reign",
	wire.ErrMalformed: "malformed", wire.ErrVersion: "version", wire.ErrSize: "size", wire.ErrAge: "age", wire.ErrReign: "reign",
}

// overlayReasons are those of the overlay's messages.
var overlayReasons = map[spray.Why]string{
	spray.Unconnected: "overlay-unconnected", spray.Crowded: "overlay-crowded", spray.Flooding: "overlay-flood",
	spray.Malformed: "overlay-malformed", spray.NamesUs: "overlay-names-us", spray.Unasked: "overlay-unasked",
	spray.Hasty: "overlay-hasty", spray.Overfull: "overlay-overfull",
}

// overlayFaults are those of messages that could not be read.
var overlayFaults = map[error]string{
	spraywire.ErrMalformed: "overlay-malformed", spraywire.ErrSize: "overlay-size", spraywire.ErrVersion: "overlay-version",
	spraywire.ErrKind: "overlay-kind",
}

func gossipReason(err error) string { return reasonIn(gossipReasons, err, "malformed") }

func overlayReason(err error) string { return reasonIn(overlayFaults, err, "overlay-malformed") }

func reasonIn(all map[error]string, err error, other string) string {
	for kind, reason := range all {
		if errors.Is(err, kind) {
			return reason
		}
	}
	return other
}

// Reasons returns all reasons of Counts.Refused, in no order. Those that begin with "overlay-" are of messages that make
// the overlay, the others of statements.
func Reasons() []string {
	all := map[string]bool{}
	for _, r := range gossipReasons {
		all[r] = true
	}
	for _, r := range overlayReasons {
		all[r] = true
	}
	for _, r := range overlayFaults {
		all[r] = true
	}
	out := make([]string, 0, len(all))
	for r := range all {
		out = append(out, r)
	}
	return out
}
