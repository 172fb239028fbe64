package cli

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Commands makes the commands that use a shell.
type Commands func(*Shell) []*cobra.Command

// Shell is what every command works with: the system, and the flags that all commands share.
// The flags are set when a command runs, and not yet when it is made.
type Shell struct {
	World
	Build Build
	DB    string // --db alone; Configure reads the environment as well
	JSON  bool
	Log   *slog.Logger
	Kinds []node.Kind // the kinds of services in this program

	views []View // of conch status
}

// Build is the version that the linker stamped.
type Build struct{ Version, Commit string }

// World is the part of the system that a command uses.
type World struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// System returns the world of this process.
func System() World {
	return World{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
}
