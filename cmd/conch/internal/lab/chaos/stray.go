//go:build unix

package chaos

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/fleet"
	"github.com/conchhq/conch/election"
)

// StrayCommand is the hidden subcommand of a transaction that does not end.
const StrayCommand = "chaos-stray"

// Fenced is reported by a stray whose fence has passed.
const Fenced election.Kind = "fenced"

type stray struct {
	*fleet.Process
	fenced chan struct{}
	over   chan struct{}
}

// strand starts a stray and waits until its fence has passed.
func (c *Cluster) strand(ctx context.Context, busy bool) (*stray, error) {
	s := &stray{fenced: make(chan struct{}), over: make(chan struct{})}
	args := []string{StrayCommand, "--scope", Scope}
	if busy {
		args = append(args, "--busy")
	}
	c.ending.Add(1)
	said := false
	p, err := c.launcher.Launch(c.cfg.Program, args, []string{"CONCH_DB_URL=" + c.URL}, func(news fleet.News) {
		switch {
		case news.Ended:
			close(s.over)
			c.ending.Done()
		case news.Report.Kind == Fenced && !said:
			said = true
			close(s.fenced)
		}
	})
	if err != nil {
		c.ending.Done()
		return nil, err
	}
	s.Process = p
	select {
	case <-s.fenced:
		return s, nil
	case <-s.over:
		return nil, fmt.Errorf("a transaction could not be fenced: %s", p.LastWords())
	case <-ctx.Done():
		s.Signal(syscall.SIGKILL)
		return nil, context.Cause(ctx)
	}
}

// ended waits for the end of the process, and kills it after the patience.
func (s *stray) ended(ctx context.Context, patience time.Duration) error {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.over:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	s.Signal(syscall.SIGKILL)
	<-s.over
	if err := ctx.Err(); err != nil {
		return err
	}
	return &stuckError{"a transaction that was still open after its fence was neither refused nor ended by the server, although another node leads"}
}
