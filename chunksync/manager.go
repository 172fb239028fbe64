package chunksync

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/conchhq/conch/fence"
	"github.com/conchhq/conch/internal/step"
)

// Manager serves one scope's files on one node, both while it leads and while it follows.
// All methods are safe for concurrent use.
type Manager struct {
	cfg  Config
	lead atomic.Pointer[loop] // nil while this node follows
}

// New returns a manager that follows, or the faults of Config.Validate.
func New(cfg Config) (*Manager, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Manager{cfg: cfg.withDefaults()}, nil
}

// Status describes the files of a node.
type Status struct {
	Version Version
	AsOf    time.Time          // when Version was last known to be the leader's
	Files   map[string]File    // by name
	Leading bool               // this node leads and takes writes
	Holder  string             // the ID of the leader that this node follows; empty if it never had one
	Peers   map[string]Version // on the leader: what each peer holds under it
}

// Status describes the last complete catalog. The caller must not modify its maps.
func (m *Manager) Status() Status {
	c, at := m.cfg.Store.latest()
	s := Status{Version: c.Version(), AsOf: at, Files: c.Files, Holder: m.cfg.Store.promised().Holder}
	if l := m.lead.Load(); l != nil {
		l.fillStatus(&s)
	}
	return s
}

// Open opens a file of this node's last complete catalog. It returns [ErrNotFound] if there
// is no such file, and a *[NameError] if the name is not valid.
func (m *Manager) Open(name string) (*Content, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	c, err := m.cfg.Store.open(name)
	if err != nil {
		return nil, err
	}
	if l := m.lead.Load(); l != nil && l.leads() {
		c.AsOf = time.Now()
	}
	return c, nil
}

// Lead makes this node the leader until ctx ends, a node promises a later leader, or this
// node's disk fails. It returns the cause of ctx, a *[StaleError], or the error of the disk,
// such as [ErrDamaged]; a follower may then do better. Each request to a peer passes the
// gate's fenced door, since followers refuse a deposed leader. Only one Lead may run at a time.
func (m *Manager) Lead(ctx context.Context, gate *fence.Gate, token fence.Token) error {
	tenure := tenureOf(token)
	p, err := m.cfg.Store.raise(tenure, m.cfg.ID)
	if err != nil {
		return m.reject(token.Holder, err)
	}
	if len(m.cfg.Peers) > 0 && !m.cfg.Store.whole() {
		return ErrDamaged // a peer may have the lost chunks
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l := &loop{
		Config: m.cfg, gate: gate, token: token, tenure: tenure, end: stop,
		client: client{cfg: m.cfg, tenure: tenure}, machine: newMachine(m.cfg.settings()),
		inbox: step.NewInbox[input](begin{Own: p.Held}), moved: make(chan struct{}), sending: map[string]sending{}, over: ctx,
	}
	m.lead.Store(l)
	l.run(ctx)
	m.lead.CompareAndSwap(l, nil)
	l.work.Wait()
	l.dropAll()
	return context.Cause(ctx)
}

// promisedTo ends this node's leadership if the promised tenure is another one.
func (m *Manager) promisedTo(t Tenure) {
	if l := m.lead.Load(); l != nil && l.tenure != t {
		l.inbox.Put(deposed{})
	}
}
