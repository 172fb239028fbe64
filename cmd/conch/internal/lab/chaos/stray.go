//go:build unix

package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/conchhq/conch/cmd/conch/internal/lab/worker"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/internal/fleet"
)

// StrayCommand is the hidden subcommand of a transaction that does not end.
const StrayCommand = "chaos-stray"

// Fenced is reported by a stray whose fence has passed.
const Fenced election.Kind = "fenced"

// strand starts a transaction that does not end, and waits until its fence has passed.
func (c *Cluster) strand(ctx context.Context, busy bool) (*fleet.Process, error) {
	args := []string{StrayCommand, "--scope", Scope}
	if busy {
		args = append(args, "--busy")
	}
	said, fenced := false, make(chan struct{})
	p, err := c.launch(c.URL, c.cfg.Program, args, func(news fleet.News) {
		if r, is := worker.Read(news.Line); is && r.Kind == Fenced && !said {
			said = true
			close(fenced)
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-fenced:
		return p, nil
	case <-p.Over():
		return nil, fmt.Errorf("a transaction could not be fenced: %s", p.LastWords())
	case <-ctx.Done():
		p.End(0)
		return nil, context.Cause(ctx)
	}
}

// strayEnds waits for the end of such a process, and kills it after the patience.
func strayEnds(ctx context.Context, stray *fleet.Process, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if stray.Wait(limited) == nil {
		return nil
	}
	stray.End(0)
	if err := ctx.Err(); err != nil {
		return err
	}
	return &stuckError{"a transaction that was still open after its fence was neither refused nor ended by the server, although another node leads"}
}
