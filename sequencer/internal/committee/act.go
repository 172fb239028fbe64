package committee

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// feed has the core take an input, and does what it says.
func (n *node) feed(in core.Input) { n.perform(n.step(in)) }

func (n *node) step(in core.Input) core.Output {
	out := n.core.Step(n.now(), in)
	if m, awake := n.core.Machines(n.r.contract.Address); awake {
		n.Machines = m
	}
	return out
}

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
		n.after(5*time.Millisecond, func() { n.feed(a.Received) })
	case core.Prove:
		from, handed := a.From, a.Message
		if slices.ContainsFunc(a.Claims, func(e wire.Dispatch) bool { return !n.r.proven(a.From, e) }) {
			a.Claims = nil
		}
		a.Message.Body = wire.Handover{Entries: a.Claims}
		n.after(5*time.Millisecond, func() {
			n.r.judgeHanded(n, from, handed)
			n.feed(core.Proven{Received: a.Received})
		})
	case core.Open:
		n.open(a.Number)
	case core.Follow:
		n.begin(a)
	case core.Unfollow:
		n.following = 0
	case core.Reached:
		do := n.reached[a.Ticket]
		if delete(n.reached, a.Ticket); n.answersOnce(a.Ticket, do != nil) {
			do()
		}
	case core.Busy: // its user asks again
		n.r.Stats["busy"]++
		delete(n.reached, a.Ticket)
	case core.Accepted:
		if tell := n.answers[a.Ticket]; n.answersOnce(a.Ticket, tell != nil) {
			tell(a)
		}
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
	n.r.judgeDecided(n, w.Change.Rows)
	takes := time.Millisecond
	if c := w.Change; c.Sender != nil || c.Rows != nil || c.Noted != nil || c.Over != nil {
		n.r.Stats["commits"]++
		takes = n.r.w.Between(100*time.Microsecond, 3*time.Millisecond)
	}
	n.committed = max(n.committed+time.Microsecond, n.now()+takes) // one after the other
	if n.fails(itsStore) {
		n.committed = max(n.committed, n.away[itsStore]) + n.r.w.Between(100*time.Millisecond, time.Second)
	}
	early := n.r.broken == "stored-first" && w.Change.Sender != nil && len(w.Change.Sender.Grants) > 0
	if early { // the core hears that it is durable, and it is not
		n.later(time.Nanosecond, func() { n.feed(core.Written{IDs: []uint64{w.ID}}) })
	}
	n.later(n.committed-n.now(), func() {
		if n.r.strikes() {
			n.crash("before a commit")
			return
		}
		n.twice = append(n.twice, n.db.write(w.Change)...)
		if w.Change.Sender != nil {
			n.r.stored(n, *w.Change.Sender)
		}
		if n.r.strikes() {
			n.crash("after a commit")
			return
		}
		if early {
			return
		}
		if n.unheard = append(n.unheard, w); len(n.unheard) > 1 {
			return // it hears of all at once
		}
		wait := time.Nanosecond
		if n.r.rough() {
			wait = n.r.w.Between(wait, 2*time.Millisecond)
		}
		n.later(wait, n.written)
	})
}

// send signs a message and sends it.
func (n *node) send(to ledger.Account, msg wire.Message) {
	if ask, is := msg.Body.(wire.Assemble); is && n.refuses {
		msg.Request, msg.Body = wire.RequestID{}, wire.Returned{Items: ask.Items, Why: wire.Refused}
	}
	say := func() {
		msg.Body = n.signed(msg.Body)
		if msg, speaks := n.said(to, msg); speaks {
			n.trace(to, msg)
			n.r.carry(n, to, msg)
		}
	}
	if core.Signs(msg.Body) {
		n.after(5*time.Millisecond, say)
		return
	}
	say()
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
func (r *run) proven(from ledger.Account, e wire.Dispatch) bool {
	return r.broken == "proven-handover" || grants.Proven(r.contract, r.scheme, from, e.Entry())
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
