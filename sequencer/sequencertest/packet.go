package sequencertest

import (
	"github.com/conchhq/conch/sequencer"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// The first byte of a packet says what it is.
const (
	messageTag = 0
	beatTag    = 1
)

// Look returns what a packet between two nodes says: of which kind its message is, such as "ask grant", or "beat", and the contracts
// that it is about. A packet that cannot be read is of no kind.
func Look(packet []byte) (kind string, contracts []string) {
	if len(packet) == 0 {
		return "", nil
	}
	if msg, err := wire.Decode(packet[1:]); err == nil && packet[0] == messageTag {
		return msg.Body.Kind().String(), []string{msg.Contract}
	}
	beat, err := wire.DecodeBeat(packet[1:])
	if err != nil || packet[0] != beatTag {
		return "", nil
	}
	for _, p := range beat.Contracts {
		contracts = append(contracts, p.Contract)
	}
	return "beat", contracts
}

// Agree answers a packet as a member that endorses whatever it is asked for, and keeps all contents. It has no machine, so that it
// costs next to nothing. It returns nil if there is nothing to answer.
func Agree(c ledger.Contract, s ledger.Scheme, keys sequencer.Keys, packet []byte) []byte {
	if len(packet) == 0 || packet[0] != messageTag {
		return nil
	}
	msg, err := wire.Decode(packet[1:])
	if err != nil {
		return nil
	}
	switch asked := msg.Body.(type) {
	case wire.Endorse:
		var all wire.Endorsed
		for _, w := range asked.Attempts {
			v := wire.Verdict{Assembled: s.Assembled(c, w.Attempt)}
			if v.Signature, err = keys.Sign(v.Assembled); err != nil {
				return nil
			}
			all.Verdicts = append(all.Verdicts, v)
		}
		msg.Body = all
	case wire.Attempts:
		msg.Body = wire.Noted{}
	default:
		return nil
	}
	out, err := wire.Encode(wire.Message{Contract: msg.Contract, Height: msg.Height, Request: msg.Request, Body: msg.Body})
	if err != nil {
		return nil
	}
	return append([]byte{messageTag}, out...)
}
