package core

import (
	"slices"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// hearOthers takes what comes from others.
func (c *Core) hearOthers(in Input) {
	switch in := in.(type) {
	case Arrived:
		c.messageArrived(in)
	case Malformed:
		c.rejectMessage(in.From, in.Message, wire.Malformed)
	case Received:
		c.messageReceived(in)
	case Proven:
		c.messageReceived(in.Received)
		delete(c.places[in.Message.Contract].proving, in.From)
	case Beaten:
		c.heartbeatHeard(in)
	}
}

// messageArrived has what is signed verified, and gives everything else to its contract.
func (c *Core) messageArrived(in Arrived) {
	p, got := c.places[in.Message.Contract], Received{From: in.From, Message: in.Message, Size: in.Size}
	handover, hands := in.Message.Body.(wire.Handover)
	switch {
	case p == nil:
		c.rejectMessage(in.From, in.Message, wire.UnknownContract)
	case !p.hasMember(in.From): // it would be woken for a stranger
		c.rejectMessage(in.From, in.Message, wire.NotMember)
	case Signs(in.Message.Body):
		c.verifyMessage(p, got)
	case hands:
		c.proveHandover(p, got, handover)
	default:
		c.messageReceived(got)
	}
}

// verifyMessage has signatures looked at. What is not needed, or not any more, is not verified: all members endorse, anybody sends
// what was not asked for, and each signature costs as much as everything else that is done with it. Such an endorsement is a
// refusal, and such a grant is for nobody, so that it can only be returned.
func (c *Core) verifyMessage(p *place, in Received) {
	v := Verify{Received: in}
	switch b := in.Message.Body.(type) {
	case wire.Endorsed:
		for i, one := range b.Verdicts {
			switch {
			case one.Why != wire.Done:
			case p.needsAnswer(in.Message.Request, i):
				v.Needed = append(v.Needed, i)
			default:
				b.Verdicts[i] = wire.Verdict{Assembled: one.Assembled, Why: wire.Refused, Text: "it is not needed, and was not verified"}
			}
		}
	case wire.Granted:
		for i := range b.Items {
			switch {
			case b.Items[i].Why != wire.Done:
			case p.needsAnswer(in.Message.Request, i):
				v.Needed = append(v.Needed, i)
			default:
				b.Items[i].Grant.Coordinator = ""
			}
		}
	}
	c.act(v)
}

// proveHandover has that of a handover proven which may count. One wrong proof spoils all: an honest member has verified each before it
// dispatched anything. A member has one handover proven at a time; a second one is left out meanwhile.
func (c *Core) proveHandover(p *place, in Received, h wire.Handover) {
	if p.open == nil || p.open.Coordinator == nil || p.proving[in.From] {
		return // nobody waits for it
	}
	if p.proving == nil {
		p.proving = map[ledger.Account]bool{}
	}
	p.proving[in.From] = true
	c.act(Prove{in, p.open.Coordinator.Claims(in.From, in.Message.Request, h)})
}

// messageReceived gives a message to its contract, or refuses it while too much waits there (I10).
func (c *Core) messageReceived(in Received) {
	if !c.withContract(c.places[in.Message.Contract], in.Size, func(k *contract) { k.receiveMessage(in.From, in.Message, in.Forged) }) {
		c.rejectMessage(in.From, in.Message, wire.Busy)
	}
}

// rejectMessage answers what no machine can: every request gets an answer (I10). A rejection gets none: two nodes that both have no
// such contract would go on for ever.
func (c *Core) rejectMessage(to ledger.Account, msg wire.Message, why wire.Why) {
	_, rejection := msg.Body.(wire.Rejected)
	own := msg.Request.Incarnation == c.cfg.Coordinates || msg.Request.Incarnation == c.cfg.Fetches ||
		[8]byte(msg.Request.Incarnation[8:]) == [8]byte(c.cfg.Owns[8:])
	if rejection || msg.Request.Number == 0 || own || msg.Contract == "" {
		return
	}
	c.act(Send{to, wire.Message{Contract: msg.Contract, Request: msg.Request, Body: wire.Rejected{Why: why, Text: why.String()}}})
}

func (k *contract) sendMessage(to ledger.Account, msg wire.Message) { k.core.act(Send{to, msg}) }

// receiveMessage gives a message to the machine that it is for. It is forged if a signature in it is wrong.
func (k *contract) receiveMessage(from ledger.Account, msg wire.Message, forged bool) {
	k.place.noteHeight(from, msg.Height, k.core.now)
	switch body := msg.Body.(type) {
	case wire.Delegate, wire.AskList, wire.AskHandover:
		if k.Coordinator == nil {
			k.core.rejectMessage(from, msg, wire.NotMember)
			return
		}
		k.toCoordinator(coordinator.Received{From: from, Message: msg})
	case wire.Noted:
		if msg.Request.Incarnation == k.core.cfg.Fetches {
			k.offers.contentsKept(msg.Request.Number)
			return
		}
		k.toCoordinator(coordinator.Received{From: from, Message: msg})
	case wire.Assembled, wire.Endorsed, wire.Granted, wire.Handover:
		k.toCoordinator(coordinator.Received{From: from, Message: msg, Forged: forged})
	case wire.Endorse:
		k.toEndorser(endorser.Received{From: from, Message: msg})
	case wire.AskAttempts:
		k.serveContents(from, msg, body)
	case wire.Attempts:
		if msg.Request.Incarnation == k.core.cfg.Fetches {
			k.absent.hearContents(body.Attempts)
		} else {
			k.keepForMember(from, msg, body)
		}
	case wire.Rejected:
		switch msg.Request.Incarnation {
		case k.core.cfg.Coordinates:
			k.toCoordinator(coordinator.Received{From: from, Message: msg})
		case k.owns:
			k.toSender(sender.Received{From: from, Message: msg})
		}
	default:
		k.toSender(sender.Received{From: from, Message: msg})
	}
}

// How many times at once contents are read for one member, and for all: the connections are also those of users.
const (
	mostServed = 2
	mostReads  = 3
)

// beginsReading asks the store for contents for a member, unless too much is read already: then it says so, and returns false.
func (k *contract) beginsReading(from ledger.Account, msg wire.Message) bool {
	c := k.core
	if c.serving[from] == mostServed || c.reads == mostReads {
		c.rejectMessage(from, msg, wire.Busy)
		return false
	}
	c.serving[from]++
	c.reads++
	return true
}

// endReading ends that.
func (k *contract) endReading(from ledger.Account) {
	k.core.serving[from]--
	k.core.reads--
}

// readAttempts asks the store for contents.
func (k *contract) readAttempts(named []ledger.Hash, then func(Answered)) {
	k.core.act(ReadAttempts{ID: k.core.askQuestion(then), Contract: k.address(), Named: named})
}

// serveContents answers a member that lacks the contents of attempts, from memory and from the store.
func (k *contract) serveContents(from ledger.Account, msg wire.Message, ask wire.AskAttempts) {
	if !k.beginsReading(from, msg) {
		return
	}
	var known []wire.Whole
	var lacks []ledger.Hash
	for _, h := range ask.Assembled {
		if w, is := k.Book.Whole(h); is {
			known = append(known, w)
		} else {
			lacks = append(lacks, h)
		}
	}
	k.readAttempts(lacks, func(a Answered) {
		answer := wire.Message{Contract: k.address(), Request: msg.Request}
		for all := slices.Concat(known, a.Attempts); ; all = all[:len(all)/2] { // the other asks again for the rest
			if answer.Body = (wire.Attempts{Attempts: all}); wire.Fits(answer) || len(all) == 0 {
				break
			}
		}
		k.sendMessage(from, answer)
		k.endReading(from)
		k.sayTrouble(&k.unread, a.Err, "attempts cannot be read", "attempts can be read again")
	})
}
