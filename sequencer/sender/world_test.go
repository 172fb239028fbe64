package sender

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/conchhq/conch/sequencer/book"
	"github.com/conchhq/conch/sequencer/domain"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/sequencer/ledger/ledgertest"
	"github.com/conchhq/conch/sequencer/ranking"
	"github.com/conchhq/conch/sequencer/wire"
)

const self = ledger.Account("self")

func testContract() ledger.Contract {
	return ledger.Contract{
		Chain: 1, Address: "contract", Domain: "tokens 1", Needed: 1, Range: 8, Depth: 3, Life: 10,
		Members: []ledger.Account{self, "a", "b", "c"}, Committee: []ledger.Account{"a", "b", "c"},
	}
}

func testCommittee(c ledger.Contract) *ranking.Committee {
	var names []string
	for _, a := range c.Committee {
		names = append(names, string(a))
	}
	committee, err := ranking.NewCommittee(c.Address, names, c.Range, ranking.Rendezvous{})
	if err != nil {
		panic(err)
	}
	return &committee
}

// told is what a user has heard of an intent.
type told struct {
	key      string
	payload  string
	names    []ledger.Sequence // that it had: one, if all is well
	accepted bool
	ended    bool
	result   Result
	stored   Result // the row that says so
	settled  bool   // it is there
	lost     bool   // its row, or what was told, was lost in a restore
	excused  bool   // cancelled by its user, or it has a deadline
	blame    int    // what coordinators and the ledger said against it
}

// packet is a message on its way, or a Pulse.
type packet struct {
	from, to ledger.Account
	msg      wire.Message
	pulse    *Pulse
}

// world is one owner, its coordinators and the ledger. Everything that may go wrong does, as a seed has it, until calm.
type world struct {
	t        testing.TB
	rng      *rand.Rand
	calm     bool
	restores bool
	demand   bool // blocks come only if there is something to put into them
	now      time.Duration
	contract ledger.Contract
	scheme   ledgertest.Fake

	model, final *ledger.Model
	blocks       [][]ledger.Sent
	facts        [][]ledger.Fact
	pool         []ledger.Sent // all that was ever sent
	fresh        int           // of them, not tried yet
	nudged       bool

	m       *Machine
	book    *book.Book
	starts  int
	begins  bool // the first step of a start
	feed    []any
	stores  []Store // not committed
	judges  []Judge
	disk    disk
	backup  disk
	packets []packet
	coords  []*coordinator

	users     []*told
	bySeq     map[ledger.Sequence]*told
	byKey     map[string]*told
	landings  map[*told]int
	placed    map[ledger.Sequence]int // of submission
	assembled map[string]bool         // delegation + assembled hash
	offeredTo map[ledger.Hash]ledger.Account
	reached   map[ledger.Hash]int
	before    map[ledger.Hash]int // what reached was before the last Delegate: who refuses it has taken none
	latest    map[ledger.Sequence]ledger.Hash
	arrived   map[string]int // requests, by who asks and id
	answered  map[string]int
	owed      map[string]bool // requests that this start has to answer
	fault     string
}

func newWorld(t testing.TB, seed uint64) *world {
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), contract: testContract(),
		disk:  newDisk(),
		bySeq: map[ledger.Sequence]*told{}, byKey: map[string]*told{}, landings: map[*told]int{}, placed: map[ledger.Sequence]int{},
		assembled: map[string]bool{}, offeredTo: map[ledger.Hash]ledger.Account{}, reached: map[ledger.Hash]int{}, before: map[ledger.Hash]int{},
		latest: map[ledger.Sequence]ledger.Hash{}, arrived: map[string]int{}, answered: map[string]int{},
	}
	w.demand, w.restores = w.rng.IntN(4) == 0, w.rng.IntN(3) == 0
	w.model, w.final = ledger.NewModel(w.contract, w.scheme), ledger.NewModel(w.contract, w.scheme)
	for _, a := range w.contract.Committee {
		w.coords = append(w.coords, newCoordinator(w, a))
	}
	w.backup = w.disk.clone()
	w.start()
	return w
}

func (w *world) failf(format string, args ...any) {
	if w.fault == "" {
		w.fault = fmt.Sprintf(format, args...)
	}
}

func (w *world) chance(percent int) bool { return w.rng.IntN(100) < percent }

// start starts the node from what is on its disk.
func (w *world) start() {
	w.starts++
	w.feed, w.judges, w.owed = nil, nil, map[string]bool{}
	final := w.final.Number()
	final -= min(final, w.rng.Uint64N(4))
	b, err := book.New(book.Config{Contract: w.contract, Scheme: w.scheme, Rules: tokens{}})
	if err != nil {
		w.t.Fatal(err)
	}
	for n := uint64(1); n <= final; n++ {
		_ = b.Block(ledger.Block{Number: n, Facts: w.facts[n-1]})
	}
	w.book = b
	w.hearAll()
	for n := final + 1; n <= w.model.Number(); n++ {
		w.feed = append(w.feed, ledger.Block{Number: n, Facts: w.facts[n-1]})
	}
	load := Load{Final: final, Head: w.model.Number(), Intents: w.disk.loaded()}
	c := Config{
		Self: self, Contract: &w.contract, Committee: testCommittee(w.contract), Scheme: w.scheme, Rules: tokens{}, Book: b,
		Incarnation: wire.Incarnation{byte(w.starts), byte(w.starts >> 8), 7}, Lineage: uint64(w.starts) << 20, Secret: [32]byte{1}, Load: load,
	}
	if err := c.Validate(); err != nil {
		w.t.Fatal(err)
	}
	w.m = New(c)
	w.begins = true
	watch(w.t, w.m)
}

// hearAll tells the book all that was ever made.
func (w *world) hearAll() {
	for _, c := range w.coords {
		for _, whole := range c.wholes {
			_, _ = w.book.Hear(whole)
		}
	}
}

// crash stops the node. Of what it has asked to store a part is committed.
func (w *world) crash(restore bool) {
	for n := w.rng.IntN(len(w.stores) + 1); n > 0; n-- {
		w.commit()
	}
	w.stores = nil
	if restore {
		w.disk = w.backup.clone()
		for _, u := range w.users {
			for _, s := range u.names {
				_, ended := w.disk.ended[s]
				u.settled = u.settled && ended // the row is gone; what the user has heard is not
				u.lost = u.lost || w.disk.open[s] == nil && !ended || u.ended && !ended
			}
		}
	}
	w.start()
}

// step feeds the machine and carries out what it asks for.
func (w *world) step(in Input) {
	if r, is := in.(Received); is {
		if r.Message.Request.Number > 0 {
			switch r.Message.Body.(type) {
			case wire.Assemble, wire.AskGrant, wire.Dispatched:
				key := fmt.Sprint(r.From, r.Message.Request)
				w.arrived[key]++
				w.owed[key] = true
			}
		}
	}
	out := w.m.Step(w.now, in)
	if *replay >= 0 {
		w.t.Logf("%v %T %.300v", w.now, in, fmt.Sprint(in))
		for _, a := range out {
			w.t.Logf("      %T %.400v", a, fmt.Sprint(a))
		}
	}
	for _, a := range out {
		w.act(a)
	}
	w.begins = false
}

func (w *world) act(a Action) {
	switch a := a.(type) {
	case Send:
		w.inspect(a)
		w.packets = append(w.packets, packet{from: self, to: a.To, msg: a.Message})
	case Store:
		for _, row := range a.Intents {
			u := w.byKey[row.Key]
			if w.bySeq[row.Sequence] != nil {
				w.failf("C5: the number %v was given twice", row.Sequence)
			}
			u.names = append(u.names, row.Sequence)
			w.bySeq[row.Sequence] = u
			w.placed[row.Sequence] = len(w.placed)
		}
		w.stores = append(w.stores, a)
	case Submitted:
		u := w.byKey[a.Key]
		if w.disk.open[a.Sequence] == nil {
			w.failf("P28: the user hears of %v before it is stored", a.Sequence)
		}
		u.accepted = true
	case Finished:
		w.finished(a)
	case Judge:
		w.judges = append(w.judges, a)
	case SendCancellation:
		c := ledger.Cancellation{Intent: a.Intent}
		c.Signature = w.scheme.Sign(self, w.scheme.Cancelled(w.contract, a.Intent))
		w.pool = append(w.pool, ledger.Sent{By: self, Cancel: &c})
	case Nudge:
		w.nudged = true
	}
}

// commit commits the oldest Store.
func (w *world) commit() uint64 {
	s := w.stores[0]
	w.stores = w.stores[1:]
	w.disk.write(s)
	for _, r := range s.Results {
		u := w.bySeq[r.Sequence]
		u.stored, u.settled = r, true
		w.checkResult(u, r)
	}
	return s.ID
}

// mine makes the next block.
func (w *world) mine(sent ...ledger.Sent) {
	facts := w.model.Block(sent...)
	w.blocks, w.facts = append(w.blocks, sent), append(w.facts, facts)
	for _, f := range facts {
		if u := w.bySeq[f.Sequence]; u != nil && f.Skipped == ledger.NotEndorsed {
			u.blame++
		} else if u != nil && f.Skipped == ledger.Taken && f.Assembled != (ledger.Hash{}) {
			if w.landings[u]++; w.landings[u] > 1 {
				w.failf("I1: %s (%s) has landed twice", u.key, u.payload)
			}
		}
	}
	w.feed = append(w.feed, ledger.Block{Number: w.model.Number(), Facts: facts})
	for w.final.Number()+w.contract.Depth < w.model.Number() {
		for _, f := range w.final.Block(w.blocks[w.final.Number()]...) {
			if u := w.bySeq[f.Sequence]; u != nil && f.Skipped == ledger.Taken && f.Payload == domain.PayloadHash([]byte(u.payload)) && u.settled && !u.lost && !u.stored.Confirmed {
				w.failf("C2: %s (%s) was Reverted, and has landed", u.key, u.payload)
			}
		}
	}
}

// rewind takes blocks back, none that is final.
func (w *world) rewind() {
	n := w.rng.Uint64N(w.model.Number() - w.final.Number() + 1)
	if n == 0 {
		return
	}
	for range n {
		for _, f := range w.facts[len(w.facts)-1] {
			if u := w.bySeq[f.Sequence]; u != nil && f.Skipped == ledger.Taken && f.Assembled != (ledger.Hash{}) {
				w.landings[u]--
			}
		}
		w.model.Revert()
		w.blocks, w.facts = w.blocks[:len(w.blocks)-1], w.facts[:len(w.facts)-1]
	}
	w.feed = append(w.feed, ledger.Rewind{To: w.model.Number()})
}

// next feeds the node with what the chain did.
func (w *world) next() {
	in := w.feed[0]
	w.feed = w.feed[1:]
	switch in := in.(type) {
	case ledger.Block:
		_ = w.book.Block(in)
		if len(w.book.Missing()) > 0 { // the node asks the members
			w.hearAll()
		}
	case ledger.Rewind:
		_ = w.book.Rewind(in)
	}
	w.step(in)
}

func (w *world) answerJudge() {
	j := w.judges[0]
	w.judges = w.judges[1:]
	in := Judged{Number: w.final.Number()}
	for _, q := range j.Questions {
		in.Answers = append(in.Answers, q.Read(ledger.Final{View: w.final}))
	}
	w.step(in)
}

func (w *world) submit() {
	kinds := []string{"make x", "make x", "make y", "move x y", "move x y", "move y z", "read x z", "never", "fail", "panic"}
	u := &told{key: fmt.Sprint("k", len(w.users)), payload: kinds[w.rng.IntN(len(kinds))]}
	in := Submit{Key: u.key, Payload: []byte(u.payload)}
	if w.chance(10) {
		in.Deadline, u.excused = w.model.Number()+w.rng.Uint64N(15), true
	}
	w.users = append(w.users, u)
	w.byKey[u.key] = u
	w.step(in)
}
