package coordinator

import (
	"slices"
	"strings"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
	"github.com/conchhq/conch/transport"
)

// Machine coordinates one contract at one node. It is pure, and not safe for concurrent use.
type Machine struct {
	set    Config
	head   uint64
	height ranking.Height // of final blocks

	clients  map[ledger.Account]*client // members that own work here, or have
	order    []*client                  // the same, by account
	members  []*member                  // in the contract's order
	works    map[ledger.Intent]*work    // all that is not over
	flight   *flight
	blocks   map[uint64][]*work       // in a block that is not final
	lasting  map[uint64][]*work       // whose grant has a last block
	strange  map[uint64][]ledger.Hash // what others have landed in a block that is not final, and is not on board
	seen     uint64                   // blocks and reorganisations
	seats    uint64
	inFlight int      // attempts of this node on board that are in no block
	ready    []*work  // endorsed, perhaps not ready any more
	losers   []*loser // whose turn comes, the first first
	delayed  []listed // to be assembled again at a time

	asks    map[uint64]*ask // requests that wait for an answer
	number  uint64          // of the last request
	stores  map[uint64][]*work
	storing uint64
	nudgeAt time.Duration // when to ask for a block; 0: nothing has waited yet
	flying  int           // works that are dispatched

	owes      bool          // something was submitted since the last review, or is still dispatched
	reviewing bool          // Review is not answered
	hurried   bool          // the next one is due at once: something was given up since the last one began
	reviewAt  time.Duration // not before

	drained bool // it takes no work

	changedReady bool // what is ready may go now
	tenure       tenure
	asked        map[ledger.Account]question // of those that have asked for a handover
	turnedAt     ranking.Range
	beatAt       time.Duration
	orders       map[ranking.Range][]string
	lesser       map[ledger.Account]time.Duration // coordinators that this node precedes, and when each was heard
	judging      []*work                          // what Judge was asked
	verdicts     *Judged                          // its answer, until this node has followed the ledger to that block
	swept        []*work                          // by the last sweep, for its room
	ended        map[string]uint64                // entries of this node, by how they have ended
	reason       ledger.Reason                    // why what ends now was skipped
	out          []Action
	now          time.Duration
	faults       []string // impossible events; none, ever
}

// client is a member as the owner of work.
type client struct {
	account     ledger.Account
	works       map[ledger.Sequence]*work
	delegations map[ledger.Hash]*delegation
	fresh       []listed // never assembled under its delegation, in submit order
	again       []listed // to be assembled again
	blocked     []listed // wait for another view
	sawAt       uint64   // the view's version at which they were blocked
	blockAt     time.Duration
	digest      wire.Digest

	asking    *ask             // its request to assemble
	granting  int              // its requests for grants that it has not answered
	knows     uint64           // the version of the context that it has, 0 for none
	lacks     []ledger.StateID // changes up to that version of which it was not told
	strikes   int              // requests in a row without an answer
	aside     time.Duration    // until then it is not asked
	mute      bool             // it was set aside since it did not answer for a grant
	lost      *loser           // its turn to come
	yielded   uint64           // the view's version at which others' turns were in its way
	fresher   bool
	untold    []*work // dispatched, and the owner has not confirmed that it knows
	toldAt    time.Duration
	toldTries int
}

// New returns the machine of a node that starts. The configuration is valid. What is to be done first is in the answer
// to the first Step, whatever its input.
func New(c Config) *Machine {
	m := &Machine{
		set: c.withDefaults(), head: c.Head, clients: map[ledger.Account]*client{}, works: map[ledger.Intent]*work{},
		flight: newFlight(), blocks: map[uint64][]*work{}, lasting: map[uint64][]*work{}, strange: map[uint64][]ledger.Hash{}, asks: map[uint64]*ask{}, stores: map[uint64][]*work{},
		lesser: map[ledger.Account]time.Duration{}, asked: map[ledger.Account]question{}, orders: map[ranking.Range][]string{}, number: c.Number,
		ended: map[string]uint64{},
	}
	for i, a := range c.Contract.Members {
		m.members = append(m.members, &member{account: a, place: i})
	}
	m.height.Note(m.deepest())
	m.turnedAt = m.own()
	m.load(c.Rows)
	return m
}

// Step takes an input and returns what to do. Now is the node's monotonic clock.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = now
	switch in := in.(type) {
	case Received:
		m.received(in.From, in.Message, in.Forged)
	case Heard:
		m.heard(in.From, in.Pulse.Works)
	case Stored:
		m.stored(in.Number)
	case ledger.Block:
		m.block(in)
	case ledger.Rewind:
		m.rewind(in.To)
	case Judged:
		m.verdicts = &in
		m.judged()
	case Reviewed:
		m.reviewed(in)
	case GivenUp:
		m.hurried = m.owes
	case Drain:
		m.drain(in.On)
	case Tick:
		m.tick()
	}
	m.pump()
	return m.take()
}

// Faults returns events that the state table calls impossible. There are none.
func (m *Machine) Faults() []string { return m.faults }

// Idle reports whether nothing is under way: no tick is needed, and nothing is sent (I9).
func (m *Machine) Idle() bool {
	return len(m.works) == 0 && len(m.asks) == 0 && len(m.lesser) == 0 && !m.owes && !m.reviewing
}

// Number returns the number of the last request.
func (m *Machine) Number() uint64 { return m.number }

func (m *Machine) take() []Action {
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

// final is the last final block; 0 before there is one. It never decreases.
func (m *Machine) final() uint64 {
	final, _ := m.height.Final()
	return final
}

// deepest is the block that is final by the head.
func (m *Machine) deepest() uint64 { return m.head - min(m.head, m.set.Contract.Depth) }

// own is the range for which this node sees coordinators chosen. It never decreases.
func (m *Machine) own() ranking.Range {
	return m.set.Committee.RangeOf(m.final())
}

// client returns a member's own place, made at need.
func (m *Machine) client(a ledger.Account) *client {
	c := m.clients[a]
	if c == nil {
		c = &client{account: a, works: map[ledger.Sequence]*work{}}
		m.clients[a] = c
		at, _ := slices.BinarySearchFunc(m.order, c, func(x, y *client) int { return strings.Compare(string(x.account), string(y.account)) })
		m.order = slices.Insert(m.order, at, c)
	}
	return c
}

// notice sends a message that gets no answer.
func (m *Machine) notice(to ledger.Account, body wire.Body) {
	m.do(Send{To: to, Message: wire.Message{Contract: m.set.Contract.Address, Height: m.final(), Body: body}})
}

// answer answers a request.
func (m *Machine) answer(to ledger.Account, request wire.RequestID, body wire.Body) {
	m.do(Send{To: to, Message: wire.Message{Contract: m.set.Contract.Address, Height: m.final(), Request: request, Body: body}})
}

// room returns how many bytes may be added to a message.
func (m *Machine) room(body wire.Body) int {
	return transport.MostBody - wire.Size(wire.Message{Contract: m.set.Contract.Address, Body: body})
}

// firstOf returns the member that a range's order names when some cannot be reached.
func (m *Machine) firstOf(r ranking.Range, avoid []ledger.Account) ledger.Account {
	for _, name := range m.orderOf(r) {
		if !slices.Contains(avoid, ledger.Account(name)) {
			return ledger.Account(name)
		}
	}
	return ""
}

// precedes reports whether one member comes before another in a range.
func (m *Machine) precedes(r ranking.Range, one, other ledger.Account) bool {
	order := m.orderOf(r)
	a, b := slices.Index(order, string(one)), slices.Index(order, string(other))
	return a >= 0 && (b < 0 || a < b)
}

// orderOf returns the committee in the order of a range. To find it costs a hash for each member, and it is asked for with
// each heartbeat.
func (m *Machine) orderOf(r ranking.Range) []string {
	order, is := m.orders[r]
	if !is {
		if len(m.orders) >= 8 { // own, and those near it
			clear(m.orders)
		}
		order = m.set.Committee.Order(r)
		m.orders[r] = order
	}
	return order
}
