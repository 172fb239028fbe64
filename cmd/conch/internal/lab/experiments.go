//go:build unix

package lab

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/lab/screen"
	"github.com/conchhq/conch/internal/pg/postmaster"
)

// experiments returns the commands that need a private Postgres server.
func (l lab) experiments() []*cobra.Command {
	return []*cobra.Command{l.demo(), l.demoNode(), l.chaos(), l.chaosChild(), l.chaosStray(), l.bench(), l.benchHolder(), l.benchAgent(), l.benchMember()}
}

// private prepares an experiment that starts its own servers, unless its configuration has a fault. It returns this
// program's file, which the experiment starts again as its workers, and where its progress is shown.
func (l lab) private(ctx context.Context, command string, fault error) (program string, progress screen.Config, err error) {
	if fault != nil {
		return "", progress, cli.Usagef("%w", fault)
	}
	if l.DB != "" {
		return "", progress, cli.Usagef("%s uses private databases and never yours: leave --db out", command)
	}
	if program, err = own(); err != nil {
		return "", progress, err
	}
	if _, err := postmaster.Binaries(ctx); err != nil {
		return "", progress, cli.Usagef("%w", err)
	}
	forgetDatabase()
	return program, l.shown(), nil
}

// shown returns where an experiment shows how far it is. What is documented goes to stdout alone.
func (l lab) shown() screen.Config {
	if l.JSON {
		return screen.On(l.Stderr)
	}
	return screen.On(l.Stdout)
}

// unused refuses flags that an experiment has no use for.
func unused(cmd *cobra.Command, why string, flags ...string) error {
	for _, flag := range flags {
		if cmd.Flags().Changed(flag) {
			return cli.Usagef("%s: leave --%s out", why, flag)
		}
	}
	return nil
}

// judged prints the verdict on an experiment, as a document or in words, and returns its fault.
func (l lab) judged(verdict any, fault error, inWords func() error) error {
	if l.JSON {
		inWords = func() error { return l.Document(verdict) }
	}
	if err := inWords(); err != nil {
		return err
	}
	return fault
}

// violated prints the first violations, one a line.
func (l lab) violated(all []string) error {
	for _, text := range all[:min(len(all), shownViolations)] {
		if err := l.Line("VIOLATION: %s", text); err != nil {
			return err
		}
	}
	return nil
}

// own returns this program's file.
func own() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program's own file: %w", err)
	}
	return program, nil
}

// product returns the file of the program whose nodes and commands an experiment hurts or measures.
func product(own string) (string, error) {
	if found := beside.Find(own, "conch"); found != "" {
		return found, nil
	}
	return "", cli.Usagef("conch, whose nodes this runs, is neither beside this program nor on the PATH: \"make build\" in the source of conch makes both")
}
