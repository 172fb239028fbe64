//go:build unix

package roles

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// process is a role that is a process tree under a keeper: as conch run, without a
// terminal, and one of several in this process.
type process struct {
	frame node.Frame
	role  config.Role
	argv  []string
	door  fence.Door
}

func (s *service) command(r config.Role, job Job, door fence.Door) node.Work {
	return process{frame: s.frame, role: r, argv: job.Command, door: door}.lead
}

// lead runs the command until leadership ends or the command does. It returns only
// when nothing of it is left: then, and only then, may the scope be released.
func (c process) lead(ctx context.Context, l election.Leadership) error {
	grace, err := c.role.Grace()
	if err != nil {
		return err // the file was refused for it
	}
	out := keeper.Outcome{Log: c.frame.Log.With(slog.String("scope", l.Token.Scope), slog.Int64("epoch", l.Token.Epoch))}
	database := ""
	if c.frame.Database != nil {
		database = c.frame.Database.URL
	}
	// No stdin: several roles cannot share one. Both outputs are the node's own.
	k, err := keeper.Keep(keeper.Config{
		Options: keeper.Options{Command: c.argv, Grace: grace},
		Env:     append(os.Environ(), keeper.Environ(l.Token, c.frame.ID, database)...),
		Stdout:  os.Stdout, Stderr: os.Stderr, Report: out.Note,
	})
	if err != nil {
		return fmt.Errorf("the keeper of the command cannot be started: %w", err)
	}
	done := context.AfterFunc(c.frame.Hurry, k.Kill)
	defer done()
	k.Follow(ctx, l, c.door, keeper.Share(c.role.DrainTimeout))
	if ctx.Err() != nil {
		return nil
	}
	return out.Err()
}
