package cli

import (
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Commands makes commands that work with a shell.
type Commands func(*Shell) []*cobra.Command

// Shell is what every command works with: the system that it runs on, and what was said by
// the flags that all commands have. Those flags are read before a command runs, and not yet
// when it is made.
type Shell struct {
	World
	Build Build
	DB    string // --db alone; Configure reads the environment as well
	JSON  bool
	Log   *slog.Logger
	Kinds []node.Kind // of the services that this program has
}

// Build is what the linker stamped.
type Build struct{ Version, Commit string }

// World is what a command touches of the system it runs on.
type World struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Getenv func(string) string
}

// System is the real one.
func System() World {
	return World{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}
}
