//go:build unix

package demo

import (
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/stage"
	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/internal/fleet"
)

// member is one node, whose process is started again after it ends.
type member struct {
	stage.Player
	worker.Seen // of the current process

	number     int
	rows, acts int64 // of earlier processes
}

// newCast returns the nodes of a demo, none of which runs.
func newCast(nodes int) *stage.Cast[*member] {
	c := stage.NewCast[*member](256)
	for i := range nodes {
		c.All = append(c.All, &member{Player: stage.Player{Name: fmt.Sprintf("node-%d", i+1)}, number: i + 1})
	}
	return c
}

// command says how a member is run. The database URL is passed in the environment, since
// every user of the machine can read arguments.
func (s *servers) command(cfg Config, m *member) fleet.Command {
	args := []string{
		NodeCommand, "--id", m.Name, "--scope", Scope, "--lease", cfg.Lease.String(),
		"--dir", s.dir, "--log-level", "warn",
	}
	if s.payer != nil {
		args = append(args, "--config", s.payer.config, "--listen", "unix:"+s.socket(m.number))
	}
	return fleet.Command{Program: cfg.Program, Args: args, Env: []string{"CONCH_DB_URL=" + s.url}}
}

// recordEnd records the end of a process and schedules the next one.
func (m *member) recordEnd() {
	m.rows += m.Pulse.Rows
	m.acts += m.Pulse.Acts
	m.Bury()
	m.Seen, m.Back = worker.Seen{}, time.Now().Add(restartAfter)
}
