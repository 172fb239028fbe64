package sequencer

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/endorser"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ranking"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// contract is a contract's machines. All of it but submits belongs to the loop.
type contract struct {
	n           *Node
	set         Contract
	committee   ranking.Committee
	book        *book.Book
	sender      *sender.Machine
	coordinator *coordinator.Machine // nil if the node may not coordinate
	endorser    *endorser.Machine
	after       uint64           // the last block that the store had at the start
	submits     chan ledger.Sent // in order
	fetchAt     time.Duration
	patience    time.Duration
	requests    uint64
	heard       map[ledger.Account]Heard // nil before the first message
}

// open reads what is stored and makes the machines.
func (n *Node) open(ctx context.Context, k Contract) (*contract, error) {
	c := &contract{n: n, set: k, submits: make(chan ledger.Sent, 1024)}
	d := &c.set.Declared
	var names []string
	for _, a := range d.Committee {
		names = append(names, string(a))
	}
	var err error
	if c.committee, err = ranking.NewCommittee(d.Address, names, d.Range, ranking.Rendezvous{}); err != nil {
		return nil, err
	}
	stored, err := n.cfg.Store.Load(ctx, d.Address)
	if err != nil {
		return nil, err
	}
	head, _, err := k.Ledger.Head(ctx)
	if err != nil {
		return nil, err
	}
	if c.book, err = book.New(book.Config{Contract: *d, Scheme: k.Scheme, Rules: k.Rules}); err != nil {
		return nil, err
	}
	if err = c.book.Load(stored.Book); err != nil {
		return nil, err
	}
	c.after = stored.Book.Number
	senders := sender.Config{
		Self: n.cfg.Self, Contract: d, Committee: &c.committee, Scheme: k.Scheme, Rules: k.Rules, Book: c.book,
		Incarnation: n.owns, Lineage: lineage(), Secret: n.cfg.Secret, NudgeAfter: k.NudgeAfter, Watch: c.watch,
		Load: sender.Load{Final: c.after, Head: max(head, c.after), Intents: stored.Intents},
	}
	if err = senders.Validate(); err != nil {
		return nil, err
	}
	c.sender = sender.New(senders)
	endorsers := endorser.Config{Contract: *d, Committee: c.committee, Book: c.book, Final: c.after - min(c.after, d.Depth)}
	if err = endorsers.Validate(); err != nil {
		return nil, err
	}
	c.endorser = endorser.New(endorsers)
	if slices.Contains(d.Committee, n.cfg.Self) {
		coordinators := coordinator.Config{
			Self: n.cfg.Self, Contract: d, Committee: &c.committee, Scheme: k.Scheme, Book: c.book,
			Incarnation: n.coordinates, Head: c.after, Rows: stored.Rows,
		}
		if err = coordinators.Validate(); err != nil {
			return nil, err
		}
		c.coordinator = coordinator.New(coordinators)
	}
	n.own = append(n.own, func() { // what is to be done first
		c.toSender(sender.Tick{})
		c.toCoordinator(coordinator.Tick{})
	})
	return c, nil
}

// lineage is drawn at each start, and is never 0.
func lineage() uint64 {
	i := drawn()
	return binary.BigEndian.Uint64(i[:8]) | 1
}

func (c *contract) tick() {
	if !c.sender.Idle() {
		c.toSender(sender.Tick{})
	}
	if c.coordinator != nil && !c.coordinator.Idle() {
		c.toCoordinator(coordinator.Tick{})
	}
	if !c.endorser.Idle() {
		c.toEndorser(endorser.Tick{})
	}
	c.fetch()
}

func (c *contract) toSender(in sender.Input) {
	for _, a := range c.sender.Step(c.n.now(), in) {
		c.owner(a)
	}
}

func (c *contract) toCoordinator(in coordinator.Input) {
	if c.coordinator == nil {
		return
	}
	for _, a := range c.coordinator.Step(c.n.now(), in) {
		c.coordinate(a)
	}
}

func (c *contract) toEndorser(in endorser.Input) {
	for _, a := range c.endorser.Step(c.n.now(), in) {
		switch a := a.(type) {
		case endorser.Send:
			c.send(a.To, a.Message)
		case endorser.Check:
			c.n.job(func() {
				outcomes := endorser.Judge(c.set.Rules, a.Proposals)
				c.n.post(func() { c.toEndorser(endorser.Checked{Of: a.Of, Outcomes: outcomes}) })
			})
		}
	}
}

// owner does what the sender asks for.
func (c *contract) owner(a sender.Action) {
	switch a := a.(type) {
	case sender.Send:
		c.send(a.To, a.Message)
	case sender.Store:
		c.n.queue(write{Change{Contract: c.address(), Sender: &a}, func(twice []ledger.Sequence) {
			for _, s := range twice {
				c.twice(a, s)
				c.toSender(sender.Twice{Sequence: s})
			}
			c.toSender(sender.Stored{ID: a.ID})
		}})
	case sender.Submitted:
		c.n.accepted(waitKey{c.address(), a.Key}, answer{sequence: a.Sequence})
	case sender.Finished:
		at := waitKey{c.address(), a.Key}
		for _, told := range c.n.waits[at] {
			told <- a.Result
		}
		delete(c.n.waits, at)
	case sender.Judge:
		c.judge(a)
	case sender.SendCancellation:
		c.n.job(func() {
			signature, err := c.n.cfg.Keys.Sign(c.set.Scheme.Cancelled(c.set.Declared, a.Intent))
			if err != nil {
				c.n.cfg.Log.Error("a cancellation cannot be signed", "contract", c.address(), "error", err)
				return
			}
			c.submit(ledger.Sent{By: c.n.cfg.Self, Cancel: &ledger.Cancellation{Intent: a.Intent, Signature: signature}})
		})
	case sender.Nudge:
		c.nudge()
	}
}

// coordinate does what the coordinator asks for.
func (c *contract) coordinate(a coordinator.Action) {
	switch a := a.(type) {
	case coordinator.Send:
		c.send(a.To, a.Message)
	case coordinator.Pulse:
		c.n.beats[a.To] = append(c.n.beats[a.To], a.Pulse)
	case coordinator.Store:
		c.n.queue(write{Change{Contract: c.address(), Rows: a.Rows}, func([]ledger.Sequence) { c.toCoordinator(coordinator.Stored{Number: a.Number}) }})
	case coordinator.Note:
		c.n.queue(write{Change{Contract: c.address(), Noted: a.Intents}, nil})
	case coordinator.Forget:
		c.n.queue(write{Change{Contract: c.address(), Over: a.Intents}, nil})
	case coordinator.Submit:
		tx := ledger.Sent{By: c.n.cfg.Self, Entries: a.Entries}
		select {
		case c.submits <- tx:
		default:
			c.n.job(func() { c.submit(tx) })
		}
	case coordinator.Judge:
		c.n.job(func() {
			var j coordinator.Judged
			c.final(func(f ledger.Final) {
				j.Number = f.Number()
				for _, g := range a.Given {
					j.Ends = append(j.Ends, f.Kills(g))
				}
			}, a.Given)
			c.n.post(func() { c.toCoordinator(j) })
		})
	case coordinator.Nudge:
		c.nudge()
	}
}

// twice tells a user what the first row of the key says.
func (c *contract) twice(s sender.Store, second ledger.Sequence) {
	for _, row := range s.Intents {
		if row.Sequence != second {
			continue
		}
		c.n.job(func() {
			found, _, err := c.n.cfg.Store.Find(c.n.ctx, c.address(), row.Key)
			if err == nil && (!bytes.Equal(found.Payload, row.Payload) || found.Deadline != row.Deadline) {
				err = fmt.Errorf("%w: %q", ErrConflict, row.Key)
			}
			c.n.post(func() { c.n.accepted(waitKey{c.address(), row.Key}, answer{found.Sequence, err}) })
		})
	}
}

func (n *Node) accepted(at waitKey, a answer) {
	if done := n.asks[at]; done != nil {
		done <- a
		delete(n.asks, at)
	}
}

func (c *contract) judge(a sender.Judge) {
	var given []ledger.Given
	for _, q := range a.Questions {
		given = append(given, ledger.Given{Intent: q.Intent})
		given = append(given, q.Given...)
	}
	c.n.job(func() {
		var j sender.Judged
		c.final(func(f ledger.Final) {
			j.Number = f.Number()
			for _, q := range a.Questions {
				j.Answers = append(j.Answers, q.Read(f))
			}
		}, given)
		c.n.post(func() { c.toSender(j) })
	})
}

// final reads what some grants need in one final block, until it can. A need whose creator is not known kills nothing,
// and is not read: some ledgers refuse a question about an intent of nobody.
func (c *contract) final(read func(ledger.Final), given []ledger.Given) {
	var intents []ledger.Intent
	var states []ledger.StateID
	for _, g := range given {
		intents = append(intents, g.Intent)
		for _, need := range g.Needs {
			if need.Creator != (ledger.Intent{}) {
				intents, states = append(intents, need.Creator), append(states, need.State)
			}
		}
	}
	c.n.insist("the ledger cannot be read", c.address(), func(ctx context.Context) error {
		f, err := c.set.Ledger.Final(ctx, intents, states)
		if err == nil {
			read(f)
		}
		return err
	})
}

// insist does something until it succeeds or the node stops, more and more rarely.
func (n *Node) insist(what, contract string, do func(context.Context) error) {
	for wait := 100 * time.Millisecond; n.ctx.Err() == nil; wait = min(2*wait, 10*time.Second) {
		err := do(n.ctx)
		if err == nil || n.ctx.Err() != nil {
			return
		}
		n.cfg.Log.Warn(what, "contract", contract, "error", err)
		select {
		case <-time.After(wait):
		case <-n.ctx.Done():
		}
	}
}

func (c *contract) nudge() {
	c.n.job(func() {
		if err := c.set.Ledger.Nudge(c.n.ctx); err != nil && c.n.ctx.Err() == nil {
			c.n.cfg.Log.Warn("the chain stands still, and an empty transaction was not taken", "contract", c.address(), "error", err)
		}
	})
}

// submitter hands transactions to the ledger in their order.
func (n *Node) submitter(c *contract) {
	for {
		select {
		case tx := <-c.submits:
			n.insist("a transaction is not taken", c.address(), func(ctx context.Context) error { return c.set.Ledger.Submit(ctx, tx) })
		case <-n.ctx.Done():
			return
		}
	}
}

func (c *contract) submit(tx ledger.Sent) {
	select {
	case c.submits <- tx:
	case <-c.n.ctx.Done():
	}
}

func (c *contract) address() string { return c.set.Declared.Address }

// follow feeds blocks to the loop.
func (n *Node) follow(c *contract) {
	after := c.after
	n.insist("the ledger cannot be followed", c.address(), func(ctx context.Context) error {
		return c.set.Ledger.Follow(ctx, after, func(in any) {
			switch in := in.(type) {
			case ledger.Block:
				after = in.Number
			case ledger.Rewind:
				after = in.To
			}
			n.post(func() { c.followed(in) })
		})
	})
}

// followed feeds the book before the machines.
func (c *contract) followed(in any) {
	var err error
	switch in := in.(type) {
	case ledger.Block:
		err = c.book.Block(in)
		for _, f := range in.Facts {
			if w, known := c.book.Whole(f.Assembled); known && f.Skipped == ledger.Missing {
				c.reconcile(slices.Concat(w.Attempt.Inputs, w.Attempt.Reads))
			}
		}
	case ledger.Rewind:
		err = c.book.Rewind(in)
	}
	if err != nil {
		c.n.cfg.Log.Error("the ledger goes on as no ledger may", "contract", c.address(), "step", fmt.Sprint(in), "error", err)
		return
	}
	c.keep()
	c.toSender(in)
	c.toCoordinator(in)
	c.toEndorser(in)
}

// keep stores what the book has learnt.
func (c *contract) keep() {
	if b, is := c.book.Final(); is {
		c.n.queue(write{Change{Contract: c.address(), Book: &b}, nil})
	}
}

// pulse is one contract's part of a heartbeat.
func (n *Node) pulse(from ledger.Account, incarnation wire.Incarnation, p wire.Pulse) {
	if c := n.contracts[p.Contract]; c != nil {
		c.hears(from, p.Height)
		c.toSender(sender.Pulse{From: from, Incarnation: incarnation, Pulse: p})
		c.toCoordinator(coordinator.Heard{From: from, Pulse: p})
	}
}
