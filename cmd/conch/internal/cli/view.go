package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// View is what one service adds to conch status: a flag with which the command asks a node instead of the database.
type View struct {
	Flag    string // such as gossip
	Usage   string // of the flag
	Long    string // what the help of the command says of it
	Example string // a line of its examples
	Show    func(ctx context.Context, c *Client) error
}

// View adds a view to conch status. It is called while commands are made.
func (s *Shell) View(v View) { s.views = append(s.views, v) }

// viewed adds the views to a command that asks the database.
func (s *Shell) viewed(cmd *cobra.Command) *cobra.Command {
	if len(s.views) == 0 {
		return cmd
	}
	client := new(Client)
	client.Flags(cmd)
	chosen := make([]bool, len(s.views))
	var names []string
	for i, v := range s.views {
		cmd.Flags().BoolVar(&chosen[i], v.Flag, false, v.Usage)
		names = append(names, "--"+v.Flag)
		cmd.Long += "\n\n" + v.Long
		cmd.Example += "\n  " + v.Example
	}
	observe := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		i := slices.Index(chosen, true)
		if i < 0 {
			for _, flag := range []string{"node", "token-file"} {
				if cmd.Flags().Changed(flag) {
					return Usagef("--%s is for a node, and without %s %q asks the database: leave it out, or add that", flag, strings.Join(names, " or "), cmd.CommandPath())
				}
			}
			err := observe(cmd, args)
			if errors.Is(err, errNoDatabase) {
				return usage{fmt.Errorf("%w; what needs no database is asked of a node, with %s", err, strings.Join(names, " or "))}
			}
			return err
		}
		if cmd.Flags().Changed("scope") {
			return Usagef("--scope is for the database, and %s asks a node: leave one out", names[i])
		}
		if j := slices.Index(chosen[i+1:], true); j >= 0 {
			return Usagef("%s and %s are two views: ask for one at a time", names[i], names[i+1+j])
		}
		return Does(func(ctx context.Context) error {
			if err := client.Prepare(s.Getenv); err != nil {
				return err
			}
			return s.views[i].Show(ctx, client)
		})(cmd, args)
	}
	return cmd
}
