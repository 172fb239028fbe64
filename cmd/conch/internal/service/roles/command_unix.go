//go:build unix

package roles

import (
	"context"
	"os"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/fence"
)

// command runs a process tree under a keeper, as conch run does, but without a terminal.
func (s *service) command(r config.Role, job Job, door fence.Door) node.Work {
	return func(ctx context.Context, l election.Leadership) error {
		grace, err := r.Grace()
		if err != nil {
			return err // cannot happen: validated
		}
		own := ""
		if s.frame.Database != nil {
			own = s.frame.Database.URL
		}
		database, hidden := cli.CommandDatabase(job.DB, own)
		return keeper.Supervise(ctx, l, keeper.Supervision{
			// No stdin: several roles cannot share one. Both outputs go to the node's.
			Config: keeper.Config{
				Options: keeper.Options{Command: job.Command, Grace: grace, User: job.User}, Stdout: os.Stdout, Stderr: os.Stderr,
			},
			Log: s.frame.Log, ID: s.frame.ID, Database: database, Hidden: hidden, Door: door, Within: keeper.CommandTime(r.DrainTimeout),
			OnStart: func(k *keeper.Keeper) func() {
				stay := context.AfterFunc(s.frame.Hurry, k.Kill)
				return func() { stay() }
			},
		}).Err
	}
}
