//go:build unix

package demo

import (
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// crew is the nodes, each living once or in several lives.
type crew struct {
	cfg      Config
	place    *place
	launcher *fleet.Launcher
	news     chan fleet.News
	over     chan struct{} // closed when nobody reads news any more
	nodes    []*member
}

// member is one node over all its lives.
type member struct {
	id      string
	number  int
	process *fleet.Process // nil while dead
	doomed  bool           // its present life was ended by us
	back    time.Time
	// As last reported by the present life.
	epoch  int64 // of the leadership it holds, 0 if none
	acted  bool  // its first row of this term is committed
	inside bool  // its act door has opened
	pulse  worker.Report
	// Counted in lives that are over.
	rows, acts int64
	words      string // the last ones of the life before
}

func newCrew(cfg Config, p *place) *crew {
	c := &crew{cfg: cfg, place: p, launcher: fleet.NewLauncher(), news: make(chan fleet.News, 256), over: make(chan struct{})}
	for i := range cfg.Nodes {
		c.nodes = append(c.nodes, &member{id: fmt.Sprintf("node-%d", i+1), number: i + 1})
	}
	return c
}

// start gives a member a life. The database's address goes by the environment:
// arguments can be read by everybody on the machine.
func (c *crew) start(m *member) error {
	args := []string{
		NodeCommand, "--id", m.id, "--scope", Scope, "--lease", c.cfg.Lease.String(),
		"--dir", c.place.dir, "--log-level", "warn",
	}
	if c.place.payer != nil {
		args = append(args, "--config", c.place.payer.config, "--listen", "unix:"+c.place.socket(m.number))
	}
	p, err := c.launcher.Launch(c.cfg.Program, args, []string{"CONCH_DB_URL=" + c.place.url}, func(n fleet.News) {
		select {
		case c.news <- n:
		case <-c.over:
		}
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", m.id, err)
	}
	m.process, m.back = p, time.Time{}
	return nil
}

// of finds the member whose present life this is, nil for an earlier one.
func (c *crew) of(p *fleet.Process) *member {
	for _, m := range c.nodes {
		if m.process == p {
			return m
		}
	}
	return nil
}

// hear takes a report in.
func (m *member) hear(r worker.Report) {
	switch r.Kind {
	case election.Acquired:
		m.epoch, m.acted, m.inside = r.Epoch, false, false
	case worker.Acted:
		m.acted = m.epoch == r.Epoch
	case election.Entered:
		m.inside = m.epoch == r.Epoch
	case election.Lost, election.Draining:
		m.epoch, m.acted, m.inside = 0, false, false
	case worker.Pulse:
		m.pulse = r
	default: // the rest changes nothing that is shown
	}
}

// bury closes a life and says when the next one begins.
func (m *member) bury() {
	m.rows += m.pulse.Rows
	m.acts += m.pulse.Acts
	m.process.CloseStdin()
	*m = member{
		id: m.id, number: m.number, rows: m.rows, acts: m.acts, words: m.process.LastWords(),
		back: time.Now().Add(restartAfter),
	}
}

// kill ends a member with SIGKILL; the instant is read before the signal leaves.
func (m *member) kill() (fence.Instant, error) {
	at := fence.Boottime()
	if err := syscall.Kill(m.process.PID(), syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("kill -9 %s: %w", m.id, err)
	}
	m.doomed = true
	return at, nil
}

// dismiss ends all nodes: in order if they can within the patience, else at once.
// It returns when none is left. After it the crew cannot be used any more.
func (c *crew) dismiss(patience time.Duration) {
	c.each(func(m *member) { m.process.Signal(syscall.SIGTERM) })
	hurry := time.NewTimer(patience)
	defer hurry.Stop()
	for c.alive() > 0 {
		select {
		case n := <-c.news:
			m := c.of(n.From)
			switch {
			case m == nil:
			case n.Ended:
				m.bury()
			default:
				m.hear(n.Report)
			}
		case <-hurry.C:
			c.each(func(m *member) { m.process.Signal(syscall.SIGKILL) })
		}
	}
	select {
	case <-c.over: // dismissed before
	default:
		close(c.over)
		c.launcher.Close()
	}
}

func (c *crew) each(do func(*member)) {
	for _, m := range c.nodes {
		if m.process != nil {
			do(m)
		}
	}
}

func (c *crew) alive() (n int) {
	c.each(func(*member) { n++ })
	return n
}
