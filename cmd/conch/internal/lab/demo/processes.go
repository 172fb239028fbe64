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

// processes are the node processes of a demo.
type processes struct {
	cfg      Config
	servers  *servers
	launcher *fleet.Launcher
	news     chan fleet.News
	over     chan struct{} // closed when news is no longer read
	nodes    []*member
}

// member is one node, whose process is started again after it ends.
type member struct {
	id      string
	number  int
	process *fleet.Process // nil while dead
	killed  bool           // we killed the current process
	back    time.Time
	// As last reported by the current process.
	epoch  int64 // epoch that it leads in; 0: none
	acted  bool  // its first row of this term is committed
	inside bool  // its act door is open
	pulse  worker.Report
	// Of earlier processes.
	rows, acts int64
	words      string // last line on stderr
}

func newProcesses(cfg Config, backing *servers) *processes {
	ps := &processes{cfg: cfg, servers: backing, launcher: fleet.NewLauncher(), news: make(chan fleet.News, 256), over: make(chan struct{})}
	for i := range cfg.Nodes {
		ps.nodes = append(ps.nodes, &member{id: fmt.Sprintf("node-%d", i+1), number: i + 1})
	}
	return ps
}

// start starts a member's process. The database URL is passed in the environment, since
// every user of the machine can read arguments.
func (ps *processes) start(m *member) error {
	args := []string{
		NodeCommand, "--id", m.id, "--scope", Scope, "--lease", ps.cfg.Lease.String(),
		"--dir", ps.servers.dir, "--log-level", "warn",
	}
	if ps.servers.payer != nil {
		args = append(args, "--config", ps.servers.payer.config, "--listen", "unix:"+ps.servers.socket(m.number))
	}
	p, err := ps.launcher.Launch(ps.cfg.Program, args, []string{"CONCH_DB_URL=" + ps.servers.url}, func(n fleet.News) {
		select {
		case ps.news <- n:
		case <-ps.over:
		}
	})
	if err != nil {
		return fmt.Errorf("starting %s: %w", m.id, err)
	}
	m.process, m.back = p, time.Time{}
	return nil
}

// of returns the member whose current process p is, or nil for an earlier process.
func (ps *processes) of(p *fleet.Process) *member {
	for _, m := range ps.nodes {
		if m.process == p {
			return m
		}
	}
	return nil
}

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
	default: // other kinds change nothing in the view
	}
}

// recordEnd records the end of a process and schedules the next one.
func (m *member) recordEnd() {
	m.rows += m.pulse.Rows
	m.acts += m.pulse.Acts
	m.process.CloseStdin()
	*m = member{
		id: m.id, number: m.number, rows: m.rows, acts: m.acts, words: m.process.LastWords(),
		back: time.Now().Add(restartAfter),
	}
}

// kill sends SIGKILL. The instant is read before the signal is sent.
func (m *member) kill() (fence.Instant, error) {
	at := fence.Boottime()
	if err := syscall.Kill(m.process.PID(), syscall.SIGKILL); err != nil {
		return 0, fmt.Errorf("kill -9 %s: %w", m.id, err)
	}
	m.killed = true
	return at, nil
}

// endAll ends all processes, in order within the patience, then by SIGKILL, and returns when
// none is left. No process can be started afterwards.
func (ps *processes) endAll(patience time.Duration) {
	ps.each(func(m *member) { m.process.Signal(syscall.SIGTERM) })
	hurry := time.NewTimer(patience)
	defer hurry.Stop()
	for ps.alive() > 0 {
		select {
		case n := <-ps.news:
			m := ps.of(n.From)
			switch {
			case m == nil:
			case n.Ended:
				m.recordEnd()
			default:
				m.hear(n.Report)
			}
		case <-hurry.C:
			ps.each(func(m *member) { m.process.Signal(syscall.SIGKILL) })
		}
	}
	select {
	case <-ps.over: // called before
	default:
		close(ps.over)
		ps.launcher.Close()
	}
}

func (ps *processes) each(do func(*member)) {
	for _, m := range ps.nodes {
		if m.process != nil {
			do(m)
		}
	}
}

func (ps *processes) alive() (n int) {
	ps.each(func(*member) { n++ })
	return n
}
