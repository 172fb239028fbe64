package sender

import (
	"encoding/binary"
	"time"

	"github.com/conchhq/conch/sequencer/internal/ranking"
	"github.com/conchhq/conch/sequencer/internal/wire"
	"github.com/conchhq/conch/sequencer/ledger"
)

// Machine is the owner of one contract's intents. It is pure, and not safe for concurrent use.
type Machine struct {
	cfg   Config
	table *stateTable

	now    time.Duration
	ticked time.Duration // the last Tick
	loaded bool          // what the store had is taken
	head   uint64
	height ranking.Height
	holds  uint64 // an intent of an earlier start is not Reverted before this block is final

	counter     uint64 // of the sequences given
	submitted   uint64 // intents, over all starts
	requests    uint64
	delegations uint64
	stores      uint64
	assembled   uint64

	blamed  map[ledger.Account]ranking.Range // coordinators that have sent what is not endorsed, and the range until whose end they are left out
	intents map[ledger.Sequence]*intent
	*work   // nil while idle

	out []Action
}

// work is what a machine needs while it has intents.
type work struct {
	counts    [states]int
	deadlined int // open intents with a deadline

	peers    map[ledger.Account]*peer
	listed   []*peer // in the order of their first message
	order    []ledger.Account
	ordered  ranking.Range // of order
	working  []*delegation // that have intents, and the current one
	current  *delegation   // to which intents are added
	waiting  []*intent     // for a coordinator
	unsorted bool
	resting  []rest
	offers   map[uint64]*delegation // by the number of the open Delegate

	store    Store  // to be asked for with this step
	commit   commit // what waits for it
	commits  map[uint64]commit
	storedAt time.Duration       // when one was last committed, or asked for while none was
	asks     map[asker]*grantAsk // whose rows are not committed

	blocks    buckets // by the block that has them
	expiring  buckets // by the last block of the grant
	deadlines buckets
	endings   []*intent // given up
	questions []*intent // for the ledger
	judging   bool

	reached    uint64        // the head at the last Tick
	nudgeAt    time.Duration // 0: no block is waited for
	nudgePause time.Duration
	leftAlone  bool // a block is waited for only since coordinators do nothing
}

// commit is what waits for one Store.
type commit struct {
	intents []*intent
	asks    []*grantAsk
	notes   []note
	results []*intent
}

// note is a Dispatched that is to be answered.
type note struct {
	to      ledger.Account
	request wire.RequestID
	intents []*intent
}

// New returns a machine. The configuration must be valid.
func New(c Config) *Machine {
	m := &Machine{cfg: c.withDefaults(), table: shared(), head: c.Load.Final}
	m.height.Note(c.Load.Final)
	m.stores = binary.BigEndian.Uint64(c.Incarnation[:]) >> 1 // a late Stored of an earlier start means none of this one (Q19)
	m.holds = c.Load.Head + c.Contract.Depth + c.Contract.Life
	m.loaded = len(c.Load.Intents) == 0
	return m
}

// Idle reports whether no intent is open. An idle machine sends nothing and needs no Tick (I9).
func (m *Machine) Idle() bool { return m.loaded && m.work == nil }

// Step takes an input at an instant of a clock that never goes back, and returns what to do.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = now
	if !m.loaded {
		m.load()
	}
	m.take(in)
	if m.work != nil {
		m.delegate()
		m.judge()
		m.write()
		if len(m.intents) == 0 && len(m.commits) == 0 && !m.judging {
			m.work, m.intents = nil, nil
		}
	}
	out := m.out
	m.out = nil
	return out
}

func (m *Machine) take(in Input) {
	switch in := in.(type) {
	case IntentRow:
		m.submit(in)
	case Cancel:
		if it := m.intents[in.Sequence]; it != nil {
			m.tell(it, happening{event: cancelled})
		}
	case Stored:
		m.stored(in.ID)
	case Twice:
		if it := m.intents[in.Sequence]; it != nil {
			m.tell(it, happening{event: foundTwice})
		}
	case Received:
		m.receive(in.From, in.Message)
	case Pulse:
		m.pulse(in)
	case Judged:
		m.judged(in)
	case Shared:
		m.sharedBy(in)
	case ledger.Block:
		m.block(in)
	case ledger.Rewind:
		m.rewind(in.To)
	case Tick:
		m.tick()
	}
}

func (m *Machine) receive(from ledger.Account, msg wire.Message) {
	if m.work != nil {
		if p := m.peers[from]; p != nil {
			m.hear(p, msg)
		}
	}
	switch body := msg.Body.(type) {
	case wire.Assemble:
		m.assemble(from, msg.Request, body)
	case wire.AskGrant:
		m.askGrant(from, msg.Request, body)
	case wire.Dispatched:
		m.dispatchedBy(from, msg.Request, body)
	case wire.Accepted:
		m.acceptedBy(from, msg.Request)
	case wire.Rejected:
		m.rejectedBy(from, msg.Request, body)
	case wire.Returned:
		m.returnedBy(from, body)
	case wire.List:
		m.listOf(from, msg.Request, body)
	}
}

// tell looks an event up in the table, and does what it says.
func (m *Machine) tell(it *intent, h happening) wire.Why {
	c := &m.table[h.event][it.state]
	if c.do == nil {
		return c.refused
	}
	if m.cfg.Watch == nil {
		return c.do(m, it, &h)
	}
	p := Passage{Sequence: it.Sequence, Key: it.Key, From: it.state, Event: h.event.String(), Assembled: h.hash, Block: h.block, Endorsers: h.by}
	if it.with != nil {
		p.With = it.with.account
	}
	why := c.do(m, it, &h)
	p.complete(it, h.event)
	m.cfg.Watch(p)
	return why
}

// to brings an intent to a state.
func (m *Machine) to(it *intent, s State) {
	m.counts[it.state]--
	it.state = s
	m.counts[s]++
}

// begin returns the machine's working memory.
func (m *Machine) begin() {
	if m.work == nil {
		m.work = &work{
			peers: map[ledger.Account]*peer{}, offers: map[uint64]*delegation{}, commits: map[uint64]commit{},
			asks: map[asker]*grantAsk{}, blocks: buckets{}, expiring: buckets{}, deadlines: buckets{},
		}
		m.intents, m.ticked = map[ledger.Sequence]*intent{}, m.now
	}
}

func (m *Machine) final() uint64 {
	final, _ := m.height.Final()
	return final
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

// answer answers a request.
func (m *Machine) answer(to ledger.Account, request wire.RequestID, body wire.Body) {
	m.do(Send{To: to, Message: wire.Message{Contract: m.cfg.Contract.Address, Height: m.final(), Request: request, Body: body}})
}

// ask sends a request and returns its number.
func (m *Machine) ask(to ledger.Account, body wire.Body) uint64 {
	m.requests++
	m.do(Send{To: to, Message: wire.Message{
		Contract: m.cfg.Contract.Address, Height: m.final(), Wait: m.cfg.AckTimeout, Body: body,
		Request: wire.RequestID{Incarnation: m.cfg.Incarnation, Number: m.requests},
	}})
	return m.requests
}
