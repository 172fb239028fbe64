package sequencer

import (
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// The first byte of what is sent says what it is.
const (
	messageTag = 0
	beatTag    = 1
)

// send signs a message and sends it. One to oneself is an input.
func (n *Node) send(to ledger.Account, msg wire.Message) {
	self := to == n.cfg.Self
	switch {
	case core.Signs(msg.Body):
		n.sign(n.places[msg.Contract], msg.Body, func(signed wire.Body) {
			if msg.Body = signed; self {
				n.put(core.Received{From: to, Message: msg})
				return
			}
			n.encode(to, msg)
		})
	case self:
		n.own = append(n.own, core.Received{From: to, Message: msg})
	default:
		n.encode(to, msg)
	}
}

// beat sends a heartbeat.
func (n *Node) beat(b core.Beat) {
	if b.To == n.cfg.Self {
		n.own = append(n.own, core.Beaten{From: b.To, Beat: b.Beat})
		return
	}
	bytes, err := wire.EncodeBeat(b.Beat)
	if err != nil {
		n.cfg.Log.Error("a heartbeat cannot be sent", "error", err)
		return
	}
	n.transmit(b.To, beatTag, bytes)
}

func (n *Node) encode(to ledger.Account, msg wire.Message) {
	bytes, err := wire.Encode(msg)
	if err != nil {
		n.cfg.Log.Error("a message cannot be sent", "message", msg.String(), "error", err)
		return
	}
	n.transmit(to, messageTag, bytes)
}

// transmit sends bytes, which may get lost.
func (n *Node) transmit(to ledger.Account, tag byte, bytes []byte) {
	name, is := n.cfg.Peers[to]
	if !is {
		return
	}
	if err := n.line.Send(name, append([]byte{tag}, bytes...)); err != nil {
		n.cfg.Log.Debug("a message was not sent", "to", name, "error", err)
	}
}

// read decodes what arrives. Bytes that are no message are answered if they show a request.
func (n *Node) read() {
	for {
		select {
		case e := <-n.line.Inbox():
			if from, known := n.accounts[e.From]; known && len(e.Body) > 0 {
				n.arrived(from, e.Body[0], e.Body[1:])
			}
		case <-n.ctx.Done():
			return
		}
	}
}

func (n *Node) arrived(from ledger.Account, tag byte, bytes []byte) {
	switch tag {
	case beatTag:
		b, err := wire.DecodeBeat(bytes)
		if err != nil {
			n.cfg.Log.Warn("a heartbeat cannot be read", "from", from.String(), "error", err)
			return
		}
		n.hear(core.Beaten{From: from, Beat: b})
	case messageTag:
		msg, err := wire.Decode(bytes)
		if err != nil {
			n.cfg.Log.Warn("a message cannot be read", "from", from.String(), "error", err)
			n.hear(core.Malformed{From: from, Message: msg})
			return
		}
		n.hear(core.Arrived{From: from, Message: msg, Size: len(bytes)})
	}
}
