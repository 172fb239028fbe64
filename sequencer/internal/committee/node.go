package committee

import (
	"encoding/binary"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/internal/core"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// node is an organisation: its database, and while it is up its core. It performs what that says.
type node struct {
	core.Machines // of the contract while it is awake, and as it fell asleep; nil before

	r       *run
	account ledger.Account
	name    string
	db      *database
	backup  *database
	lag     time.Duration // until a block reaches it
	born    time.Duration // of this start
	lives   int           // starts; what is under way for an earlier one is lost
	up      bool

	core        *core.Core
	tickets     uint64
	reached     map[uint64]func()                // what waits for the contract
	answers     map[uint64]func(core.Accepted)   // whom it owes an answer
	incarnation wire.Incarnation                 // of its coordinator
	fetcher     wire.Incarnation                 // of its requests for attempts
	following   uint64                           // the Follow that its blocks are for; 0: none
	woken       int                              // so often it has begun to follow
	followed    time.Duration                    // when the last block reaches it
	landed      map[ledger.Intent]uint64         // that it has seen in the chain: the block
	sent        map[ledger.Intent]bool           // that it has dispatched, or seen skipped
	dead        map[ledger.Hash]bool             // attempts that it was given and that could not land any more by what it had seen
	offered     map[wire.RequestID]wire.Delegate // that have reached it
	delegations map[ledger.Hash][]ledger.Account // that it has taken, and whom their senders cannot reach
	lasting     map[ledger.Hash]uint64           // attempts that were handed to it: until which block it waits for them
	askers      map[ledger.Account]inheritance   // that have asked for a handover, for which range, and how long they repeat it
	closed      map[ledger.Hash]bool             // those of which it must not dispatch anything
	stay        bool                             // it does not come back
	slow        time.Duration                    // by which it answers later
	corrupt     bool                             // its signatures are wrong
	refuses     bool                             // it says of all that it is to coordinate that the members refuse it
	lies        *lie                             // nil: it is honest
	deaf        time.Duration                    // from when it does not hear of grants; 0: never
	requests    uint64                           // that it has made up
	committed   time.Duration                    // when the last transaction of its database is
	unheard     []core.Write                     // that are durable, and of which the core has not heard yet
	twice       []core.Twice                     // of those
	away        [3]time.Duration                 // until when what it asks is away
	drained     bool                             // by its operator
}

// begin starts all nodes, and the chain.
func (r *run) begin() {
	for _, n := range r.nodes {
		n.boot()
	}
	r.w.After(blockTime, r.chain.run)
}

// boot starts the node from its database.
func (n *node) boot() {
	n.lives++
	n.up, n.born = true, n.r.w.Now()
	n.incarnation, n.fetcher = n.drawn(), n.drawn()
	n.requests, n.following, n.unheard, n.twice, n.drained, n.Machines = 0, 0, nil, nil, false, core.Machines{}
	n.offered = map[wire.RequestID]wire.Delegate{}
	n.delegations, n.closed = map[ledger.Hash][]ledger.Account{}, map[ledger.Hash]bool{}
	n.askers, n.reached, n.answers = map[ledger.Account]inheritance{}, map[uint64]func(){}, map[uint64]func(core.Accepted){}
	if n.lives > 1 {
		n.r.tell(n.name, "starts again")
	}
	n.r.fetchers[n.fetcher], n.r.fetchers[n.liar()] = n.account, n.account
	owns, lineage := n.drawn(), n.lineage()
	n.core = core.New(n.config())
	if opened, is := n.opened(core.Read{Owns: owns, Lineage: lineage}); is {
		opened.Asleep = opened.Idle() && n.r.sleepAfter < awake
		n.feed(opened)
		n.tick(n.lives)
	}
}

// opened reads the contract.
func (n *node) opened(read core.Read) (core.Opened, bool) {
	read.Stored, read.Head = n.db.load(), n.r.chain.head.Number()
	opened, err := n.core.Open(n.r.contract.Address, read)
	return opened, n.r.Check(err == nil, "the world", "%v", err)
}

// config is that of a start.
func (n *node) config() core.Config {
	c := core.Config{
		Self: n.account, SleepAfter: n.r.sleepAfter, ShareFor: 10 * time.Second, Coordinates: n.incarnation, Owns: n.incarnation, Fetches: n.fetcher,
		Contracts: []core.Contract{{Declared: n.r.contract, Rules: n.r.rules, Scheme: n.r.scheme, Batch: n.r.batch()}},
	}
	binary.BigEndian.PutUint64(c.Secret[:], n.r.w.Draw()|1)
	if n.r.cfg.Audit {
		c.Timed = n.audited
	}
	return c
}

// audited looks at the books of the coordinator after each of its steps.
func (n *node) audited(machine string, step func()) {
	step()
	if m, is := n.core.Machines(n.r.contract.Address); is && machine == "coordinator" {
		wrong := m.Coordinator.Audit()
		n.r.Check(len(wrong) == 0, BooksKept, "%s: %v", n.name, wrong)
	}
}

// lineage returns with what the sequences of the contract begin, from now on.
func (n *node) lineage() uint64 {
	drawn := n.r.w.Draw() | 1
	if n.r.broken == "lineage" {
		return 1
	}
	return drawn
}

// drawn returns a random incarnation.
func (n *node) drawn() (i wire.Incarnation) {
	binary.BigEndian.PutUint64(i[:], n.r.w.Draw())
	copy(i[8:], i[:8])
	return i
}

// catchUp has the blocks after one delivered.
func (n *node) catchUp(at uint64) {
	for number := at + 1; number <= n.r.chain.head.Number(); number++ {
		n.follow(ledger.Block{Number: number, Facts: n.r.chain.blocks[number-1].facts})
	}
}

// begin begins to follow the chain: it is as after a start.
func (n *node) begin(f core.Follow) {
	n.following, n.followed = f.Life, n.now()
	n.woken++
	n.lasting = map[ledger.Hash]uint64{}
	n.landed, n.sent, n.dead = map[ledger.Intent]uint64{}, map[ledger.Intent]bool{}, map[ledger.Hash]bool{}
	n.catchUp(f.After)
}

// follow delivers what the chain did, in order, when it reaches the node. Some of it may come after the core has ended this Follow.
func (n *node) follow(in any) {
	at := max(n.followed+1, n.r.w.Now()+n.lag+n.r.w.Between(time.Millisecond, 50*time.Millisecond))
	n.followed = at
	follow := n.following
	n.later(at-n.r.w.Now(), func() {
		out := n.step(core.Followed{Contract: n.r.contract.Address, Life: follow, Step: in})
		if n.following == follow {
			n.saw(in)
		}
		n.perform(out)
	})
}

// saw notes what the node has heard of the chain.
func (n *node) saw(in any) {
	n.r.words.reaches(n)
	switch in := in.(type) {
	case ledger.Block:
		for _, f := range in.Facts {
			if f.Skipped != ledger.Taken && f.Skipped != ledger.Repeated {
				n.sent[f.Intent] = true // skipped is not dead, but nobody waits for it any more
			}
			if f.Skipped == ledger.Taken {
				n.landed[f.Intent] = in.Number
			}
		}
	case ledger.Rewind:
		for intent, number := range n.landed {
			if number > in.To {
				delete(n.landed, intent)
			}
		}
	}
}

// later runs something of this start, if it is still up by then.
func (n *node) later(wait time.Duration, do func()) {
	life := n.lives
	n.r.w.After(wait, func() {
		if n.up && n.lives == life {
			do()
		}
	})
}

func (n *node) tick(life int) {
	if !n.up || n.lives != life {
		return
	}
	n.feed(core.Tick{})
	n.r.w.After(50*time.Millisecond, func() { n.tick(life) })
}

// crash kills the node: what was not committed is lost.
func (n *node) crash(why string) {
	if !n.up {
		return
	}
	n.up = false
	if n.stay {
		return
	}
	n.r.Stats["crashes"]++
	n.r.tell(n.name, "%s", strings.TrimSpace("is killed "+why))
	wait := n.r.w.Between(50*time.Millisecond, 5*time.Second)
	if n.r.w.Chance(0.1) {
		wait = n.r.w.Between(5*time.Second, 30*time.Second)
	}
	life := n.lives
	n.r.w.After(wait, func() {
		if !n.up && n.lives == life {
			n.boot()
		}
	})
}

// restore kills the node and brings back an old copy of its database.
func (n *node) restore() {
	if n.backup == nil || n.r.anyRestored && n.r.odds.restore == 0 {
		return
	}
	n.crash("and its database restored")
	n.r.Stats["restores"]++
	n.r.anyRestored = true
	n.r.forget(n, n.backup)
	n.db, n.backup = n.backup, nil
}

func (n *node) now() time.Duration { return n.r.w.Now() }

// height returns the last block that the node has heard of while it was awake.
func (n *node) height() (head uint64) {
	if n.Book != nil {
		head, _ = n.Book.Height()
	}
	return head
}

// idle reports whether nothing is under way in the contract, and the node lacks nothing.
func (n *node) idle() bool {
	if !n.core.IsAwake(n.r.contract.Address) {
		return len(n.reached) == 0
	}
	return n.Sender.Idle() && n.Coordinator.Idle() && len(n.Book.Missing()) == 0 && n.committed <= n.now() && len(n.unheard) == 0
}

// look has a user look at the contract.
func (n *node) look() {
	if n.up {
		n.reach(func() { n.core.Look(n.r.contract.Address, time.Time{}) })
	}
}
