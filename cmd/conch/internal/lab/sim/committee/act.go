package committee

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/core"
	"github.com/conchhq/conch/sequencer/endorser"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/wire"
)

// feed has the core take an input, and does what it says.
func (n *node) feed(in core.Input) { n.perform(n.core.Step(n.now(), in)) }

func (n *node) perform(out core.Output) {
	life := n.lives
	for _, w := range out.Writes {
		n.commit(w)
	}
	for _, a := range out.Acts {
		if !n.up || n.lives != life {
			return // it was killed at one of them
		}
		n.act(a)
	}
}

func (n *node) act(a core.Act) {
	switch a := a.(type) {
	case core.Send:
		n.send(a.To, a.Message)
	case core.Beat:
		for _, p := range a.Beat.Contracts {
			n.beat(coordinator.Pulse{To: a.To, Pulse: p})
		}
	case core.Verify:
		a.Forged = n.signedWrongly(a)
		n.feed(a.Received)
	case core.Prove:
		if slices.ContainsFunc(a.Claims, func(e wire.Inherited) bool { return !n.r.proven(a.From, e) }) {
			a.Claims = nil
		}
		a.Message.Body = wire.Handover{Entries: a.Claims}
		n.feed(core.Proven{Received: a.Received})
	case core.Follow:
		n.following = a.Life
		n.catchUp(a.After)
	case core.Reached:
		do := n.reached[a.Ticket]
		delete(n.reached, a.Ticket)
		do()
	case core.Busy: // its user asks again
		delete(n.reached, a.Ticket)
	case core.Accepted:
		n.answers[a.Ticket](a)
	case core.Again:
		n.reach(func() { n.feed(a.Submit) })
	case core.Finished:
		n.r.told(n, a)
	case core.Say:
		n.r.Check(a.Level < slog.LevelError, "the world", "%s: %s %v", n.name, a.Text, a.Args)
	default:
		n.question(a)
	}
}

// reach does something once the contract is awake and up to date.
func (n *node) reach(do func()) {
	n.tickets++
	n.reached[n.tickets] = do
	n.feed(core.Reach{Ticket: n.tickets, Contract: n.r.contract.Address})
}

// question answers what the core asks, later.
func (n *node) question(a core.Act) {
	switch a := a.(type) {
	case core.ReadFinal:
		n.answer(n.r.w.Between(time.Millisecond, 20*time.Millisecond), func() core.Answered { return core.Answered{ID: a.ID, Final: ledger.Final{View: n.r.chain.final}} })
	case core.ReadAttempts:
		n.answer(n.r.w.Between(100*time.Microsecond, 5*time.Millisecond), func() core.Answered { return core.Answered{ID: a.ID, Attempts: n.db.attempts(a.Named)} })
	case core.Find:
		n.answer(time.Millisecond, func() core.Answered { return core.Answered{ID: a.ID, Found: n.db.find(a.Key)} })
	case core.Check:
		n.answer(n.r.w.Between(100*time.Microsecond, 5*time.Millisecond), func() core.Answered {
			return core.Answered{ID: a.ID, Outcomes: endorser.Judge(n.r.rules, a.Proposals)}
		})
	case core.SignCancellation:
		n.answer(time.Millisecond, func() core.Answered {
			return core.Answered{ID: a.ID, Signature: n.sign(n.r.scheme.Cancelled(n.r.contract, a.Intent))}
		})
	case core.Nudge:
		n.nudge()
		n.answer(time.Millisecond, func() core.Answered { return core.Answered{ID: a.ID} })
	case core.HandIn:
		n.submit(a.Sent)
		n.answer(time.Millisecond, func() core.Answered { return core.Answered{ID: a.ID} })
	case core.Review:
		lost := n.r.chain.review(n.account, a.Awaited)
		n.answer(time.Millisecond, func() core.Answered { return core.Answered{ID: a.ID, Lost: lost} })
	case core.Wait:
		n.answer(a.For, func() core.Answered { return core.Answered{ID: a.ID} })
	}
}

func (n *node) answer(wait time.Duration, is func() core.Answered) {
	n.later(wait, func() { n.feed(is()) })
}

func (n *node) nudge() {
	n.r.words.say(n, "asks the chain for an empty transaction")
	n.r.Stats["nudges"]++
	n.r.chain.send(fmt.Sprint("nudge ", n.r.w.Draw()), ledger.Sent{By: n.account})
}

// submit hands a transaction to the submitter.
func (n *node) submit(tx ledger.Sent) {
	if tx.Cancel != nil {
		n.r.chain.send(fmt.Sprint("cancel ", tx.Cancel.Intent), tx)
		return
	}
	n.r.judgeDispatch(n, tx.Entries)
	n.r.words.dispatches(n, tx.Entries)
	var key strings.Builder
	key.WriteString(n.name)
	for _, e := range tx.Entries {
		key.WriteString(e.Grant.Assembled.String())
	}
	n.r.chain.send(key.String(), tx)
	n.r.note(n.name, "dispatches", int64(len(tx.Entries)))
	n.r.busiest = n
}

// commit is a transaction of the database, with a crash before it, or after it and before anybody hears of it.
func (n *node) commit(w core.Write) {
	takes := time.Millisecond
	if c := w.Change; c.Sender != nil || c.Rows != nil || c.Noted != nil || c.Over != nil {
		n.r.Stats["commits"]++
		takes = n.r.w.Between(100*time.Microsecond, 3*time.Millisecond)
	}
	n.committed = max(n.committed+time.Microsecond, n.now()+takes) // one after the other
	n.later(n.committed-n.now(), func() {
		if n.r.strikes() {
			n.crash("before a commit")
			return
		}
		twice := n.db.write(w.Change)
		if w.Change.Sender != nil {
			n.r.stored(n, *w.Change.Sender)
		}
		if n.r.strikes() {
			n.crash("after a commit")
			return
		}
		n.later(time.Nanosecond, func() { n.feed(core.Written{IDs: []uint64{w.ID}, Twice: twice}) })
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

// signedWrongly reports whether a signature that is looked at is wrong.
func (n *node) signedWrongly(v core.Verify) bool {
	return slices.ContainsFunc(v.Needed, func(i int) bool {
		switch b := v.Message.Body.(type) {
		case wire.Endorsed:
			return !n.r.signer.Verify(v.From, b.Verdicts[i].Assembled, b.Verdicts[i].Signature)
		case wire.Granted:
			g := b.Items[i].Grant
			return !n.r.signer.Verify(v.From, n.r.scheme.Granted(n.r.contract, g), g.Signature)
		}
		return false
	})
}

// proven reports whether an entry was granted to the node that hands it over, and endorsed.
func (r *run) proven(from ledger.Account, e wire.Inherited) bool {
	entry := ledger.Entry{Attempt: e.Attempt, Grant: e.Grant, Endorsements: e.Endorsements}
	return r.broken == "proven-handover" || r.contract.Proven(r.scheme, from, entry)
}

// receive takes a message.
func (n *node) receive(from ledger.Account, msg wire.Message) {
	if _, grant := msg.Body.(wire.AskGrant); grant && n.deaf > 0 && n.now() > n.deaf {
		return
	}
	if body, is := msg.Body.(wire.Assembled); is {
		n.r.builtOn(n, body)
	}
	if from == n.account {
		n.feed(core.Received{From: from, Message: msg})
		return
	}
	n.feed(core.Arrived{From: from, Message: msg})
}

func (n *node) trace(to ledger.Account, msg wire.Message) {
	if n.r.cfg.Trace != nil {
		n.r.w.Note(n.name, fmt.Sprintf("-> %s %T %+v", string(to), msg.Body, msg.Body), int64(msg.Request.Number))
	}
}
