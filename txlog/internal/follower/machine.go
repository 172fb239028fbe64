package follower

import (
	"slices"
	"time"

	"github.com/conchhq/conch/internal/splitmix"
	"github.com/conchhq/conch/txlog"
)

// Machine is one node's copy of a log. It is pure, and not safe for concurrent use.
type Machine struct {
	cfg    Config
	now    time.Duration
	chance splitmix.Source

	peers []string
	known map[string]*peer
	crowd peer // of all that are not in known, so that they cost no memory

	base    *txlog.Copy // nil: a member applies
	spoiled bool
	blank   bool           // the log goes on from another one, and its first state is not here
	start   txlog.Position // before the first entry
	at      txlog.Position
	members []txlog.Member

	head txlog.Head // the newest one of what is applied
	pool []claim    // verified ones of what is not applied yet, by index
	denials
	strange []stranger
	probed  time.Duration // somebody was asked last about them, beside those who have brought them
	forks   []fork
	forked  uint64
	split   Evidence      // of the lowest index; zero: none
	wary    time.Duration // until then nothing is pulled: what was pulled last does not continue the copy, or spoils it
	warier  time.Duration // for how long it was the last time
	unfit   uint64        // the entry that has spoiled the copy last; 0: none, or the copy has come further

	past
	wanting
	serving
	crossing
	fetch *fetch
	took  txlog.Hash    // the last record of the snapshot that was fetched last
	shot  uint64        // the index of the last snapshot that was begun
	posed txlog.Head    // its head
	fresh time.Duration // the last news
	hint  uint64        // a member's authority knows of records up to there

	counts Counts
	out    []Action
}

// New returns a machine. The configuration must be valid.
func New(c Config) *Machine {
	c = c.withDefaults()
	m := &Machine{cfg: c, crowd: peer{left: 8 * flood}, chance: splitmix.Source(c.Seed), known: map[string]*peer{}}
	m.serial = splitmix.Mix(c.Seed, 0) >> 32 // an answer to an earlier machine is none to this one
	m.early = map[uint64]early{}
	m.since, m.tried = -1, -1
	m.start = c.Base.Genesis().Start()
	m.at, m.members = c.Base.Position(), slices.Clone(c.Base.Members())
	m.first, m.offers, m.bridges = max(c.First, m.start.Index+1), slices.Clone(c.Offers), slices.Clone(c.Bridges)
	if n := len(m.offers); n > 0 {
		m.shot = m.offers[n-1].Head.Index
		if c.First == 0 {
			m.first = m.shot + 1
		}
	}
	for i := range m.bridges {
		m.proveMembers(&m.bridges[i])
	}
	if last, is := c.Base.Last(); is {
		for _, r := range c.Past {
			m.marks = append(m.marks, mark{r.Hash(), r.State})
		}
		m.rememberRecord(last)
	}
	if !c.Member {
		m.beginFollowing(c.Base)
	}
	switch {
	case c.Head.Index == 0 || c.Head.Log != m.at.Log:
	case c.Head.Index > m.at.Index:
		m.pool = []claim{{Head: c.Head}}
	default:
		m.head = c.Head
		if c.Head.Position == m.at {
			m.covers = append(m.covers, c.Head)
		}
	}
	return m
}

// Step takes an input at an instant of a clock that never goes back, and returns what to do.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.now = now
	switch in := in.(type) {
	case Tick:
		m.passTime()
	case Peers:
		m.meetPeers(in.Names)
	case Heard:
		m.takeHead(in.Head, in.Via)
	case Signed:
		m.takeOwnHead(in.Head)
	case Asked:
		m.takePull(in.From, in.Pull)
	case HistoryCame:
		m.takeAnswer(in.From, &in.History)
	case Wanted:
		m.givePiece(in.From, in.Want)
	case Received:
		m.takePiece(in.From, in.Piece)
	case Faulty:
		m.refuseLie(in.From, in.Why)
	case Applied:
		m.takeApplied(in.Records)
	case Follow:
		m.beginFollowing(in.Base)
	case Yield:
		m.leaveToMember()
	case Behind:
		m.hint = max(m.hint, in.Index)
		m.planWants(in.From)
	case Confirmed:
		m.reach, m.since = in.Index, in.Since
	case News:
		for _, to := range m.choosePeers(abreast, nil) {
			m.pollPeer(to)
		}
	case Kept:
		m.noteSnapshot(in.Offer)
	case Dropped:
		m.noteDropped(in.First)
	}
	out := m.out
	m.out = nil
	return out
}

// passTime does what time alone does.
func (m *Machine) passTime() {
	m.lapseStrangers()
	m.expireAsks()
	m.retryWants()
	m.retryPieces()
	m.judgeClaims()
	m.tellParked()
	m.readOn()
	if m.base != nil && m.now-m.fresh >= m.cfg.poll {
		for _, to := range m.choosePeers(1, nil) {
			m.pollPeer(to)
		}
	}
}

// meetPeers takes the peers that can be asked. A node that has just found the first ones asks for news.
func (m *Machine) meetPeers(names []string) {
	alone := len(m.peers) == 0
	m.peers = slices.Clone(names)
	slices.Sort(m.peers)
	now := map[string]*peer{}
	for _, name := range m.peers {
		p := m.known[name]
		if p == nil {
			p = &peer{left: 8 * flood, since: m.now, probed: -expires}
		}
		now[name] = p
	}
	for name, p := range m.known {
		if now[name] == nil && p.barred > m.now && len(now) < mostKnown {
			now[name] = p
		}
	}
	m.known = now
	if alone && m.base != nil {
		for _, to := range m.choosePeers(1, nil) {
			m.pollPeer(to)
		}
	}
}

// beginFollowing has the machine apply records itself.
func (m *Machine) beginFollowing(base *txlog.Copy) {
	genesis := base.Genesis()
	m.base, m.spoiled, m.fetch = base, false, nil
	m.blank = base.Position() == m.start && !genesis.State.IsZero() && base.Hash() != genesis.State
	if base.Position() != m.at {
		m.past = past{}
		m.at = base.Position()
		if last, is := base.Last(); is {
			m.rememberRecord(last)
		}
	}
	m.members = slices.Clone(base.Members())
	m.dropPulled()
	m.planWants("")
}

// leaveToMember leaves the copy to a member.
func (m *Machine) leaveToMember() {
	m.base, m.spoiled, m.fetch, m.hint = nil, false, nil, 0
	m.dropPulled()
}

// dropPulled forgets what was pulled and not applied.
func (m *Machine) dropPulled() {
	m.early, m.earlyBytes = map[uint64]early{}, 0
	m.wants, m.planned = nil, m.at.Index
}

// takeApplied takes what a member has applied.
func (m *Machine) takeApplied(records []txlog.Record) {
	if m.base != nil {
		return
	}
	for _, r := range records {
		if r.Log != m.at.Log || r.Index != m.at.Index+1 || r.Prev != m.at.Hash {
			m.refuseInput("", fault(txlog.ErrChain, "a member applied entry %d after entry %d", r.Index, m.at.Index))
			return
		}
		m.notePassed(r)
	}
	m.parked = 0
	m.noteHeadsPassed()
	m.releasePulls(false)
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

// peerOf returns what is known of a peer.
func (m *Machine) peerOf(name string) *peer {
	if p := m.known[name]; p != nil {
		return p
	}
	return &m.crowd
}

// spendAllowance spends one of a peer's allowance, or refuses what it has sent.
func (m *Machine) spendAllowance(from string) bool {
	if from == m.cfg.Self || m.peerOf(from).takes(m.now, flood) {
		return true
	}
	m.refuseInput(from, ErrFlood)
	return false
}

// refuseInput says that something is left out, and who has sent it.
func (m *Machine) refuseInput(from string, why error) { m.do(Refused{From: from, Why: why}) }

// refuseLie refuses what only a peer sends that lies, or whose memory is wrong. It is not asked for a while.
func (m *Machine) refuseLie(from string, why error) {
	m.refuseInput(from, why)
	if p := m.known[from]; p != nil {
		p.bar(m.now)
	}
}
