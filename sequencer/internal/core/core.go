package core

import (
	"log/slog"
	"slices"
	"time"

	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/internal/book"
	"github.com/conchhq/conch/sequencer/internal/coordinator"
	"github.com/conchhq/conch/sequencer/internal/endorser"
	"github.com/conchhq/conch/sequencer/internal/sender"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Config describes a node. What is random in it is drawn anew for each start.
type Config struct {
	Self      ledger.Account
	Secret    [32]byte // from which salts are made
	Contracts []Contract

	SleepAfter time.Duration // how long nothing happens in a contract until the store alone has it
	ShareFor   time.Duration // how long a user waits at most, since the landing, until another member has the contents

	Coordinates wire.Incarnation // of the coordinators
	Owns        wire.Incarnation // its second half is that of all senders
	Fetches     wire.Incarnation // of requests for attempts

	// Timed, if there is one, runs each step of a machine, "sender", "coordinator" or "endorser".
	Timed func(machine string, step func())
}

// Contract is a contract of which the node is a member.
type Contract struct {
	Declared   ledger.Contract
	Rules      domain.Rules
	Scheme     ledger.Scheme
	NudgeAfter time.Duration // without a block, while one is waited for; that of package sender if 0
	Batch      int           // intents in a request to assemble; that of package coordinator if 0
}

// Core is a node without its loop. It is not safe for concurrent use, but for [Core.Open].
type Core struct {
	cfg    Config
	now    time.Duration
	out    Output
	places map[string]*place
	awake  []*place

	asked   map[uint64]func(Answered) // what the answer to a question is for
	writing map[uint64]Write          // that are not durable yet
	number  uint64                    // of the last question or write
	lives   uint64                    // how often a contract woke

	beats   map[ledger.Account][]wire.Pulse
	serving map[ledger.Account]int // for whom contents are being read, and how many times
	reads   int                    // of those
	alone   int                    // intents that were told as done while perhaps nobody else had their contents
}

// New returns a core all of whose contracts sleep.
func New(cfg Config) *Core {
	c := &Core{
		cfg: cfg, places: make(map[string]*place, len(cfg.Contracts)), asked: map[uint64]func(Answered){}, writing: map[uint64]Write{},
		beats: map[ledger.Account][]wire.Pulse{}, serving: map[ledger.Account]int{},
	}
	for i := range cfg.Contracts {
		set := &c.cfg.Contracts[i]
		c.places[set.Declared.Address] = &place{set: set, last: Status{Contract: set.Declared.Address, Intents: map[string]int{}}}
	}
	return c
}

// Step takes an input, and returns what is to be done. The time never goes back.
func (c *Core) Step(now time.Duration, in Input) Output {
	c.now, c.out = now, Output{}
	c.takeInput(in)
	return c.out
}

func (c *Core) takeInput(in Input) {
	switch in := in.(type) {
	case Tick:
		c.tickAwake()
	case Opened:
		c.contractOpened(in)
	case Rouse:
		c.rouseContract(c.places[in.Contract])
	case Reach:
		c.reachContract(in)
	case Submit:
		c.atOpen(in.Contract, func(k *contract) { k.askers.handIn(in) })
	case Cancel:
		c.atOpen(in.Contract, func(k *contract) { k.cancelIntent(in) })
	case Drain:
		c.places[in.Contract].drained = in.On
		c.atOpen(in.Contract, func(k *contract) { k.toCoordinator(coordinator.Drain{On: in.On}) })
	case Followed:
		c.atOpen(in.Contract, func(k *contract) { k.stepFollowed(in) })
	case Refused:
		c.atOpen(in.Contract, func(k *contract) { k.errands.refused = "not taken: " + in.Why })
	case GivenUp:
		c.atOpen(in.Contract, func(k *contract) { k.toCoordinator(coordinator.GivenUp{}) })
	case Written:
		c.writesDurable(in)
	case Answered:
		then := c.asked[in.ID]
		if delete(c.asked, in.ID); c.awaits(then != nil, in.ID) {
			then(in)
		}
	default:
		c.hearOthers(in)
	}
}

// atOpen does something with a contract that is open.
func (c *Core) atOpen(address string, do func(*contract)) {
	if k := c.places[address].open; k != nil {
		do(k)
	}
}

// tickAwake tells the machines of the time. A contract with nothing in flight costs nothing (I9).
func (c *Core) tickAwake() {
	for _, p := range c.awake {
		p.open.tickMachines()
	}
	c.restIdle()
	for _, to := range sortedAccounts(c.beats) {
		c.act(Beat{To: to, Beat: wire.Beat{Incarnation: c.cfg.Coordinates, Contracts: c.beats[to]}})
	}
	clear(c.beats)
}

func (c *Core) act(a Act) { c.out.Acts = append(c.out.Acts, a) }

// askQuestion returns the number of a question. Then is called with its answer.
func (c *Core) askQuestion(then func(Answered)) uint64 {
	c.number++
	c.asked[c.number] = then
	return c.number
}

// awaits reports whether something waits for an answer. Nothing waits for a second one: that is a fault of the shell, which the log names.
func (c *Core) awaits(waits bool, number uint64) bool {
	if !waits {
		c.act(Say{slog.LevelError, "what is asked once is answered twice, which is a fault of conch: the second answer is dropped", []any{"number", number}})
	}
	return waits
}

// writesDurable takes what is durable. An intent whose key has another row is told to the one that has stored it.
func (c *Core) writesDurable(in Written) {
	for _, id := range in.IDs {
		w, waits := c.writing[id]
		if delete(c.writing, id); !c.awaits(waits, id) {
			continue
		}
		var of []ledger.Sequence
		for _, t := range in.Twice {
			if w.Change.Sender != nil && t.Contract == w.Change.Contract && hasIntent(*w.Change.Sender, t.Sequence) {
				of = append(of, t.Sequence)
			}
		}
		w.then(of)
	}
}

func hasIntent(s sender.Store, of ledger.Sequence) bool {
	return slices.ContainsFunc(s.Intents, func(row sender.IntentRow) bool { return row.Sequence == of })
}

// Awake returns in how many contracts something happens, or did so lately.
func (c *Core) Awake() int { return len(c.awake) }

// IsAwake reports whether a contract is awake.
func (c *Core) IsAwake(address string) bool { return c.places[address].open != nil }

// Alone returns how many intents were told as done while no other member had said that it keeps their contents.
func (c *Core) Alone() int { return c.alone }

// Machines are those of a contract that is awake.
type Machines struct {
	Book        *book.Book
	Sender      *sender.Machine
	Coordinator *coordinator.Machine // nil if the node may not coordinate
	Endorser    *endorser.Machine
}

// Machines returns the machines of a contract, and false while it sleeps.
func (c *Core) Machines(address string) (Machines, bool) {
	if k := c.places[address].open; k != nil {
		return k.Machines, true
	}
	return Machines{}, false
}

func sortedAccounts[V any](of map[ledger.Account]V) []ledger.Account {
	all := make([]ledger.Account, 0, len(of))
	for a := range of {
		all = append(all, a)
	}
	slices.Sort(all)
	return all
}
