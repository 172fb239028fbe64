package member

import (
	"time"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
)

// Machine is one member of a log. It is pure, and not safe for concurrent use; Look counts as use.
type Machine struct {
	cfg Config
	now time.Duration
	at  int64 // of the wall clock

	base      *txlog.Copy    // of what is committed
	tail      []txlog.Record // on the disk, after base
	ahead     branch         // the tail, and a leader's records that are on their way to it
	peek      branch         // what another leader sends while this member believes that it leads itself
	committed uint64         // says the authority

	term    uint64 // the newest one that is known
	leader  string // its leader; empty: nobody is known
	leading bool
	opening bool // an entry Opening of the term was made
	opened  bool // and applied

	suggested   string
	campaignAt  time.Duration // when to ask for a term again
	campaigning time.Duration // the pause until then

	goals  goals
	reads  reads
	change *change
	outbox outbox
	heads  heads
	doubt  doubt

	scrubbed  uint64 // the last scrub in base, or where this machine began
	scrubbing uint64 // the last one in ahead, while this member leads
	kept      uint64 // of the last snapshot

	out []Action
}

// New returns a machine. The configuration must be valid.
func New(c Config) *Machine {
	c = c.withDefaults()
	m := &Machine{cfg: c, kept: c.Kept, goals: goals{flight: map[string][]*goal{}}, doubt: doubt{refusers: map[string]uint64{}}}
	m.take(c.Base, c.Tail)
	m.cfg.Base, m.cfg.Tail = nil, nil
	return m
}

// Step takes an input at an instant of a clock that never goes back, and returns what to do, in order.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = now
	switch in := in.(type) {
	case Tick:
		m.at = max(in.At, 0)
		m.tick()
	case Heard:
		m.hear(in.Fact)
	case Execute:
		m.submit(in)
	case Read:
		m.read(in)
	case Change:
		m.changeMembers(in)
	case Gone:
		m.gone(in.Ticket)
	case Done:
		m.performed(in.Key)
	case Ended:
		m.unperformed(in.Key)
	case Door:
		m.turn(in.Open)
	case Suggested:
		m.suggest(in.Name)
	case Rebuilt:
		m.rebuilt(in)
	}
	m.work()
	out := m.out
	m.out = nil
	return out
}

// hear takes what the authority tells.
func (m *Machine) hear(fact authority.Fact) {
	switch f := fact.(type) {
	case authority.Leads:
		m.leads(f.Term)
	case authority.Deposed:
		m.deposed(f)
	case authority.Stored:
		m.stored(f.Records)
		m.advance()
	case authority.Dropped:
		m.dropped(f.From)
	case authority.Committed:
		m.committed = max(m.committed, f.Index)
		m.advance()
	case authority.Confirmed:
		m.confirmed(f)
	case authority.Refused:
		m.refused(f)
	}
}

// tick does what time alone does.
func (m *Machine) tick() {
	m.patience()
	m.expireReads()
	m.expire()
	m.readOn()
	if m.suggested == m.cfg.Self && m.leader == "" && m.now >= m.campaignAt {
		m.campaign()
	}
}

// work does whatever can be done now.
func (m *Machine) work() {
	m.open()
	m.proposeChange()
	m.pump()
	m.report()
	m.perform()
	m.serve()
	m.confirm()
	m.sayHead()
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

func (m *Machine) answer(ticket uint64, a txlog.Answer) { m.do(Reply{Ticket: ticket, Answer: a}) }

func (m *Machine) refuse(ticket uint64, why error) { m.do(Reply{Ticket: ticket, Err: why}) }

// elsewhere says that another member leads, or nobody.
func (m *Machine) elsewhere() error { return txlog.NotLeaderError{Leader: m.leader, Term: m.term} }

// isMember reports whether this node is one of those that decide.
func (m *Machine) isMember() bool {
	_, is := txlog.FindMember(m.base.Members(), m.cfg.Self)
	return is
}

// take begins anew with what the disk has.
func (m *Machine) take(base *txlog.Copy, tail []txlog.Record) {
	m.base, m.tail = base, append([]txlog.Record(nil), tail...)
	m.ahead, m.peek = branch{}, branch{}
	at := base.Position().Index
	m.committed = max(m.committed, at)
	m.scrubbed = at
}
