// Package cli is conch's command line: flags in, one document or one sentence
// out, and an exit code that a script can tell apart.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/internal/pg"
)

// Exit codes.
const (
	done   = 0
	failed = 1
	wrong  = 2 // wrong usage, or nothing to work with
)

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

type app struct {
	World
	build     Build
	db        string
	json      bool
	logFormat string
	logLevel  string
	log       *slog.Logger
}

// Main runs one command line and returns the exit code.
func Main(args []string, w World, b Build) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once

	a := &app{World: w, build: b, log: slog.New(slog.DiscardHandler)}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(w.Stdin)
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return done
	}
	if command, ok := errors.AsType[exitError](err); ok {
		return int(command)
	}
	text, code := explain(err)
	if a.db != "" { // say the name of what was given
		text = strings.ReplaceAll(text, pg.EnvURL, "--db")
	}
	_, _ = fmt.Fprintln(w.Stderr, "conch: "+text)
	return code
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "conch",
		Short: "elects the one process that may act, and proves it",
		Long: `conch elects the one of several processes that may act, proves to the outside
world that it is the one, hands over in milliseconds, and loses nothing when the
one dies.

Try it with nothing installed but PostgreSQL's server programs: conch demo`,
		Example: `  conch demo
  conch --db postgres://app_owner@db.example/app migrate up
  conch --db postgres://app_node@db.example/app status --json`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
		Args:               unknownCommand,
		RunE:               func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.prepare(cmd)
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.db, "db", "", "`URL` of the database; else CONCH_DB_URL, else the standard PG* variables")
	flags.BoolVar(&a.json, "json", false, "print JSON: one document, or one object a line for streams")
	flags.StringVar(&a.logFormat, "log-format", "text", "how the log on stderr is written: text or json")
	flags.StringVar(&a.logLevel, "log-level", "warn", "what is logged: debug, info, warn or error")
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(helpCommand())
	root.AddCommand(a.node(), a.config(), a.reload(), a.drain(), a.transfer(), a.tx())
	root.AddCommand(a.migrate(), a.status(), a.history(), a.watch(), a.version(), a.sim(), a.doctor())
	root.AddCommand(a.experiments()...)
	root.AddCommand(a.services()...)
	return root
}

// prepare checks what all commands share.
func (a *app) prepare(cmd *cobra.Command) error {
	if cmd.Flags().Changed("db") && a.db == "" {
		return usagef("--db is empty: give the URL of the database, for example postgres://app_node@localhost/app")
	}
	var level slog.Level
	switch a.logLevel {
	case "debug", "info", "warn", "error":
		_ = level.UnmarshalText([]byte(a.logLevel)) // it knows these four
	default:
		return usagef("--log-level %q is none of debug, info, warn, error", a.logLevel)
	}
	options := &slog.HandlerOptions{Level: level}
	switch a.logFormat {
	case "text":
		a.log = slog.New(slog.NewTextHandler(a.Stderr, options))
	case "json":
		a.log = slog.New(slog.NewJSONHandler(a.Stderr, options))
	default:
		return usagef("--log-format %q is neither text nor json", a.logFormat)
	}
	return nil
}

func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("unknown command %q: %q lists all", args[0], cmd.CommandPath()+" --help")
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("%q takes no argument, and %q is one: see %q", cmd.CommandPath(), args[0], cmd.CommandPath()+" --help")
}

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "help about any command", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(cmd.Root(), args)
			}
			about.InitDefaultHelpFlag() // as it would have by --help
			return about.Help()
		},
	}
}
