package committee

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/endorser"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

func (n *node) performSender(actions []sender.Action) {
	life := n.lives
	for _, a := range actions {
		if !n.up || n.lives != life {
			return // it was killed at one of them
		}
		switch a := a.(type) {
		case sender.Send:
			n.send(a.To, a.Message)
		case sender.Store:
			var twice []sender.Twice
			n.commit(func() { twice = n.db.storeSender(a); n.r.stored(n, a) }, func() {
				for _, t := range twice {
					n.toSender(t)
				}
				n.toSender(sender.Stored{ID: a.ID})
			})
		case sender.Submitted:
			n.r.accepted(n, a)
		case sender.Finished:
			n.r.told(n, a)
		case sender.Judge:
			n.later(n.r.w.Between(time.Millisecond, 20*time.Millisecond), func() {
				j := sender.Judged{Number: n.r.chain.final.Number()}
				for _, q := range a.Questions {
					j.Answers = append(j.Answers, q.Read(ledger.Final{View: n.r.chain.final}))
				}
				n.toSender(j)
			})
		case sender.SendCancellation:
			h := n.r.scheme.Cancelled(n.r.contract, a.Intent)
			n.r.chain.send(fmt.Sprint("cancel ", a.Intent), ledger.Sent{
				By: n.account, Cancel: &ledger.Cancellation{Intent: a.Intent, Signature: n.sign(h)},
			})
		case sender.Nudge:
			n.nudge()
		}
	}
}

func (n *node) performCoordinator(actions []coordinator.Action) {
	life := n.lives
	for _, a := range actions {
		if !n.up || n.lives != life {
			return
		}
		switch a := a.(type) {
		case coordinator.Send:
			n.send(a.To, a.Message)
		case coordinator.Pulse:
			n.beat(a)
		case coordinator.Store:
			n.commit(func() { n.db.storeDispatch(a) }, func() { n.toCoordinator(coordinator.Stored{Number: a.Number}) })
		case coordinator.Note:
			n.commit(func() { n.db.note(a) }, func() {})
		case coordinator.Forget:
			n.commit(func() { n.db.forget(a) }, func() {})
		case coordinator.Nudge:
			n.nudge()
		case coordinator.Submit:
			n.submit(a)
		case coordinator.Review:
			lost := n.r.chain.review(n.account, a.Awaited)
			n.later(time.Millisecond, func() { n.toCoordinator(coordinator.Reviewed{Lost: lost}) })
		case coordinator.Judge:
			n.later(n.r.w.Between(time.Millisecond, 20*time.Millisecond), func() {
				j := coordinator.Judged{Number: n.r.chain.final.Number()}
				for _, g := range a.Given {
					j.Ends = append(j.Ends, ledger.Final{View: n.r.chain.final}.Kills(g))
				}
				n.toCoordinator(j)
			})
		}
	}
}

func (n *node) performEndorser(actions []endorser.Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case endorser.Send:
			n.send(a.To, a.Message)
		case endorser.Check:
			n.later(n.r.w.Between(100*time.Microsecond, 5*time.Millisecond), func() {
				n.toEndorser(endorser.Checked{Of: a.Of, Outcomes: endorser.Judge(n.r.rules, a.Proposals)})
			})
		}
	}
}

func (n *node) nudge() {
	n.r.words.say(n, "asks the chain for an empty transaction")
	n.r.stats["nudges"]++
	n.r.chain.send(fmt.Sprint("nudge ", n.r.w.Draw()), ledger.Sent{By: n.account})
}

// submit hands entries to the submitter, in a transaction of their own each time.
func (n *node) submit(a coordinator.Submit) {
	n.r.judgeDispatch(n, a.Entries)
	n.r.words.dispatches(n, a.Entries)
	var key strings.Builder
	key.WriteString(n.name)
	for _, e := range a.Entries {
		key.WriteString(e.Grant.Assembled.String())
	}
	n.r.chain.send(key.String(), ledger.Sent{By: n.account, Entries: a.Entries})
	n.r.note(n.name, "dispatches", int64(len(a.Entries)))
	n.r.busiest = n
}

// commit is a transaction of the database, with a crash before it, or after it and before anybody hears of it.
func (n *node) commit(write, then func()) {
	n.r.stats["commits"]++
	n.committed = max(n.committed+time.Microsecond, n.now()+n.r.w.Between(100*time.Microsecond, 3*time.Millisecond)) // one after the other
	n.later(n.committed-n.now(), func() {
		if n.r.strikes() {
			n.crash("before a commit")
			return
		}
		write()
		if n.r.strikes() {
			n.crash("after a commit")
			return
		}
		n.later(time.Nanosecond, then)
	})
}

// send signs a message and sends it.
func (n *node) send(to ledger.Account, msg wire.Message) {
	if ask, is := msg.Body.(wire.Assemble); is && n.refuses {
		msg.Request, msg.Body = wire.RequestID{}, wire.Returned{Items: ask.Items, Why: wire.Refused}
	}
	msg.Body = n.signed(msg.Body)
	msg, speaks := n.said(to, msg)
	if !speaks {
		return
	}
	n.trace(to, msg)
	n.r.carry(n, to, msg)
}

// sign signs a hash. With a corrupt key one byte is wrong.
func (n *node) sign(h ledger.Hash) []byte {
	signature := n.r.signer.Sign(n.account, h)
	if n.corrupt {
		signature[0]++
	}
	return signature
}

// signed signs what a member signs.
func (n *node) signed(body wire.Body) wire.Body {
	switch b := body.(type) {
	case wire.Endorsed:
		verdicts := append([]wire.Verdict(nil), b.Verdicts...)
		for i, v := range verdicts {
			if v.Why == wire.Done {
				verdicts[i].Signature = n.sign(v.Assembled)
			}
		}
		return wire.Endorsed{Verdicts: verdicts}
	case wire.Granted:
		items := append([]wire.GrantResult(nil), b.Items...)
		for i, item := range items {
			if item.Why == wire.Done {
				items[i].Grant.Signature = n.sign(n.r.scheme.Granted(n.r.contract, item.Grant))
			}
		}
		return wire.Granted{Items: items}
	}
	return body
}

// proven leaves of a handover what is proven, as a loop has to.
func (n *node) proven(from ledger.Account, msg wire.Message) wire.Body {
	h, is := msg.Body.(wire.Handover)
	if !is {
		return msg.Body
	}
	claims := n.coordinator.Claims(from, msg.Request, h)
	if slices.ContainsFunc(claims, func(e wire.Inherited) bool { return !n.r.proven(from, e) }) {
		claims = nil
	}
	return wire.Handover{Entries: claims}
}

// signedWrongly reports whether a signature is wrong, as a loop has to. A node with a corrupt key believes itself.
func (n *node) signedWrongly(from ledger.Account, body wire.Body) bool {
	if n.corrupt && from == n.account {
		return false
	}
	switch b := body.(type) {
	case wire.Endorsed:
		return slices.ContainsFunc(b.Verdicts, func(v wire.Verdict) bool {
			return v.Why == wire.Done && !n.r.signer.Verify(from, v.Assembled, v.Signature)
		})
	case wire.Granted:
		return slices.ContainsFunc(b.Items, func(item wire.GrantResult) bool {
			return item.Why == wire.Done && !n.r.signer.Verify(from, n.r.scheme.Granted(n.r.contract, item.Grant), item.Grant.Signature)
		})
	}
	return false
}

// proven reports whether an entry was granted to the node that hands it over, and endorsed.
func (r *run) proven(from ledger.Account, e wire.Inherited) bool {
	entry := ledger.Entry{Attempt: e.Attempt, Grant: e.Grant, Endorsements: e.Endorsements}
	return r.broken == "proven-handover" || r.contract.Proven(r.scheme, from, entry)
}

// receive gives a message to the machine that it is for.
func (n *node) receive(from ledger.Account, msg wire.Message) {
	if _, grant := msg.Body.(wire.AskGrant); grant && n.deaf > 0 && n.now() > n.deaf {
		return
	}
	msg.Body = n.proven(from, msg)
	switch body := msg.Body.(type) {
	case wire.Assembled:
		n.r.builtOn(n, body)
		n.toCoordinator(coordinator.Received{From: from, Message: msg})
	case wire.Delegate, wire.AskList, wire.AskHandover, wire.Endorsed, wire.Granted, wire.Noted, wire.Handover:
		n.toCoordinator(coordinator.Received{From: from, Message: msg, Forged: n.signedWrongly(from, body)})
	case wire.Endorse:
		n.toEndorser(endorser.Received{From: from, Message: msg})
	case wire.AskAttempts:
		n.send(from, wire.Message{Contract: msg.Contract, Request: msg.Request, Body: n.db.attempts(n.book, body)})
	case wire.Attempts:
		for _, w := range body.Attempts {
			n.hear(w)
		}
	case wire.Rejected: // each machine has an incarnation of its own
		if msg.Request.Incarnation == n.incarnation {
			n.toCoordinator(coordinator.Received{From: from, Message: msg})
		} else {
			n.toSender(sender.Received{From: from, Message: msg})
		}
	default:
		n.toSender(sender.Received{From: from, Message: msg})
	}
}

func (n *node) trace(to ledger.Account, msg wire.Message) {
	if n.r.cfg.Trace != nil {
		n.r.w.Note(n.name, fmt.Sprintf("-> %s %T %+v", string(to), msg.Body, msg.Body), int64(msg.Request.Number))
	}
}
