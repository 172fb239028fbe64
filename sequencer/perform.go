package sequencer

import (
	"context"
	"time"

	"github.com/conchhq/conch/internal/pause"
	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/internal/sender"
)

// feed has the core take an input, and does what it says. Only the loop calls it.
func (n *Node) feed(in core.Input) {
	out := n.core.Step(n.now(), in)
	n.many.Store(int64(n.core.Awake()))
	n.alone.Store(int64(n.core.Alone()))
	for _, w := range out.Writes {
		n.writes.Put(w)
	}
	for _, a := range out.Acts {
		n.act(a)
	}
}

// put has the loop feed an input that this node has asked for.
func (n *Node) put(in core.Input) { n.inbox.Put(func() { n.feed(in) }) }

// hear has the loop feed an input of others, and waits until it has room.
func (n *Node) hear(in core.Input) {
	select {
	case n.calls <- func() { n.feed(in) }:
	case <-n.ctx.Done():
	}
}

// act does what the core says. It never waits.
func (n *Node) act(a core.Act) {
	switch a := a.(type) {
	case core.Send:
		n.send(a.To, a.Message)
	case core.Beat:
		n.beat(a)
	case core.Verify:
		n.verify(n.places[a.Message.Contract], a, func(in core.Received) { n.put(in) })
	case core.Prove:
		n.prove(n.places[a.Message.Contract], a, func(in core.Proven) { n.put(in) })
	case core.Open:
		n.rouse(n.places[a.Contract], a.Number)
	case core.Follow:
		n.follow(n.places[a.Contract], a)
	case core.Unfollow:
		n.places[a.Contract].unheed()
	case core.Reached:
		n.take(a.Ticket).do()
	case core.Busy:
		n.take(a.Ticket).busy()
	case core.Accepted:
		n.take(a.Ticket).accepted(a)
	case core.Again:
		n.take(a.Ticket).again(a.Submit)
	case core.Finished:
		at := waitKey{a.Contract, a.Key}
		for _, told := range n.waits[at] {
			told <- a.Result
		}
		delete(n.waits, at)
	case core.Passed:
		n.passed(n.places[a.Contract], a.Passage)
	case core.Say:
		n.cfg.Log.Log(n.ctx, a.Level, a.Text, a.Args...)
	default:
		n.question(a)
	}
}

// question finds the answer to what the core asks. What waits for a database or a chain has a goroutine of its own: that of one
// contract would keep the workers from all others.
func (n *Node) question(a core.Act) {
	switch a := a.(type) {
	case core.Check:
		n.job(func() {
			n.answer(core.Answered{ID: a.ID, Outcomes: endorser.Judge(n.places[a.Contract].set.Rules, a.Proposals)})
		})
	case core.SignCancellation:
		n.job(func() {
			p := n.places[a.Contract]
			signature, err := n.signature(p, p.set.Scheme.Cancelled(p.set.Declared, a.Intent), true)
			n.answer(core.Answered{ID: a.ID, Signature: signature, Err: err})
		})
	case core.ReadFinal:
		n.group.Go(func() { n.readFinal(a) })
	case core.ReadAttempts:
		n.group.Go(func() {
			stored, err := n.cfg.Store.Attempts(n.ctx, a.Contract, a.Named)
			n.answer(core.Answered{ID: a.ID, Attempts: stored, Err: err})
		})
	case core.Find:
		n.group.Go(func() {
			answer := core.Answered{ID: a.ID}
			found, is, err := n.cfg.Store.Find(n.ctx, a.Contract, a.Key)
			if answer.Err = err; is {
				answer.Found = &sender.IntentRow{Sequence: found.Sequence, Key: found.Key, Payload: found.Payload, Deadline: found.Deadline}
			}
			n.answer(answer)
		})
	case core.Nudge:
		n.group.Go(func() { n.answer(core.Answered{ID: a.ID, Err: n.places[a.Contract].set.Ledger.Nudge(n.ctx)}) })
	case core.HandIn:
		n.group.Go(func() { n.submit(a) })
	case core.Review:
		n.group.Go(func() { n.review(a) })
	case core.Wait:
		n.group.Go(func() {
			_ = pause.For(n.ctx, a.For)
			n.answer(core.Answered{ID: a.ID})
		})
	}
}

// answer has the loop feed an answer. What fails since the node ends is none.
func (n *Node) answer(a core.Answered) {
	if n.ctx.Err() == nil {
		n.put(a)
	}
}

func (n *Node) readFinal(a core.ReadFinal) {
	answer, l := core.Answered{ID: a.ID}, n.places[a.Contract].set.Ledger
	if !a.Insist {
		answer.Final, answer.Err = l.Final(n.ctx, a.Intents, a.States)
		n.answer(answer)
		return
	}
	n.insist("the ledger cannot be read", a.Contract, func(ctx context.Context) (err error) {
		answer.Final, err = l.Final(ctx, a.Intents, a.States)
		return away(err)
	})
	n.answer(answer)
}

// submit has the ledger take a transaction, however long that takes.
func (n *Node) submit(a core.HandIn) {
	n.insist("a transaction is not taken", a.Contract, func(ctx context.Context) error {
		err := n.places[a.Contract].set.Ledger.Submit(ctx, a.Sent)
		if err != nil {
			n.put(core.Refused{Contract: a.Contract, Why: err.Error()})
		}
		return err
	})
	n.answer(core.Answered{ID: a.ID})
}

// reviewPatience is how long a review may take: what is to be submitted waits for it.
const reviewPatience = 10 * time.Second

// review asks the ledger what has become of entries, once.
func (n *Node) review(a core.Review) {
	answer := core.Answered{ID: a.ID}
	if reviewer, can := n.places[a.Contract].set.Ledger.(Reviewer); can {
		ctx, cancel := context.WithTimeout(n.ctx, reviewPatience)
		defer cancel()
		answer.Lost, answer.Waits, answer.Err = reviewer.Review(ctx, a.Awaited)
	}
	n.answer(answer)
}
