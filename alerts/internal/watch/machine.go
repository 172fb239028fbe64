package watch

import (
	"maps"
	"slices"
	"time"

	"github.com/conchhq/conch/alerts/internal/core"
)

const (
	hourly     = time.Hour       // what is still wrong is told again: a leader that cannot see this node has perhaps resolved it
	turn       = 5 * time.Second // how much later each next node tells it
	speakers   = 2               // how many nodes tell receivers of kind Text what all nodes may tell
	again      = 5 * time.Second // after a report that has failed
	enough     = 2               // failures in a row before it is told: one alone may come of a process that stood still
	reclaim    = time.Minute     // after another node has the claim
	resend     = time.Minute     // to receivers of kind Level, and after a message in doubt
	firstPause = 5 * time.Second // after a message that has failed
	mostPause  = time.Minute
)

// Answers is how long a report may take.
const Answers = 5 * time.Second

// Config is what a machine is made for.
type Config struct {
	Cluster   string
	Node      string
	Interval  time.Duration // between two reports
	Delay     time.Duration // for how long the database cannot be asked before that is told
	Idle      time.Duration // for how long nobody evaluates before that is told
	Rules     []core.Rule
	Receivers []core.Receiver
}

// Now is the time of the process.
type Now struct {
	Boot time.Duration
	Wall time.Time // for the eyes of people, and the number of a message
}

// Input is what the machine is told: one of the types below.
type Input interface{ input() }

type (
	// Tick says that the time has come that Due has named.
	Tick struct{}
	// Reported says that the database has taken a report.
	Reported struct {
		Evaluations uint64   // the number of the last one
		Nodes       []string // that report, too
	}
	// Unreported says that it has not answered.
	Unreported struct{}
	// Claimed is what came of a claim: whether this node tells that nobody evaluates.
	Claimed struct{ Mine bool }
	// Answered is what has become of a message.
	Answered struct {
		Receiver string
		Answer   core.Answer
	}
)

func (Tick) input()       {}
func (Reported) input()   {}
func (Unreported) input() {}
func (Claimed) input()    {}
func (Answered) input()   {}

// Out is what is to be done.
type Out struct {
	Report bool // Reported or Unreported
	Cries  uint64
	Claim  uint64 // the evaluation after which nobody evaluates: Claimed; 0: no claim
	Claims bool
	Sends  []core.Message // each is answered
	To     []string
}

// Machine watches for one node.
type Machine struct {
	cfg   Config
	kinds map[string]core.Kind
	now   Now

	begun     bool
	asked     time.Duration // the database has answered
	report    time.Duration // when to report again
	reports   bool
	reported  time.Duration // the last one began
	fails     int
	missedAt  time.Duration // the last of them
	nodes     []string
	cries     uint64
	evaluated uint64
	moved     time.Duration // since when that stands
	claim     time.Duration // when to claim again
	claims    bool

	away, idle *cry // nil: all is well
	flying     map[string]*tell
}

// cry is something wrong that this node tells.
type cry struct {
	rule  core.Rule
	since time.Time
	tells map[string]*tell
}

// tell is what one receiver is told of it.
type tell struct {
	due   time.Duration
	fails int
	over  bool
}

// New returns a machine that has seen nothing yet.
func New(cfg Config) *Machine {
	m := &Machine{cfg: cfg, kinds: map[string]core.Kind{}, flying: map[string]*tell{}}
	for _, r := range cfg.Receivers {
		m.kinds[r.Name] = r.Kind
	}
	return m
}

// Step takes an input, and returns what is to be done.
func (m *Machine) Step(now Now, in Input) (out Out) {
	if m.now = now; !m.begun {
		m.begun, m.asked, m.moved, m.report = true, now.Boot, now.Boot, now.Boot
	}
	switch in := in.(type) {
	case Reported:
		m.heard(in)
	case Unreported:
		m.missed()
	case Claimed:
		if m.claims = false; in.Mine && m.isIdle() {
			m.idle = m.cry(core.IdleRule, true)
		} else {
			m.claim = now.Boot + reclaim
		}
	case Answered:
		m.answered(in)
	case Tick:
	}
	if now.Boot >= m.report && !m.reports {
		m.reports, m.report, m.reported, out.Report = true, now.Boot+m.cfg.Interval, now.Boot, true
	}
	if m.isIdle() && m.idle == nil && !m.claims && now.Boot >= m.claim {
		m.claims, out.Claims, out.Claim = true, true, m.evaluated
	}
	out.Cries = m.cries
	m.plan(&out)
	return out
}

// missed notes that the database has not answered, and tells it if that goes on for long. A report that has taken far too long says nothing: this process
// has stood still, and not the database.
func (m *Machine) missed() {
	m.reports, m.report, m.missedAt = false, m.now.Boot+again, m.now.Boot
	if m.fails++; m.now.Boot-m.reported > 3*Answers {
		m.fails = 0
	}
	if m.away == nil && m.fails >= enough && m.now.Boot >= m.asked+m.cfg.Delay+time.Duration(m.rank())*turn {
		m.cries++
		m.away = m.cry(core.AwayRule, m.rank() < speakers)
	}
}

// heard notes that the database answers, and whether somebody evaluates.
func (m *Machine) heard(in Reported) {
	lapsed := m.now.Boot-m.asked > 2*m.cfg.Interval // it can be asked again: who evaluates has to find that out, too
	m.reports, m.fails, m.asked, m.away, m.nodes = false, 0, m.now.Boot, nil, slices.Sorted(slices.Values(in.Nodes))
	if in.Evaluations != m.evaluated || lapsed {
		m.evaluated, m.moved, m.idle = in.Evaluations, m.now.Boot, nil
	}
}

// rank is how many nodes come before this one; 0 if it knows no list.
func (m *Machine) rank() int { return max(slices.Index(m.nodes, m.cfg.Node), 0) }

// isIdle reports whether the database can be asked, and nobody evaluates.
func (m *Machine) isIdle() bool {
	return m.now.Boot-m.asked <= 2*m.cfg.Interval && m.now.Boot-m.moved >= m.cfg.Idle
}

// isSure reports whether what the node tells was so moments ago. It is not while the process has just stood still: then the next report says.
func (m *Machine) isSure(c *cry) bool {
	if c == m.idle {
		return m.isIdle()
	}
	return m.now.Boot-m.missedAt <= 3*Answers
}

// cry begins to tell something. Texts are told by some nodes alone.
func (m *Machine) cry(name string, texts bool) *cry {
	c := &cry{since: m.now.Wall, tells: map[string]*tell{}}
	for _, r := range m.cfg.Rules {
		if r.Name == name {
			c.rule = r
		}
	}
	for _, to := range c.rule.Notify {
		if kind, known := m.kinds[to]; known && (texts || kind != core.Text) {
			c.tells[to] = &tell{due: m.now.Boot}
		}
	}
	return c
}

// plan sends what is due, one message a receiver at a time.
func (m *Machine) plan(out *Out) {
	for _, c := range []*cry{m.away, m.idle} {
		if c == nil || !m.isSure(c) {
			continue
		}
		for _, to := range slices.Sorted(maps.Keys(c.tells)) {
			t := c.tells[to]
			if t.over || t.due > m.now.Boot || m.flying[to] != nil {
				continue
			}
			m.flying[to] = t
			out.To = append(out.To, to)
			out.Sends = append(out.Sends, core.Message{
				Key: core.Key(m.cfg.Cluster, c.rule.Name, nil), Seq: uint64(max(m.now.Wall.Unix(), 0)), Rule: c.rule.Name, Severity: c.rule.Severity,
				Status: core.Firing, Group: map[string]string{}, Since: c.since,
				Members: []core.Firer{{Labels: map[string]string{"node": m.cfg.Node}, Value: 1, Since: c.since}},
			})
		}
	}
}

// answered says when a message is sent again.
func (m *Machine) answered(in Answered) {
	t := m.flying[in.Receiver]
	if t == nil {
		return
	}
	delete(m.flying, in.Receiver)
	kind := m.kinds[in.Receiver]
	switch in.Answer {
	case core.Taken, core.Doubted:
		if t.due = m.now.Boot + hourly; kind == core.Level || in.Answer == core.Doubted {
			t.due = m.now.Boot + resend
		}
		t.fails, t.over = 0, kind == core.Text
	case core.Failed, core.Refused:
		t.due = m.now.Boot + min(firstPause<<min(t.fails, 6), mostPause)
		t.fails++
	}
}

// Due returns when the machine wants the time.
func (m *Machine) Due() time.Duration {
	due := m.report
	if m.reports {
		due = m.now.Boot + m.cfg.Interval
	}
	if at := max(m.moved+m.cfg.Idle, m.claim); m.idle == nil && !m.claims && at > m.now.Boot {
		due = min(due, at)
	}
	for _, c := range []*cry{m.away, m.idle} {
		if c == nil || !m.isSure(c) {
			continue
		}
		for to, t := range c.tells {
			if !t.over && m.flying[to] == nil {
				due = min(due, t.due)
			}
		}
	}
	return max(due, m.now.Boot)
}
