package committee

import (
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/coordinator"
	"github.com/conchhq/conch/sequencer/endorser"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/sender"
	"github.com/conchhq/conch/sequencer/wire"
)

// node is an organisation: its database, and while it is up its machines. It does what a loop does.
type node struct {
	r       *run
	account ledger.Account
	name    string
	db      *database
	backup  *database
	lag     time.Duration // until a block reaches it
	born    time.Duration // of this start
	lives   int           // starts; what is under way for an earlier one is lost
	up      bool

	incarnation wire.Incarnation
	book        *book.Book
	sender      *sender.Machine
	coordinator *coordinator.Machine
	endorser    *endorser.Machine
	followed    time.Duration                    // when the last block reaches it
	landed      map[ledger.Intent]uint64         // that it has seen in the chain: the block
	sent        map[ledger.Intent]bool           // that it has dispatched, or seen skipped
	dead        map[ledger.Hash]bool             // attempts that it was given and that could not land any more by what it had seen
	delegations map[ledger.Hash][]ledger.Account // that it was given, and whom their senders cannot reach
	askers      map[ledger.Account]inheritance   // that have asked for a handover, for which range, and how long they repeat it
	closed      map[ledger.Hash]bool             // those of which it must not dispatch anything
	fetcher     wire.Incarnation                 // of its requests for attempts
	fetched     time.Duration
	stay        bool          // it does not come back
	slow        time.Duration // by which it answers later
	corrupt     bool          // its signatures are wrong
	refuses     bool          // it says of all that it is to coordinate that the members refuse it
	lies        *lie          // nil: it is honest
	deaf        time.Duration // from when it does not hear of grants; 0: never
	patience    time.Duration // until it asks again
	requests    uint64
	committed   time.Duration // when the last transaction of its database is
}

// boot starts the node from its database.
func (n *node) boot() {
	n.lives++
	n.up, n.born = true, n.r.w.Now()
	n.incarnation, n.fetcher, n.landed, n.sent = n.drawn(), n.drawn(), map[ledger.Intent]uint64{}, map[ledger.Intent]bool{}
	n.fetched, n.requests, n.dead = 0, 0, map[ledger.Hash]bool{}
	n.delegations, n.closed = map[ledger.Hash][]ledger.Account{}, map[ledger.Hash]bool{}
	n.askers = map[ledger.Account]inheritance{}
	if n.lives > 1 {
		n.r.tell(n.name, "starts again")
	}
	contract := n.r.contract
	n.book = n.must(book.New(book.Config{Contract: contract, Scheme: n.r.scheme, Rules: n.r.rules}))
	at := n.db.load(n.book)
	var cfg sender.Config
	cfg.Self, cfg.Contract, cfg.Committee, cfg.Scheme, cfg.Rules = n.account, &n.r.contract, &n.r.committee, n.r.scheme, n.r.rules
	cfg.Book, cfg.Incarnation, cfg.Lineage = n.book, n.drawn(), n.r.w.Draw()|1
	binary.BigEndian.PutUint64(cfg.Secret[:], n.r.w.Draw()|1)
	cfg.Load = sender.Load{Final: at, Head: max(at, n.r.chain.head.Number()), Intents: n.db.open()}
	n.sender = sender.New(cfg)
	n.coordinator = coordinator.New(coordinator.Config{
		Self: n.account, Contract: &n.r.contract, Committee: &n.r.committee, Scheme: n.r.scheme, Book: n.book,
		Batch: n.r.batch(), Incarnation: n.incarnation, Head: at, Rows: n.db.dispatches(),
		Strict: n.r.strict(),
	})
	n.endorser = endorser.New(endorser.Config{
		Contract: contract, Committee: n.r.committee, Book: n.book, Final: at - min(at, contract.Depth), Strict: n.r.strict(),
	})
	n.followed = n.r.w.Now()
	n.catchUp(at)
	n.toSender(sender.Tick{})
	n.toCoordinator(coordinator.Tick{})
	n.tick(n.lives)
}

// drawn returns a random incarnation.
func (n *node) drawn() (i wire.Incarnation) {
	binary.BigEndian.PutUint64(i[:], n.r.w.Draw())
	return i
}

// catchUp has the blocks after one delivered.
func (n *node) catchUp(at uint64) {
	for number := at + 1; number <= n.r.chain.head.Number(); number++ {
		n.follow(ledger.Block{Number: number, Facts: n.r.chain.blocks[number-1].facts})
	}
}

// follow delivers what the chain did, in order, when it reaches the node.
func (n *node) follow(in any) {
	at := max(n.followed+1, n.r.w.Now()+n.lag+n.r.w.Between(time.Millisecond, 50*time.Millisecond))
	n.followed = at
	life := n.lives
	n.r.w.After(at-n.r.w.Now(), func() {
		if !n.up || n.lives != life {
			return
		}
		switch in := in.(type) {
		case ledger.Block:
			n.r.check(n.book.Block(in) == nil, "the world", "%s: block %d does not follow", n.name, in.Number)
			n.db.settle(n.book)
			for _, f := range in.Facts {
				if f.Skipped != ledger.Taken && f.Skipped != ledger.Repeated {
					n.sent[f.Intent] = true // skipped is not dead, but nobody waits for it any more
					n.lookUp(f)
				}
				if f.Skipped == ledger.Taken {
					n.landed[f.Intent] = in.Number
				}
			}
		case ledger.Rewind:
			n.r.check(n.book.Rewind(in) == nil, "the world", "%s: the chain went back below %d", n.name, in.To)
			for intent, number := range n.landed {
				if number > in.To {
					delete(n.landed, intent)
				}
			}
		}
		n.r.words.reaches(n)
		n.toSender(in)
		n.toCoordinator(in)
		n.toEndorser(in)
		n.fetch()
	})
}

// lookUp asks the ledger about the states of an entry that it skipped. What has spent them may have been lost with a
// database: nobody would ever hear of it, and assemble on them for ever.
func (n *node) lookUp(f ledger.Fact) {
	w, is := n.book.Whole(f.Assembled)
	if f.Skipped != ledger.Missing || !is {
		return
	}
	n.reconcile(slices.Concat(w.Attempt.Inputs, w.Attempt.Reads))
}

// reconcile asks the ledger which states a final block still has, of those that were created in a block that is final for
// this node. It may have gone on when the answer comes.
func (n *node) reconcile(states []ledger.StateID) {
	var gone []ledger.StateID
	for _, id := range n.book.Settled(states) {
		if !n.r.chain.final.Unspent(id) {
			gone = append(gone, id)
		}
	}
	n.later(n.r.w.Between(time.Millisecond, 20*time.Millisecond), func() { n.book.Gone(gone...) })
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
	if !n.sender.Idle() {
		n.toSender(sender.Tick{})
	}
	if !n.coordinator.Idle() {
		n.toCoordinator(coordinator.Tick{})
	}
	if !n.endorser.Idle() {
		n.toEndorser(endorser.Tick{})
	}
	n.fetch()
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
	n.r.stats["crashes"]++
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
	n.r.stats["restores"]++
	n.r.anyRestored = true
	n.r.forget(n, n.backup)
	n.db, n.backup = n.backup, nil
}

func (n *node) now() time.Duration { return n.r.w.Now() }

func (n *node) toSender(in sender.Input) { n.performSender(n.sender.Step(n.now(), in)) }
func (n *node) toCoordinator(in coordinator.Input) {
	actions := n.coordinator.Step(n.now(), in)
	if n.r.cfg.Audit {
		wrong := n.coordinator.Audit()
		n.r.check(len(wrong) == 0, BooksKept, "%s, after %T: %v", n.name, in, wrong)
	}
	n.performCoordinator(actions)
}

func (n *node) toEndorser(in endorser.Input) { n.performEndorser(n.endorser.Step(n.now(), in)) }

// must returns a machine that cannot be missing: the configuration was validated.
func (n *node) must(b *book.Book, err error) *book.Book {
	n.r.check(err == nil, "the world", "%v", err)
	return b
}
