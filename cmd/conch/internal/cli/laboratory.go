package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/beside"
)

// laboratoryName is the program that shows and measures what this one does.
const laboratoryName = "conch-lab"

// laboratory returns the commands that are another program's, which gets the whole command line. A user knows the demo as
// one of conch; the other three are for scripts that were written before the laboratory was a program of its own.
func (a *app) laboratory(args []string) []*cobra.Command {
	commands := []*cobra.Command{
		{Use: "demo", Short: "kill the leader over and over, and see that nobody acts twice and nothing is lost", Example: "  conch demo"},
		{Use: "chaos", Hidden: true}, {Use: "bench", Hidden: true}, {Use: "sim", Hidden: true},
	}
	for _, cmd := range commands {
		cmd.DisableFlagParsing = true
		cmd.RunE = func(*cobra.Command, []string) error { return a.handOn(args) }
	}
	return commands
}

// handOn has the laboratory run a command line in place of this process.
func (a *app) handOn(args []string) error {
	own, err := os.Executable()
	if err != nil {
		return failure{fmt.Errorf("finding this program's own file: %w", err), Failed}
	}
	path := beside.Find(own, laboratoryName)
	if path == "" {
		return Usagef("%s, which has this command, is neither beside this program nor on the PATH: \"make build\" in the source of conch makes "+
			"both, and \"go install github.com/conchhq/conch/cmd/conch/%[1]s@%s\" makes it alone", laboratoryName, installable(a.Build.Version))
	}
	if err := Become(a.World, path, args); err != nil {
		return failure{fmt.Errorf("starting %s: %w", path, err), Failed}
	}
	return nil
}

// installable is the version that go install gets: this program's, if it was released.
func installable(version string) string {
	if strings.HasPrefix(version, "v") && !strings.Contains(version, "-") {
		return version
	}
	return "latest"
}
