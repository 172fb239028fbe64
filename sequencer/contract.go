package sequencer

import (
	"context"
	"encoding/binary"
	"errors"
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

// contract is a contract's machines. All of it belongs to the loop.
type contract struct {
	n            *Node
	place        *place
	set          *Contract
	committee    ranking.Committee
	book         *book.Book
	sender       *sender.Machine
	coordinator  *coordinator.Machine // nil if the node may not coordinate
	endorser     *endorser.Machine
	owns         wire.Incarnation // the sender's
	after        uint64           // the last block that the store had
	until        uint64           // the ledger's last block at that time
	behind       bool             // the blocks between are not read yet
	unsent       []errand         // for the ledger, in order
	sending      bool             // errands before those are being done
	waits        string           // why what was handed over is in no block, as the last review has it
	lost         spell            // no transaction carries some entries
	blind        spell            // reviews fail
	still        spell            // the chain stands still, and empty transactions are not taken
	unread       spell            // attempts cannot be read
	refused      string           // why the ledger does not take what is handed to it
	writing      int              // changes that are not stored yet
	lacks        lacks
	fetchAt      time.Duration // when it is looked again what is lacked
	despairAt    time.Duration // when the ledger is asked again about what is asked for in vain
	despairPause time.Duration
	forgone      bool         // attempts were given up, or are about to be
	doubting     bool         // the ledger is being asked which attempts can be given up
	doubted      book.Missing // the last one that it was asked about
	shares       []*sharing   // contents that perhaps nobody else has
	requests     uint64
	pace         pace
	asking       *asking // who hands an intent in, in this step
	asks         map[ledger.Sequence]*asking

	ctx    context.Context //nolint:containedctx // until it falls asleep
	stop   func()
	busyAt time.Duration // when something happened
}

// open reads what is stored and makes the machines. Number is that of the last request of the coordinator before, and the
// chain has patience to answer.
func (n *Node) open(ctx context.Context, p *place, number uint64, patience time.Duration) (*contract, error) {
	k := p.set
	c := &contract{n: n, place: p, set: k, owns: drawn(), busyAt: n.now(), asks: map[ledger.Sequence]*asking{}}
	copy(c.owns[8:], n.owns[8:])
	d := &c.set.Declared
	var err error
	if c.committee, err = d.Ranking(); err != nil {
		return nil, err
	}
	stored, err := n.cfg.Store.Load(ctx, d.Address)
	if err != nil {
		return nil, err
	}
	head, err := headOf(ctx, k.Ledger, patience)
	if err != nil {
		return nil, err
	}
	if c.book, err = book.New(book.Config{Contract: *d, Scheme: k.Scheme, Rules: k.Rules}); err != nil {
		return nil, err
	}
	if err = c.book.Load(stored.Book); err != nil {
		return nil, err
	}
	c.after, c.until = stored.Book.Number, head
	c.behind = c.until > c.after
	senders := sender.Config{
		Self: n.cfg.Self, Contract: d, Committee: &c.committee, Scheme: k.Scheme, Rules: k.Rules, Book: c.book,
		Incarnation: c.owns, Lineage: lineage(), Secret: n.cfg.Secret, NudgeAfter: k.NudgeAfter, Watch: c.watch,
		Share: len(d.Members) > 1, Load: sender.Load{Final: c.after, Head: max(head, c.after), Intents: stored.Intents},
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
			Incarnation: n.coordinates, Number: number, Head: c.after, Rows: stored.Rows, NudgeAfter: 2 * k.NudgeAfter,
		}
		if err = coordinators.Validate(); err != nil {
			return nil, err
		}
		c.coordinator = coordinator.New(coordinators)
	}
	return c, nil
}

// errAway means that a contract's chain does not answer.
var errAway = errors.New("the chain cannot be asked")

func headOf(ctx context.Context, l Ledger, patience time.Duration) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	head, _, err := l.Head(ctx)
	return head, away(err)
}

func away(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errAway, err)
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
	c.offer()
}

// stepped has a machine do a step.
func stepped[In, Out any](n *Node, machine string, step func(time.Duration, In) []Out, in In) []Out {
	now := n.now()
	out := step(now, in)
	if n.cfg.Stepped != nil {
		n.cfg.Stepped(machine, n.now()-now)
	}
	return out
}

func (c *contract) toSender(in sender.Input) {
	if c.ctx.Err() != nil {
		return // it sleeps, and has been asked for nothing
	}
	for _, a := range stepped(c.n, "sender", c.sender.Step, in) {
		c.owner(a)
	}
}

func (c *contract) toCoordinator(in coordinator.Input) {
	if c.coordinator == nil || c.ctx.Err() != nil {
		return
	}
	for _, a := range stepped(c.n, "coordinator", c.coordinator.Step, in) {
		c.coordinate(a)
	}
}

func (c *contract) toEndorser(in endorser.Input) {
	if c.ctx.Err() != nil {
		return
	}
	for _, a := range stepped(c.n, "endorser", c.endorser.Step, in) {
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
		c.numbered(a.Intents)
		c.store(Change{Sender: &a}, func(twice []ledger.Sequence) {
			for _, s := range twice {
				c.twice(a, s)
				c.toSender(sender.Twice{Sequence: s})
			}
			c.toSender(sender.Stored{ID: a.ID})
		})
	case sender.Submitted:
		c.accepted(a.Sequence, answer{sequence: a.Sequence})
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
			c.n.post(func() {
				c.submit(ledger.Sent{By: c.n.cfg.Self, Cancel: &ledger.Cancellation{Intent: a.Intent, Signature: signature}})
			})
		})
	case sender.Share:
		c.share(a)
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
		c.store(Change{Rows: a.Rows}, func([]ledger.Sequence) { c.toCoordinator(coordinator.Stored{Number: a.Number}) })
	case coordinator.Note:
		c.store(Change{Noted: a.Intents}, nil)
	case coordinator.Forget:
		c.store(Change{Over: a.Intents}, nil)
	case coordinator.Submit:
		c.submit(ledger.Sent{By: c.n.cfg.Self, Entries: a.Entries})
	case coordinator.Review:
		c.errand(errand{review: &a})
	case coordinator.Judge:
		c.n.apart(func() {
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

func (c *contract) judge(a sender.Judge) {
	var given []ledger.Given
	for _, q := range a.Questions {
		given = append(given, ledger.Given{Intent: q.Intent})
		given = append(given, q.Given...)
	}
	c.n.apart(func() {
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
		return away(err)
	})
}

func (c *contract) nudge() {
	c.n.apart(func() {
		if err := c.set.Ledger.Nudge(c.n.ctx); !errors.Is(err, ledger.ErrUnderWay) {
			c.n.post(func() { c.nudged(err) })
		}
	})
}

// nudged notes what came of an empty transaction.
func (c *contract) nudged(err error) {
	if err == nil {
		c.place.nudges++
	}
	c.trouble(&c.still, err, "the chain stands still, and an empty transaction was not taken", "empty transactions are taken again")
}

// trouble has the log say when something begins to fail, and when it works again; not each time.
func (c *contract) trouble(s *spell, err error, fails, again string) {
	if c.n.ctx.Err() != nil {
		return // an end is no trouble
	}
	if err != nil {
		if s.meets(c.n.now()) {
			c.n.cfg.Log.Warn(fails, "contract", c.address(), "error", err)
		}
		return
	}
	if lasted, times := s.ends(c.n.now()); times > 0 {
		c.n.cfg.Log.Info(again, "contract", c.address(), "after", lasted, "failed", times)
	}
}

// store has a change written. Then is called once it is durable; it may be nil.
func (c *contract) store(change Change, then func(twice []ledger.Sequence)) {
	change.Contract = c.address()
	c.writing++
	c.n.queue(write{change, func(twice []ledger.Sequence) {
		c.writing--
		if then != nil {
			then(twice)
		}
	}})
}

func (c *contract) address() string { return c.set.Declared.Address }
