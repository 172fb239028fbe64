package committee

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/ledger"
)

// What a node asks may be away for a while, or fail once.
const (
	itsStore = iota
	itsChain
	itsKeys // they are never away
)

// awake is how long a contract stays awake in which nothing happens, in a kind world: for the whole run.
const awake = 24 * time.Hour

var errLost = errors.New("the connection is lost")

// rough reports whether what a node asks may fail and come late.
func (r *run) rough() bool { return !r.quiet && r.odds.fails > 0 }

// fails reports whether what a node asks fails now.
func (n *node) fails(of int) bool {
	is := n.r.rough() && (n.now() < n.away[of] || n.r.w.Chance(n.r.odds.fails))
	if is {
		n.r.Stats["failures"]++
	}
	return is
}

// after does something when a worker has had its turn, or an answer has come: in a kind world at once.
func (n *node) after(most time.Duration, do func()) {
	if !n.r.rough() {
		do()
		return
	}
	if n.r.w.Chance(n.r.odds.fails) {
		most += 3 * time.Second
	}
	n.later(n.r.w.Between(0, most), do)
}

// insist does something until it succeeds, more and more rarely.
func (n *node) insist(do func() (done bool)) {
	wait := pause.Growing{First: 100 * time.Millisecond, Most: 10 * time.Second}
	var try func()
	try = func() {
		if !do() {
			n.later(wait.Next(), try)
		}
	}
	try()
}

// open reads the contract, as soon as that can be done.
func (n *node) open(number uint64) {
	n.r.Stats["awakenings"]++
	n.later(n.r.w.Between(time.Millisecond, 50*time.Millisecond), func() {
		n.insist(func() bool {
			if n.fails(itsStore) || n.fails(itsChain) {
				return false
			}
			if opened, is := n.opened(core.Read{Number: number, Owns: n.drawn(), Lineage: n.lineage()}); is {
				n.feed(opened)
			}
			return true
		})
	})
}

// question answers what the core asks, later. What an answer says is read at one instant and heard at another.
func (n *node) question(a core.Act) {
	w := n.r.w
	switch a := a.(type) {
	case core.ReadFinal:
		n.readFinal(a)
	case core.ReadAttempts:
		n.answer(a.ID, w.Between(100*time.Microsecond, 5*time.Millisecond), itsStore, func() core.Answered { return core.Answered{Attempts: n.db.attempts(a.Named)} })
	case core.Find:
		n.answer(a.ID, time.Millisecond, itsStore, func() core.Answered { return core.Answered{Found: n.db.find(a.Key)} })
	case core.Review:
		n.answer(a.ID, time.Millisecond, itsChain, func() core.Answered { return core.Answered{Lost: n.r.chain.review(n.account, a.Awaited)} })
	case core.SignCancellation:
		n.answer(a.ID, time.Millisecond, itsKeys, func() core.Answered {
			return core.Answered{Signature: n.sign(n.r.scheme.Cancelled(n.r.contract, a.Intent))}
		})
	case core.Check:
		n.later(w.Between(100*time.Microsecond, 5*time.Millisecond), func() {
			n.after(5*time.Millisecond, func() { n.feed(core.Answered{ID: a.ID, Outcomes: endorser.Judge(n.r.rules, a.Proposals)}) })
		})
	case core.Nudge:
		err := n.nudge()
		n.later(time.Millisecond, func() { n.feed(core.Answered{ID: a.ID, Err: err}) })
	case core.HandIn:
		n.insist(func() bool { return n.handOver(a) })
	case core.Wait:
		n.later(a.For, func() { n.feed(core.Answered{ID: a.ID}) })
	}
}

// answer answers a question after a while, perhaps with an error.
func (n *node) answer(id uint64, wait time.Duration, of int, is func() core.Answered) {
	n.later(wait, func() {
		a := core.Answered{Err: errLost}
		if !n.fails(of) {
			a = is()
		}
		n.tell(id, a)
	})
}

// tell has the core hear an answer when it has come.
func (n *node) tell(id uint64, a core.Answered) {
	a.ID = id
	n.after(20*time.Millisecond, func() { n.feed(a) })
}

func (n *node) readFinal(a core.ReadFinal) {
	wait := n.r.w.Between(time.Millisecond, 20*time.Millisecond)
	is := func() core.Answered { return core.Answered{Final: n.r.chain.final.Read(a.Intents, a.States)} }
	if !a.Insist {
		n.answer(a.ID, wait, itsChain, is)
		return
	}
	n.later(wait, func() {
		n.insist(func() bool {
			fails := n.fails(itsChain)
			if !fails {
				n.tell(a.ID, is())
			}
			return !fails
		})
	})
}

// handOver hands a transaction to the submitter, and reports whether it is known to be taken: the answer may be lost.
func (n *node) handOver(a core.HandIn) bool {
	fails := n.fails(itsChain)
	if !fails || n.r.w.Chance(0.5) {
		n.submit(a.Sent)
	}
	n.later(time.Millisecond, func() {
		if fails {
			n.feed(core.Refused{Contract: a.Contract, Why: errLost.Error()})
		} else {
			n.feed(core.Answered{ID: a.ID})
		}
	})
	return !fails
}

// nudge asks the chain for an empty transaction, unless something of the account is on its way to a block.
func (n *node) nudge() error {
	switch {
	case n.r.broken == "nudge":
		return nil
	case n.fails(itsChain):
		return errLost
	case n.r.rough() && slices.ContainsFunc(n.r.chain.pool, func(s *sent) bool { return s.By == n.account && s.stuck <= n.now() }):
		return ledger.ErrUnderWay
	}
	n.r.words.say(n, "asks the chain for an empty transaction")
	n.r.Stats["nudges"]++
	n.r.chain.send(fmt.Sprint("nudge ", n.r.w.Draw()), ledger.Sent{By: n.account})
	return nil
}

// written has the core hear of what is durable. If the answer was lost it is written again before, which changes nothing.
func (n *node) written() {
	if !n.fails(itsStore) {
		in := core.Written{Twice: n.twice}
		for _, w := range n.unheard {
			in.IDs = append(in.IDs, w.ID)
		}
		n.unheard, n.twice = nil, nil
		n.feed(in)
		return
	}
	n.later(n.r.w.Between(100*time.Millisecond, time.Second), func() {
		n.twice = nil
		for _, w := range n.unheard {
			n.twice = append(n.twice, n.db.write(w.Change)...)
		}
		n.written()
	})
}

// drain has its operator let the node coordinate no more, or again.
func (n *node) drain(on bool) {
	if !n.up || n.drained == on {
		return
	}
	n.drained = on
	n.r.tell(n.name, "is drained: %v", on)
	n.reach(func() { n.feed(core.Drain{Contract: n.r.contract.Address, On: on}) })
}
