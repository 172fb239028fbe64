package member

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/conchhq/conch/txlog"
)

// world is three members, and users who ask any of them for goals, again and again, with the same id.
type world struct {
	seed     uint64
	flips    bool // a memory may lose a value
	chance   *rand.Rand
	now      time.Duration
	genesis  txlog.Genesis
	nodes    []*node
	fault    error
	refusals []string

	decided []txlog.Record // as the first one has applied it
	asks    []*ask
	tickets map[uint64]*asked
	changes map[uint64][]txlog.Member
	ticket  uint64
	acked   uint64 // the highest index that somebody was told
	rung    map[txlog.Key]int
	flipped bool
	wrong   bool // a machine has said that its leader's memory is, or its own
	told    map[string]int
}

// ask is a goal, or a read, of one user.
type ask struct {
	id, body string // without an id: a read
	since    uint64
	acked    uint64 // when it was first asked
	answer   *txlog.Answer
	end      error // nobody will ever say more
}

// asked is an ask at one node.
type asked struct {
	*ask

	at    *node
	acked uint64 // when this node was asked
}

func newWorld(seed uint64, flips bool) *world {
	w := &world{
		seed: seed, flips: flips, chance: rand.New(rand.NewPCG(seed, 25)), now: time.Hour, genesis: genesis(),
		tickets: map[uint64]*asked{}, changes: map[uint64][]txlog.Member{}, rung: map[txlog.Key]int{}, told: map[string]int{},
	}
	w.genesis.Scrub, w.genesis.Retention = 7, 25
	for _, name := range []string{"a", "b", "c"} {
		n := &node{w: w, name: name}
		w.nodes = append(w.nodes, n)
		n.start()
	}
	return w
}

func (w *world) fail(format string, args ...any) {
	if w.fault == nil {
		w.fault = fmt.Errorf("seed %d: "+format, append([]any{w.seed}, args...)...)
	}
}

// copyOf applies records as an honest memory does.
func (w *world) copyOf(records []txlog.Record) *txlog.Copy {
	c := txlog.NewCopy(w.genesis, newNotes)
	for _, r := range records {
		if err := c.Apply(r); err != nil {
			w.fail("entry %d is committed, and an honest memory does not take it: %v", r.Index, err)
			return c
		}
	}
	return c
}

func (w *world) any() *node { return w.nodes[w.chance.IntN(len(w.nodes))] }

// some does one of the things that can happen.
func (w *world) some(faults bool) {
	w.now += time.Duration(w.chance.IntN(60)) * time.Millisecond
	n := w.any()
	switch w.chance.IntN(26) {
	case 0, 1, 2, 3:
		n.persist()
	case 4, 5, 6, 7, 8, 9:
		n.give(w.any())
	case 10, 11:
		n.step(Tick{At: int64(w.now / time.Millisecond)})
	case 12:
		if n.open = !n.open; n.up {
			n.step(Door{Open: n.open})
		}
	case 13, 14:
		if len(n.performing) > 0 {
			key := n.performing[0]
			n.performing = n.performing[1:]
			n.step(Done{Key: key})
		}
	case 15:
		n.rebuild()
	case 16:
		w.elect(n, faults)
	case 17:
		w.harm(n, faults)
	case 18:
		if faults && w.chance.IntN(3) == 0 {
			w.upset(n)
		}
	default:
		w.asksAgain(n, faults)
	}
}

// elect makes a leader: in times without faults only if there is none, else rarely.
func (w *world) elect(n *node, faults bool) {
	for _, other := range w.nodes {
		if other.leads && (!faults || w.chance.IntN(5) > 0) {
			return
		}
	}
	n.step(Suggested{Name: n.name})
}

// upset does what a machine has to bear: an asker goes, the members change, its copies are made anew without a cause, its
// authority knows of no leader for a while.
func (w *world) upset(n *node) {
	if !n.up {
		return
	}
	switch w.chance.IntN(4) {
	case 0:
		for ticket := range w.ticket {
			if of := w.tickets[ticket]; of != nil && of.at == n {
				delete(w.tickets, ticket)
				n.step(Gone{Ticket: ticket})
				return
			}
		}
	case 1:
		members := slices.Clone(w.genesis.Members)
		members[2].Store += w.chance.Uint64N(3)
		w.ticket++
		w.changes[w.ticket] = members
		n.step(Change{Ticket: w.ticket, Members: members, Since: uint64(len(w.decided)) - min(w.chance.Uint64N(3), uint64(len(w.decided)))})
	case 2:
		n.rebuilding = true
	case 3:
		n.depose(n.term, "")
	}
}

func (w *world) harm(n *node, faults bool) {
	switch pick := w.chance.IntN(12); {
	case !faults:
	case !n.up:
		n.start()
	case n.cut:
		n.cut = false
	case pick < 2:
		n.crash()
	case pick < 4:
		n.cut = true
	case pick < 6:
		if w.flips && n.leads && !w.flipped {
			w.flipped = true
			for _, s := range n.states {
				s.flip("x")
			}
		}
	}
}

// asksAgain asks a node for a new goal, for an old one that has no answer, or for what a number is.
func (w *world) asksAgain(n *node, faults bool) {
	if !n.up {
		return
	}
	var of *ask
	var open []*ask
	for _, a := range w.asks {
		if a.answer == nil && a.end == nil && a.id != "" {
			open = append(open, a)
		}
	}
	switch pick := w.chance.IntN(8); {
	case faults && (pick < 3 || pick < 5 && len(open) == 0):
		of = w.invent()
	case faults && pick == 3:
		of = &ask{body: "x", acked: w.acked}
		w.asks = append(w.asks, of)
	case len(open) > 0:
		of = open[w.chance.IntN(len(open))]
	default:
		return
	}
	w.ticket++
	w.tickets[w.ticket] = &asked{ask: of, at: n, acked: w.acked}
	if of.id == "" {
		n.step(Read{Ticket: w.ticket})
	} else {
		n.step(Execute{Ticket: w.ticket, Goal: txlog.Goal{ID: of.id, Body: []byte(of.body), Since: of.since}})
	}
}

// invent makes a goal. Sometimes it has the id of another one.
func (w *world) invent() *ask {
	bodies := []string{"add x 1", "add x 2", "add y 1", "copy x y", "copy y x", "get y", "ring bell", "fail", "lie"}
	if w.flips {
		bodies = []string{"add x 1", "add x 2"} // a value that is only read, shows at the next scrub
	}
	of := &ask{id: fmt.Sprintf("g%d", len(w.asks)), body: bodies[w.chance.IntN(len(bodies))], since: uint64(len(w.decided)), acked: w.acked}
	if len(w.asks) > 0 && w.chance.IntN(12) == 0 {
		if other := w.asks[w.chance.IntN(len(w.asks))]; other.id != "" {
			of.id, of.since, of.acked = other.id, other.since, other.acked
		}
	}
	w.asks = append(w.asks, of)
	return of
}

// forget loses what was asked of a node that is gone.
func (w *world) forget(n *node) {
	for ticket, of := range w.tickets {
		if of.at == n {
			delete(w.tickets, ticket)
		}
	}
}

// perform does what a machine says.
func (w *world) perform(n *node, actions []Action) {
	for _, a := range actions {
		switch a := a.(type) {
		case Campaign:
			n.campaign()
		case Append:
			if n.leads && a.Record.Term == n.term {
				n.pending = append(n.pending, a.Record)
			}
		case Confirm:
			if w.chance.IntN(4) > 0 {
				n.confirm(a.Read)
			}
		case Applied:
			for _, r := range a.Records {
				w.applied(n, r)
			}
		case Reply:
			w.answered(n, a)
		case Perform:
			w.rung[a.Key]++
			n.performing = append(n.performing, a.Key)
		case Rebuild:
			n.rebuilding, w.wrong = true, true
			w.refusals = append(w.refusals, fmt.Sprintf("%s is made anew (%v): %v", n.name, a.Again, a.Why))
		case Quarantine:
			w.wrong = true
			w.refusals = append(w.refusals, fmt.Sprintf("%s gives term %d up: %v", n.name, a.Term, a.Why))
			if n.muted = true; n.leads {
				n.depose(n.term, "")
			}
		case Say:
			if r := w.decided[a.Head.Index-1]; r.Hash() != a.Head.Hash || r.State != a.Head.State {
				w.fail("%s says a head of entry %d that is not the log's", n.name, a.Head.Index)
			}
			w.told[n.name]++
		case Keep:
			if _, err := txlog.Restore(a.Photo.Bytes(), newNotes); err != nil {
				w.fail("the snapshot of %s at %d: %v", n.name, a.Photo.Of.Index, err)
			}
		}
	}
}

// applied checks that there is one record an index.
func (w *world) applied(n *node, r txlog.Record) {
	switch i := r.Index - 1; {
	case i < uint64(len(w.decided)):
		if w.decided[i].Hash() != r.Hash() {
			w.fail("%s has applied another entry %d: %s, and %s", n.name, r.Index, describe(r), describe(w.decided[i]))
		}
	case i == uint64(len(w.decided)):
		w.decided = append(w.decided, r)
	default:
		w.fail("%s has applied entry %d after %d", n.name, r.Index, len(w.decided))
	}
}

// answered takes an answer, and checks what can be said of it at once.
func (w *world) answered(n *node, a Reply) {
	if members, is := w.changes[a.Ticket]; is {
		delete(w.changes, a.Ticket)
		w.changed(members, a)
		return
	}
	of := w.tickets[a.Ticket]
	if of == nil || of.at != n {
		w.fail("%s answers a ticket that waits for nothing", n.name)
		return
	}
	delete(w.tickets, a.Ticket)
	switch {
	case a.Err != nil:
		w.refusedAsk(of, a.Err)
	case of.id == "":
		w.checkRead(n, of, a.Answer)
	case of.answer != nil && (of.answer.Index != a.Index || string(of.answer.Result) != string(a.Result) || of.answer.Fault != a.Fault):
		w.fail("goal %s is answered twice: %+v, then %+v", of.id, *of.answer, a.Answer)
	case a.Index <= of.ask.acked:
		w.fail("goal %s is at %d, and was asked for after %d was told", of.id, a.Index, of.ask.acked)
	default:
		answer := a.Answer
		of.answer = &answer
		w.acked = max(w.acked, a.Index)
	}
}

// changed checks that a change that is done was in the log, or was so before.
func (w *world) changed(members []txlog.Member, a Reply) {
	switch {
	case errors.Is(a.Err, txlog.ErrNotLeader), errors.Is(a.Err, txlog.ErrChanging), errors.Is(a.Err, txlog.ErrChanged):
	case a.Err != nil:
		w.fail("a change of members: %v", a.Err)
	case a.Index == 0 || a.Index > uint64(len(w.decided)) || !slices.Equal(w.copyOf(w.decided[:a.Index]).Members(), members):
		w.fail("a change of members is said to be done with entry %d, and is not", a.Index)
	}
}

func (w *world) refusedAsk(of *asked, err error) {
	known := false
	for _, is := range []error{txlog.ErrNotLeader, txlog.ErrTooMany, txlog.ErrUnknown, ErrUnconfirmed} {
		known = known || errors.Is(err, is)
	}
	switch {
	case known:
	case errors.Is(err, txlog.ErrOld), errors.Is(err, txlog.ErrGoalID):
		of.end = err
	default:
		w.fail("goal %s has no answer, but %v", of.id, err)
	}
}

// checkRead checks that a read has everything that somebody was told before it.
func (w *world) checkRead(n *node, of *asked, a txlog.Answer) {
	if a.Index < of.acked {
		w.fail("a read is of %d, and was asked for after %d was told", a.Index, of.acked)
	}
	w.acked = max(w.acked, a.Index)
	said, at, err := n.m.query([]byte(of.body))
	if err != nil || w.flipped {
		return
	}
	if value, err := w.copyOf(w.decided[:at.Index]).Query([]byte(of.body)); err != nil || at.Index < a.Index || string(value) != string(said) {
		w.fail("a read at %d, from %d on, says %s, and it is %s, %v", at.Index, a.Index, said, value, err)
	}
}
