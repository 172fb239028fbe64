package core

import (
	"errors"
	"maps"
	"slices"

	"github.com/conchhq/conch/gossip/internal/hint"
	"github.com/conchhq/conch/gossip/internal/overlay"
	overlaywire "github.com/conchhq/conch/gossip/internal/overlay/wire"
	"github.com/conchhq/conch/gossip/internal/wire"
)

// refusal is a reason of the overlay as an error.
type refusal overlay.Why

func (r refusal) Error() string { return string(r) }

// reasons are short names for why something of a peer is left out. Those of the overlay's messages begin with "overlay-".
var reasons = map[error]string{
	hint.ErrSignature: "signature", hint.ErrBack: "back", hint.ErrElector: "elector", hint.ErrFlood: "flood", hint.ErrNews: "news",
	hint.ErrNamespace: "namespace", hint.ErrTopics: "topics", hint.ErrPeer: "unconnected", hint.ErrLastReign: "last-reign",
	wire.ErrMalformed: "malformed", wire.ErrVersion: "version", wire.ErrSize: "size", wire.ErrAge: "age", wire.ErrReign: "reign",

	refusal(overlay.Unconnected): "overlay-unconnected", refusal(overlay.Crowded): "overlay-crowded", refusal(overlay.Flooding): "overlay-flood",
	refusal(overlay.Malformed): "overlay-malformed", refusal(overlay.NamesUs): "overlay-names-us", refusal(overlay.Unasked): "overlay-unasked",
	refusal(overlay.Hasty): "overlay-hasty", refusal(overlay.Overfull): "overlay-overfull",
	overlaywire.ErrMalformed: "overlay-malformed", overlaywire.ErrSize: "overlay-size", overlaywire.ErrVersion: "overlay-version",
	overlaywire.ErrKind: "overlay-kind",
}

// Reason returns the short name for why something was left out.
func Reason(why error) string {
	for kind, reason := range reasons {
		if errors.Is(why, kind) {
			return reason
		}
	}
	return "malformed"
}

// Reasons returns all of them, sorted.
func Reasons() []string { return slices.Compact(slices.Sorted(maps.Values(reasons))) }

// refuse counts a message of the overlay that was left out, and tells of it.
func (c *Core) refuse(from string, why error) {
	c.counts.Refused[Reason(why)]++
	subject := c.subjectOf(from)
	c.tellFact(hint.Refused{From: from, Subject: subject, Why: why}, subject)
}

// Counts are of this start. Bytes are those of messages, without what a transport adds.
type Counts struct {
	MessagesReceived, BytesReceived uint64
	Unsent                          uint64            // messages that have no bytes
	Undated                         uint64            // parcels that were left out after the process stood still
	Refused                         map[string]uint64 // what was left out, by reason
}

// Counts returns a copy of the counts.
func (c *Core) Counts() Counts {
	out := c.counts
	out.Refused = maps.Clone(c.counts.Refused)
	for why, n := range c.hint.Refusals() {
		reason := reasons[why]
		if by := uint64(n) - c.faults[reason]; by > 0 {
			out.Refused[reason] += by
		}
	}
	return out
}
