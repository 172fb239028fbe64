//go:build unix

package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
)

// keepers returns the hidden commands of the processes that keep a command.
func (a *app) keepers() []*cobra.Command {
	var o keeper.Options
	keep := &cobra.Command{
		Use: keeper.Command, Short: "keeps the command of a run", Hidden: true,
		Example: "  conch keeper --grace 750ms -- sleep 60",
	}
	flags := keep.Flags()
	flags.SetInterspersed(false)
	flags.DurationVar(&o.Grace, "grace", 0, "time before the deadline")
	flags.IntVar(&o.Group, "group", 0, "process group to join")
	flags.StringVar(&o.User, "user", "", "whom the command runs as")
	flags.BoolVar(&o.Isolate, "isolate", false, "in a PID namespace")
	keep.RunE = func(cmd *cobra.Command, args []string) error {
		o.Command = args
		a.collectAt(runCollectAt)
		return Does(func(context.Context) error { return keeper.Serve(o) })(cmd, nil)
	}
	first := &cobra.Command{
		Use: keeper.InitCommand, Short: "the first process in a namespace", Hidden: true,
		Example: "  conch keeper-init -- sleep 60",
	}
	first.Flags().SetInterspersed(false)
	first.RunE = func(cmd *cobra.Command, args []string) error {
		return Does(func(context.Context) error {
			code, err := keeper.Init(args)
			if err == nil && code != 0 {
				return ExitError(code)
			}
			return err
		})(cmd, nil)
	}
	return []*cobra.Command{lasting(keep), lasting(first)}
}
