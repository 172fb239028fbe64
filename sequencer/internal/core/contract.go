package core

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/internal/grants"
	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// contract is a contract that is awake.
type contract struct {
	Machines

	core      *Core
	place     *place
	set       *Contract
	committee ranking.Committee
	owns      wire.Incarnation // the sender's
	after     uint64           // the last block that the store had
	until     uint64           // the ledger's last block at that time
	behind    bool             // the blocks between are not read yet
	life      uint64           // of its Follow
	asleep    bool             // nothing is asked of it any more
	still     spell            // the chain stands still, and empty transactions are not taken
	unread    spell            // attempts cannot be read
	writing   int              // changes that are not stored yet
	requests  uint64
	pace      pace
	busyAt    time.Duration // when something happened

	askers  askers  // what users wait for
	errands errands // what the ledger is handed
	absent  absent  // what this node lacks
	offers  offers  // what others may lack
}

// Read is what was read of a contract, and what is random in its machines.
type Read struct {
	Stored  Stored
	Head    uint64           // the ledger's last block
	Number  uint64           // of the last request of its coordinator before
	Owns    wire.Incarnation // of its sender; the second half is that of all
	Lineage uint64           // of its sender's sequences
}

// Open makes a contract's machines, and may be called beside Step. The error says what is wrong with the configuration, or
// with what is stored.
func (c *Core) Open(address string, read Read) (Opened, error) {
	p := c.places[address]
	k := &contract{core: c, place: p, set: p.set, owns: read.Owns}
	k.askers, k.errands = askers{of: k, tickets: map[ledger.Sequence]uint64{}}, errands{of: k}
	k.absent, k.offers = absent{of: k, forgone: len(read.Stored.Book.Missing) > 0}, offers{of: k}
	copy(k.owns[8:], c.cfg.Owns[8:])
	d := &k.set.Declared
	var err error
	if k.committee, err = d.Ranking(); err != nil {
		return Opened{}, err
	}
	if k.Book, err = book.New(book.Config{Contract: *d, Scheme: k.set.Scheme, Rules: k.set.Rules}); err != nil {
		return Opened{}, err
	}
	if err = k.Book.Load(read.Stored.Book); err != nil {
		return Opened{}, err
	}
	k.after, k.until = read.Stored.Book.Number, read.Head
	k.behind = k.until > k.after
	if err := k.makeMachines(read); err != nil {
		return Opened{}, err
	}
	return Opened{contract: k}, nil
}

func (k *contract) makeMachines(read Read) error {
	cfg, d := &k.core.cfg, &k.set.Declared
	senders := sender.Config{
		Self: cfg.Self, Contract: d, Committee: &k.committee, Scheme: k.set.Scheme, Rules: k.set.Rules, Book: k.Book,
		Incarnation: k.owns, Lineage: read.Lineage, Secret: cfg.Secret, NudgeAfter: k.set.NudgeAfter, Watch: k.watchPassage,
		Said:  func(a ledger.Account) uint64 { return k.place.heard[a].final },
		Share: len(d.Members) > 1, Load: sender.Load{Final: k.after, Head: max(read.Head, k.after), Intents: read.Stored.Intents},
	}
	endorsers := endorser.Config{Contract: *d, Committee: k.committee, Book: k.Book, Final: k.after - min(k.after, d.Depth)}
	coordinators := coordinator.Config{
		Self: cfg.Self, Contract: d, Committee: &k.committee, Scheme: k.set.Scheme, Book: k.Book,
		Incarnation: cfg.Coordinates, Number: read.Number, Head: k.after, Rows: read.Stored.Rows, NudgeAfter: 2 * k.set.NudgeAfter,
		Batch: k.set.Batch,
	}
	coordinates := slices.Contains(d.Committee, cfg.Self)
	faults := []error{senders.Validate(), endorsers.Validate()}
	if coordinates {
		faults = append(faults, coordinators.Validate())
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	k.Sender, k.Endorser = sender.New(senders), endorser.New(endorsers)
	if coordinates {
		k.Coordinator = coordinator.New(coordinators)
	}
	return nil
}

func (k *contract) tickMachines() {
	if !k.Sender.Idle() {
		k.toSender(sender.Tick{})
	}
	if k.Coordinator != nil && !k.Coordinator.Idle() {
		k.toCoordinator(coordinator.Tick{})
	}
	if !k.Endorser.Idle() {
		k.toEndorser(endorser.Tick{})
	}
	k.absent.fetchMissing()
	k.absent.reconcileLate()
	k.offers.offerContents()
}

// stepped has a machine do a step.
func stepped[In, Out any](c *Core, machine string, step func(time.Duration, In) []Out, in In) (out []Out) {
	if c.cfg.Timed == nil {
		return step(c.now, in)
	}
	c.cfg.Timed(machine, func() { out = step(c.now, in) })
	return out
}

func (k *contract) toSender(in sender.Input) {
	if k.asleep {
		return // it has been asked for nothing
	}
	for _, a := range stepped(k.core, "sender", k.Sender.Step, in) {
		k.actForSender(a)
	}
}

func (k *contract) toCoordinator(in coordinator.Input) {
	if k.Coordinator == nil || k.asleep {
		return
	}
	for _, a := range stepped(k.core, "coordinator", k.Coordinator.Step, in) {
		k.actForCoordinator(a)
	}
}

func (k *contract) toEndorser(in endorser.Input) {
	if k.asleep {
		return
	}
	for _, a := range stepped(k.core, "endorser", k.Endorser.Step, in) {
		switch a := a.(type) {
		case endorser.Send:
			k.sendMessage(a.To, a.Message)
		case endorser.Check:
			k.core.act(Check{Contract: k.address(), Proposals: a.Proposals, ID: k.core.askQuestion(func(answer Answered) {
				k.toEndorser(endorser.Checked{Of: a.Of, Outcomes: answer.Outcomes})
			})})
		}
	}
}

// actForSender does what the sender asks for.
func (k *contract) actForSender(a sender.Action) {
	switch a := a.(type) {
	case sender.Send:
		k.sendMessage(a.To, a.Message)
	case sender.Store:
		k.askers.noteAskers(a.Intents)
		k.storeChange(Change{Sender: &a}, func(twice []ledger.Sequence) {
			for _, s := range twice {
				k.askers.keyIsTaken(a, s)
				k.toSender(sender.Twice{Sequence: s})
			}
			k.toSender(sender.Stored{ID: a.ID})
		})
	case sender.Submitted:
		k.askers.tellAsker(a.Sequence, a.Sequence, nil)
	case sender.Finished:
		k.core.act(Finished{k.address(), a.Key, a.Result})
	case sender.Judge:
		k.judgeGrants(a)
	case sender.SendCancellation:
		k.core.act(SignCancellation{Contract: k.address(), Intent: a.Intent, ID: k.core.askQuestion(func(answer Answered) {
			if answer.Err != nil {
				return // the intent ends with its grants
			}
			k.submitSent(ledger.Sent{By: k.core.cfg.Self, Cancel: &ledger.Cancellation{Intent: a.Intent, Signature: answer.Signature}})
		})})
	case sender.Share:
		k.offers.shareContents(a)
	case sender.Blame:
		k.say(slog.LevelWarn, blames[a.For], "coordinator", a.Member.String())
	case sender.Nudge:
		k.nudgeChain()
	}
}

// actForCoordinator does what the coordinator asks for.
func (k *contract) actForCoordinator(a coordinator.Action) {
	switch a := a.(type) {
	case coordinator.Send:
		k.sendMessage(a.To, a.Message)
	case coordinator.Pulse:
		k.core.beats[a.To] = append(k.core.beats[a.To], a.Pulse)
	case coordinator.Store:
		k.storeChange(Change{Rows: a.Rows}, func([]ledger.Sequence) { k.toCoordinator(coordinator.Stored{Number: a.Number}) })
	case coordinator.Note:
		k.storeChange(Change{Noted: a.Intents}, nil)
	case coordinator.Forget:
		k.storeChange(Change{Over: a.Intents}, nil)
	case coordinator.Submit:
		k.submitSent(ledger.Sent{By: k.core.cfg.Self, Entries: a.Entries})
	case coordinator.Review:
		k.errands.addErrand(errand{review: &a})
	case coordinator.Judge:
		k.readFinal(a.Given, func(f ledger.View) {
			j := coordinator.Judged{Number: f.Number()}
			for _, g := range a.Given {
				j.Ends = append(j.Ends, grants.Kills(f, g))
			}
			k.toCoordinator(j)
		})
	case coordinator.Blame:
		k.say(slog.LevelWarn, "a member signs wrongly: it is set aside until it does not", "member", a.Member.String())
	case coordinator.Nudge:
		k.nudgeChain()
	}
}

// blames are the lines of the log that say why a coordinator is left out.
var blames = [...]string{
	sender.NotEndorsed:  "a coordinator has sent entries that are not endorsed as it says: it is left out until the range turns",
	sender.LandsNothing: "nothing lands of what a coordinator was given: it is left out for a while",
}

func (k *contract) judgeGrants(a sender.Judge) {
	var given []grants.Given
	for _, q := range a.Questions {
		given = append(given, grants.Given{Intent: q.Intent})
		given = append(given, q.Given...)
	}
	k.readFinal(given, func(f ledger.View) {
		j := sender.Judged{Number: f.Number()}
		for _, q := range a.Questions {
			j.Answers = append(j.Answers, q.Read(f))
		}
		k.toSender(j)
	})
}

// readFinal reads what some grants need in one final block, until it can. A need whose creator is not known kills nothing,
// and is not read: some ledgers refuse a question about an intent of nobody.
func (k *contract) readFinal(given []grants.Given, read func(ledger.View)) {
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
	id := k.core.askQuestion(func(a Answered) { read(a.Final) })
	k.core.act(ReadFinal{ID: id, Contract: k.address(), Intents: intents, States: states, Insist: true})
}

func (k *contract) nudgeChain() {
	k.core.act(Nudge{Contract: k.address(), ID: k.core.askQuestion(func(a Answered) {
		if !errors.Is(a.Err, ledger.ErrUnderWay) {
			k.nudgeAnswered(a.Err)
		}
	})})
}

// nudgeAnswered notes what came of an empty transaction.
func (k *contract) nudgeAnswered(err error) {
	if err == nil {
		k.place.nudges++
	}
	k.sayTrouble(&k.still, err, "the chain stands still, and an empty transaction was not taken", "empty transactions are taken again")
}

// say has the log say something of the contract.
func (k *contract) say(level slog.Level, text string, args ...any) {
	k.core.act(Say{level, text, append([]any{"contract", k.address()}, args...)})
}

// sayTrouble has the log say when something begins to fail, and when it works again; not each time.
func (k *contract) sayTrouble(s *spell, err error, fails, again string) {
	if err != nil {
		if s.meets(k.core.now) {
			k.say(slog.LevelWarn, fails, "error", err)
		}
		return
	}
	if lasted, times := s.ends(k.core.now); times > 0 {
		k.say(slog.LevelInfo, again, "after", lasted, "failed", times)
	}
}

// storeChange has a change written. Then is called once it is durable; it may be nil.
func (k *contract) storeChange(change Change, then func(twice []ledger.Sequence)) {
	change.Contract = k.address()
	k.writing++
	k.core.number++
	w := Write{ID: k.core.number, Change: change, then: func(twice []ledger.Sequence) {
		k.writing--
		if then != nil {
			then(twice)
		}
	}}
	k.core.writing[w.ID] = w
	k.core.out.Writes = append(k.core.out.Writes, w)
}

// watchPassage is told of each step of the contract's own intents.
func (k *contract) watchPassage(p sender.Passage) {
	if p.From == p.To && p.To != sender.Accepted {
		return
	}
	head, _ := k.Sender.Height()
	if k.pace.note(p.Sequence, p.To, head, k.set.Declared.Range) {
		k.say(slog.LevelWarn, "the range of a contract is shorter than ten times what an intent takes: much of the work moves to another coordinator before it is done", "range", k.set.Declared.Range, "blocks", k.pace.blocks())
	}
	k.core.act(Passed{k.address(), p})
}

func (k *contract) address() string { return k.set.Declared.Address }
