//go:build unix

package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/web"
	"github.com/conchhq/conch/election/pgmint"
)

// Exit codes of run --no-wait, those of sysexits.h.
const (
	unknowable   = 69
	anotherLeads = 75
)

// surroundings checks what a run has around its campaign: the program, its user and database, and the address.
func (a *app) surroundings(cmd *cobra.Command, f *runFlags, program string) error {
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
	_, err := keeper.Runnable(program)
	return err
}

// unknownLeader is the end of a run that does not wait, and cannot know who leads.
func unknownLeader(scope string, why error) failure {
	return failure{fmt.Errorf("whether another one leads %q cannot be known: %s", scope, pgmint.Sentence(why)), unknowable}
}
