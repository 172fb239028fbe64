package majority

import (
	"time"

	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/conchhq/conch/txlog"
	"github.com/conchhq/conch/txlog/internal/authority"
	"github.com/conchhq/conch/txlog/store"
)

// Machine is one member of a log, or a node that is about to become one. It is pure, and not safe for concurrent use.
type Machine struct {
	cfg     Config
	node    *raft.RawNode
	log     *view
	follows follows
	now     time.Duration
	failed  error

	// As it was told.
	term      uint64
	leader    uint64 // its store; 0: nobody is known
	leading   bool
	first     reign // the first that was heard, or was this machine's own
	committed uint64
	untold    uint64 // the first record that this step stores or drops; 0: none

	fresh  []*slot           // what was looked at last
	have   uint64            // records up to here have come another way
	known  *Known            // by a record that is not committed here yet
	names  map[uint64]string // of stores
	behind *behind
	astray astray
	parted parted

	pace  pace
	reads reads
	door  Door

	queue     []txlog.Record // to be proposed
	proposed  []txlog.Record // the library was asked to store them
	begun     uint64         // the entry with which the own term began
	changedAt uint64         // the newest entry of the own term that changes the members
	ownFrom   uint64         // the first entry from which on all are this machine's own, and no other leader was told that they are stored; 0: none
	snapshots map[uint64]int // stores that are sent a snapshot, and for how many rounds

	posted []*pb.Message
	out    Output
}

// reign is a leader in its term.
type reign struct{ term, store uint64 }

// New returns a machine. The configuration must be valid. The error is store.ErrDamaged or txlog.ErrVersion.
func New(c Config) (*Machine, error) { return newMachine(c, func(*raft.Config) {}) }

// newMachine lets a test change what the library is told.
func newMachine(c Config, change func(*raft.Config)) (m *Machine, err error) {
	c = c.withDefaults()
	m = &Machine{
		cfg: c, follows: follows{log: c.Log}, have: c.Have, names: map[uint64]string{},
		snapshots: map[uint64]int{}, committed: c.Stored.Mark.At.Index,
	}
	if m.log, err = newView(c.Stored, m.follows); err != nil {
		return nil, err
	}
	for _, s := range m.log.slots {
		if s.conf != nil {
			m.learn(s.conf)
		}
	}
	m.learn(m.decides())
	theirs := raft.Config{
		ID: c.Store, Storage: m.log, Applied: c.Stored.Mark.Index,
		ElectionTick: electionTicks, HeartbeatTick: 1, MaxSizePerMsg: mostEntries, MaxCommittedSizePerReady: 64 * mostEntries,
		MaxInflightMsgs: 256, MaxInflightBytes: mostInflight, ReadOnlyOption: raft.ReadOnlySafe, Logger: silent{},
		PreVote: true, CheckQuorum: true, DisableProposalForwarding: true, StepDownOnRemoval: true,
	}
	change(&theirs)
	defer func() {
		if why := recover(); why != nil {
			m, err = nil, fault(store.ErrDamaged, "%v", why)
		}
	}()
	if m.node, err = raft.NewRawNode(&theirs); err != nil {
		return nil, err
	}
	m.term = c.Stored.Hard.Term
	m.pace = newPace(c.Seed)
	if c.Last {
		m.pace.lost.store = c.Store
	}
	m.plan(missedBeats)
	return m, nil
}

// Step takes an input, and returns what is to be done. Now is an instant of a clock that never goes back and counts
// suspended time, read after the input was received.
func (m *Machine) Step(now time.Duration, in Input) (out Output) {
	if m.failed != nil {
		return Output{Failed: m.failed}
	}
	// The library panics when it meets a state that it takes for impossible. Nothing of the step leaves the machine then, as
	// if the process had died before it.
	defer func() {
		if why := recover(); why != nil {
			m.failed = fault(ErrStopped, "%v", why)
			out = Output{Failed: m.failed}
		}
	}()
	m.now = max(m.now, now)
	m.untold = 0
	m.log.forget()
	m.drain() // what the library has to say since it was made
	if m.take(in); m.failed == nil {
		m.pump()
	}
	if m.failed == nil {
		m.ask()
		m.deliver()
	}
	out, m.out = m.out, Output{}
	return out
}

func (m *Machine) take(in Input) {
	switch in := in.(type) {
	case Tick:
		m.tick()
	case Received:
		m.receive(in)
	case Campaign:
		m.stand()
	case Append:
		m.append(in.Record)
	case Confirm:
		m.confirm(in.Read)
	case Suggested:
		m.suggest(in.Name)
	case Reached:
		m.reached(in.At)
	case Known:
		m.knows(in)
	case GiveUp:
		m.giveUp()
		return
	case Batch:
		for _, each := range in {
			if m.take(each); m.failed != nil {
				return
			}
		}
	}
	m.drain()
}

func (m *Machine) tell(f authority.Fact) { m.out.Facts = append(m.out.Facts, f) }

// refuse says that a message is left out, and whose it is.
func (m *Machine) refuse(from string, why error) {
	m.out.Refused = append(m.out.Refused, Refusal{From: from, Why: why})
}

// learn remembers whose stores there are.
func (m *Machine) learn(c *conf) {
	for _, of := range c.all() {
		m.names[of.Store] = of.Name
	}
}

// knows takes the members that a later record says.
func (m *Machine) knows(in Known) {
	if in.Index > m.log.mark.At.Index && checkMembers(in.Members) == nil {
		m.known = &in
		m.learn(&conf{members: in.Members, leaving: in.Before})
	}
}

// decides returns the members that decide, by the entries that are committed.
func (m *Machine) decides() *conf {
	return &conf{members: m.log.mark.Members, leaving: m.log.mark.Leaving}
}
