package sequencer

import (
	"slices"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/endorser"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// The first byte of what is sent says what it is.
const (
	messageTag = 0
	beatTag    = 1
)

// send signs a message and sends it. One to oneself is an input.
func (c *contract) send(to ledger.Account, msg wire.Message) {
	self := to == c.n.cfg.Self
	switch {
	case signs(msg.Body):
		c.sign(msg.Body, func(signed wire.Body) {
			if msg.Body = signed; self {
				c.n.post(func() { c.receive(to, msg, false) })
				return
			}
			c.n.encode(to, msg)
		})
	case self:
		c.n.own = append(c.n.own, func() { c.receive(to, msg, false) })
	default:
		c.n.encode(to, msg)
	}
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

// read decodes what arrives and verifies what is signed. Bytes that are no message are answered if they show a request.
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
		n.post(func() {
			for _, p := range b.Contracts {
				n.pulse(from, b.Incarnation, p)
			}
		})
	case messageTag:
		msg, err := wire.Decode(bytes)
		if err != nil {
			n.cfg.Log.Warn("a message cannot be read", "from", from.String(), "error", err)
			n.reject(from, msg, wire.Malformed)
			return
		}
		n.post(func() {
			p := n.contracts[msg.Contract]
			verified := func(body wire.Body, forged bool) {
				msg.Body = body
				n.post(func() { n.deliver(p, from, msg, forged, len(bytes)) })
			}
			handover, hands := msg.Body.(wire.Handover)
			switch {
			case p == nil:
				n.reject(from, msg, wire.UnknownContract)
			case !p.has(from): // it would be woken for a stranger
				n.reject(from, msg, wire.NotMember)
			case signs(msg.Body):
				n.verify(p, from, msg, verified)
			case hands:
				n.prove(p, from, msg, handover, verified)
			default:
				n.deliver(p, from, msg, false, len(bytes))
			}
		})
	}
}

// deliver gives a message to its contract, or refuses it while too much waits there (I10).
func (n *Node) deliver(p *place, from ledger.Account, msg wire.Message, forged bool, size int) {
	if !n.with(p, size, func(c *contract) { c.receive(from, msg, forged) }) {
		n.reject(from, msg, wire.Busy)
	}
}

// reject answers what no machine can: every request gets an answer (I10). A rejection gets none: two nodes that both have no
// such contract would go on for ever.
func (n *Node) reject(to ledger.Account, msg wire.Message, why wire.Why) {
	_, rejection := msg.Body.(wire.Rejected)
	own := msg.Request.Incarnation == n.coordinates || msg.Request.Incarnation == n.fetches ||
		[8]byte(msg.Request.Incarnation[8:]) == [8]byte(n.owns[8:])
	if rejection || msg.Request.Number == 0 || own || msg.Contract == "" {
		return
	}
	n.encode(to, wire.Message{Contract: msg.Contract, Request: msg.Request, Body: wire.Rejected{Why: why, Text: why.String()}})
}

// receive gives a message to the machine that it is for. It is forged if a signature in it is wrong.
func (c *contract) receive(from ledger.Account, msg wire.Message, forged bool) {
	c.place.hears(from, msg.Height)
	switch body := msg.Body.(type) {
	case wire.Delegate, wire.AskList, wire.AskHandover:
		if c.coordinator == nil {
			c.n.reject(from, msg, wire.NotMember)
			return
		}
		c.toCoordinator(coordinator.Received{From: from, Message: msg})
	case wire.Noted:
		if msg.Request.Incarnation == c.n.fetches {
			c.kept(msg.Request.Number)
			return
		}
		c.toCoordinator(coordinator.Received{From: from, Message: msg})
	case wire.Assembled, wire.Endorsed, wire.Granted, wire.Handover:
		c.toCoordinator(coordinator.Received{From: from, Message: msg, Forged: forged})
	case wire.Endorse:
		c.toEndorser(endorser.Received{From: from, Message: msg})
	case wire.AskAttempts:
		c.serve(from, msg, body)
	case wire.Attempts:
		if msg.Request.Incarnation == c.n.fetches {
			c.hear(body.Attempts)
		} else {
			c.keepFor(from, msg, body)
		}
	case wire.Rejected:
		switch msg.Request.Incarnation {
		case c.n.coordinates:
			c.toCoordinator(coordinator.Received{From: from, Message: msg})
		case c.owns:
			c.toSender(sender.Received{From: from, Message: msg})
		}
	default:
		c.toSender(sender.Received{From: from, Message: msg})
	}
}

// How many times at once contents are read for one member, and for all: the connections are also those of users.
const (
	mostServed = 2
	mostReads  = 3
)

// serve answers a member that lacks the contents of attempts, from memory and from the store.
func (c *contract) serve(from ledger.Account, msg wire.Message, ask wire.AskAttempts) {
	if !slices.Contains(c.set.Declared.Members, from) {
		c.n.reject(from, msg, wire.NotMember)
		return
	}
	n := c.n
	if n.serving[from] == mostServed || n.reads == mostReads {
		n.reject(from, msg, wire.Busy)
		return
	}
	n.serving[from]++
	n.reads++
	var known []wire.Whole
	var lacks []ledger.Hash
	for _, h := range ask.Assembled {
		if w, is := c.book.Whole(h); is {
			known = append(known, w)
		} else {
			lacks = append(lacks, h)
		}
	}
	n.apart(func() {
		stored, err := n.cfg.Store.Attempts(n.ctx, c.address(), lacks)
		defer n.post(func() {
			n.serving[from]--
			n.reads--
			c.trouble(&c.unread, err, "attempts cannot be read", "attempts can be read again")
		})
		answer := wire.Message{Contract: c.address(), Request: msg.Request}
		for all := append(known, stored...); ; all = all[:len(all)/2] { // the other asks again for the rest
			if answer.Body = (wire.Attempts{Attempts: all}); wire.Fits(answer) || len(all) == 0 {
				break
			}
		}
		n.encode(from, answer)
	})
}
