// Package cli is conch's command line: flags in; one document or sentence, and an exit code out.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/cmd/conch/internal/keeper"
	"github.com/conchhq/conch/cmd/conch/internal/spool"
	"github.com/conchhq/conch/internal/pg"
)

// Exit codes.
const (
	done   = 0
	Failed = 1 // the command failed
	wrong  = 2 // the command was called wrongly, or lacks something it needs
)

// How many percent a heap grows before it is collected. A collection also uses the processors on which this process has
// nothing else to do, and there the database and the chain's node may. A run and its keeper have little to collect.
const (
	collectAt    = 200
	runCollectAt = 50
)

type app struct {
	Shell
	program   Program
	logFormat string
	words     io.Writer    // for the log, and the last sentence: stderr, or the spool before it
	spool     *spool.Spool // nil unless the command is a lasting one
}

// Main runs one command line of a program and returns the exit code.
func Main(args []string, w World, p Program) int {
	w.collectAt(collectAt)
	if signal.Ignored(os.Interrupt) {
		signal.Ignore(syscall.SIGQUIT) // a shell has what it starts in the background ignore both, and Go shows only the first
	}
	ctx, stop := signal.NotifyContext(context.Background(), keeper.Heeded(os.Interrupt, syscall.SIGTERM)...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once

	info, _ := debug.ReadBuildInfo()
	out := &outlet{to: w.Stdout}
	w.Stdout, w.Stderr = out, &outlet{to: w.Stderr}
	a := &app{Shell: Shell{World: w, Build: p.Build.recorded(info), Log: slog.New(slog.DiscardHandler), Kinds: p.Kinds}, program: p, words: w.Stderr}
	defer func() {
		if a.spool != nil {
			a.spool.Close(lastWords)
		}
	}()
	root := a.root(args)
	root.SetArgs(args)
	root.SetIn(w.Stdin)
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	err := root.ExecuteContext(ctx)
	switch unwritten := out.fault(); {
	case errors.Is(unwritten, syscall.EPIPE): // its reader had enough, as head has
		return Failed
	case unwritten != nil:
		err = failure{fmt.Errorf("not all of the answer could be written: %w", unwritten), Failed}
	case err == nil:
		return done
	}
	if command, ok := errors.AsType[ExitError](err); ok {
		return int(command)
	}
	text, code := explain(err)
	a.tell("%s: %s", p.Name, a.ownWords(text))
	return code
}

// collectAt says how many percent the heap grows before it is collected, unless the environment does.
func (w World) collectAt(percent int) {
	if w.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// tell is Say, and waits for no reader where the command is a lasting one.
func (a *app) tell(format string, args ...any) {
	_, _ = io.WriteString(a.words, Row(format, args...)+"\n")
}

// ownWords names --db instead of the environment's variable if the flag was given.
func (a *app) ownWords(text string) string {
	if a.DB == "" {
		return text
	}
	return strings.ReplaceAll(text, pg.EnvURL, "--db")
}

const logLevel = "log-level"

// levelFlag adds --log-level: once for all commands, and again for one with another default.
func levelFlag(flags *pflag.FlagSet, level string) {
	flags.String(logLevel, level, "what is logged: debug, info, warn or error")
}

func (a *app) root(args []string) *cobra.Command {
	asked := false
	root := &cobra.Command{
		Use:                a.program.Name,
		Short:              a.program.Short,
		Long:               a.program.Long,
		Example:            a.program.Example,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
		Args:               UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asked {
				return a.version().RunE(cmd, nil)
			}
			if swallowed, _, err := cmd.Find([]string{a.DB}); a.DB != "" && err == nil && swallowed != cmd {
				return Usagef("--db needs a value, and %q is a command: write --db URL %s", a.DB, a.DB)
			}
			return cmd.Help()
		},
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.prepare(cmd)
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.DB, "db", "", "`URL` of the database; else CONCH_DB_URL, else the standard PG* variables")
	flags.BoolVar(&a.JSON, "json", false, "print JSON: one document, or one object a line for streams")
	flags.StringVar(&a.logFormat, "log-format", "text", "how the log on stderr is written: text or json")
	levelFlag(flags, "warn")
	root.Flags().BoolVarP(&asked, "version", "v", false, "as "+a.program.Name+" version")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if word := misspelt(cmd, args); word != "" {
			return UnknownCommand(cmd, []string{word}) // the flag may be one of the command that was meant
		}
		return flagError(cmd, err)
	})
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetHelpCommand(a.helpCommand())
	for _, from := range a.program.Commands { // before status, whose flags some of them add
		root.AddCommand(from(&a.Shell)...)
	}
	root.AddCommand(a.version())
	root.AddCommand(a.keepers()...) // of the nodes in any program
	if a.program.operates {
		root.AddCommand(a.node(), a.config(), a.reload(), a.drain(), a.transfer(), a.gate())
		root.AddCommand(a.migrate(), a.scope(), a.status(), a.history(), a.watch(), a.doctor(), a.identity())
		root.AddCommand(a.services()...)
		root.AddCommand(a.laboratory(args)...)
	}
	suggest(root)
	return root
}

// prepare checks the flags that all commands share.
func (a *app) prepare(cmd *cobra.Command) error {
	if cmd.Flags().Changed("db") && a.DB == "" {
		return Usagef("--db is empty: give the URL of the database, for example postgres://app_node@localhost/app")
	}
	if err := noFlagAsValue(cmd); err != nil {
		return err
	}
	var level slog.Level
	switch said := cmd.Flag(logLevel).Value.String(); said {
	case "debug", "info", "warn", "error":
		_ = level.UnmarshalText([]byte(said)) // it knows these four
	default:
		return Usagef("--log-level %q is none of debug, info, warn, error", said)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: explained}
	made := func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, options) }
	switch a.logFormat {
	case "text":
	case "json":
		made = func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, options) }
	default:
		return Usagef("--log-format %q is neither text nor json", a.logFormat)
	}
	_, lasting := cmd.Annotations[lasts]
	a.logTo(made, lasting)
	return nil
}

func (a *app) helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]", Short: "help about any command", Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && about.DisableFlagParsing {
				return a.handOn(append(slices.Clone(args), "--help"))
			}
			if err != nil || len(rest) > 0 {
				return UnknownCommand(cmd.Root(), args)
			}
			about.InitDefaultHelpFlag() // as --help does
			return about.Help()
		},
	}
}
