package chunksync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
)

// Manager has one scope's files on one node, whoever leads. All methods are safe for
// concurrent use.
type Manager struct {
	cfg  Config
	lead atomic.Pointer[loop] // nil: this node follows
}

// New returns a manager that follows.
func New(cfg Config) (*Manager, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Manager{cfg: cfg.withDefaults()}, nil
}

// Status is what a node knows of its files.
type Status struct {
	Version Version
	AsOf    time.Time // when that was last known to be the leader's
	Files   map[string]File
	Leading bool   // here, and writes may be made
	Holder  string // who leads, as last heard; empty: nobody was
	Peers   map[string]Version
}

// Status of the last complete catalog. Nobody changes its maps.
func (m *Manager) Status() Status {
	c, at := m.cfg.Store.latest()
	s := Status{Version: c.Version(), AsOf: at, Files: c.Files, Holder: m.cfg.Store.promised().Holder}
	if l := m.lead.Load(); l != nil {
		l.look(&s)
	}
	return s
}

// Open opens a file of the last complete catalog, on any node; [ErrNotFound] if there
// is none of that name, and a *[NameError] if there can be none.
func (m *Manager) Open(name string) (*Content, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	c, err := m.cfg.Store.open(name)
	if err != nil {
		return nil, err
	}
	if s := m.Status(); s.Leading {
		c.AsOf = s.AsOf
	}
	return c, nil
}

// Lead takes over and pushes until ctx ends or somebody has promised to hear a later
// leader. The error is the cause, a *[StaleError], or what the own disk has: [ErrDamaged],
// say, where a follower can do better. All that leaves passes the gate's fenced door: a
// follower refuses whoever is deposed. One Lead runs at a time.
func (m *Manager) Lead(ctx context.Context, gate *fence.Gate, token fence.Token) error {
	tenure := tenureOf(token)
	p, err := m.cfg.Store.raise(tenure, m.cfg.ID)
	if err != nil {
		return m.reject(token.Holder, err)
	}
	if len(m.cfg.Peers) > 0 && !m.cfg.Store.whole() {
		return ErrDamaged // another node has what this one lost
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l := &loop{
		Config: m.cfg, gate: gate, token: token, tenure: tenure, end: stop,
		client: client{cfg: m.cfg, tenure: tenure}, machine: newMachine(m.cfg.settings()),
		inputs: make(chan input), moved: make(chan struct{}), sending: map[string]sending{}, over: ctx,
	}
	m.lead.Store(l)
	l.run(ctx, p.Held)
	m.lead.CompareAndSwap(l, nil)
	l.work.Wait()
	l.dropAll()
	return context.Cause(ctx)
}

// promisedTo ends a leadership of this node when it has promised to hear another's.
func (m *Manager) promisedTo(t Tenure) {
	if l := m.lead.Load(); l != nil && l.tenure != t {
		l.tell(l.over, deposed{})
	}
}
