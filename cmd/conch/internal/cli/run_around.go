//go:build unix

package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

// Exit codes of run --no-wait and of cron: two of sysexits.h, and a shell's for a command that it does not find.
const (
	unknowable   = 69
	anotherLeads = 75
	notFound     = 127
)

// surroundings checks what a run has around its campaign: the command's user, database and namespace, and the address.
func (a *app) surroundings(ctx context.Context, cmd *cobra.Command, f *runFlags) error {
	if f.opsListen != "" {
		if err := web.CheckAddress("--ops-listen", f.opsListen); err != nil {
			return err
		}
	}
	if f.cmdDB == "" && !cmd.Flags().Changed("cmd-db") {
		f.cmdDB = a.Getenv(EnvCommandURL)
	}
	if f.cmdDB == "" && cmd.Flags().Changed("cmd-db") || f.cmdDB != "" && f.cmdDB != NoDatabase && !strings.Contains(f.cmdDB, "://") {
		return Usagef("--cmd-db, or %s, is neither a URL nor %s", EnvCommandURL, NoDatabase) // it may have a password
	}
	if cmd.Flags().Changed("user") { // empty, it is a variable that is not set, and not the user that conch runs as
		if err := keeper.CanBecome(f.user); err != nil {
			return fmt.Errorf("--user: %w", err)
		}
	}
	if f.isolate {
		return keeper.CanIsolate(ctx)
	}
	return nil
}

// mayPass reports whether a database that gave this error is waited for.
func mayPass(err error) bool { return pg.SafeToRetry(err) || pg.IsLost(err) }

// unstarted is the end where the command cannot be started.
func (f *runFlags) unstarted(why error) error {
	if f.turn == nil {
		return usage{why}
	}
	return failure{why, notFound}
}

// unknownLeader is the end of a run that does not wait, and cannot know who leads.
func unknownLeader(scope string, why error) failure {
	return failure{fmt.Errorf("whether another one leads %q cannot be known: %s", scope, pgmint.Sentence(why)), unknowable}
}
