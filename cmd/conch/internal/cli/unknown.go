package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// meant lists the words that users of other tools may try, by the command of conch.
var meant = map[string][]string{
	"advance":  {"epoch"},
	"check":    {"validate", "lint", "test"},
	"config":   {"configuration", "conf", "validate", "lint"},
	"demo":     {"try", "quickstart"},
	"doctor":   {"check", "diagnose", "health"},
	"drain":    {"stepdown", "step-down", "resign", "release", "stop", "unlock"},
	"history":  {"log", "logs", "events", "audit"},
	"identity": {"key", "keys", "keygen", "fingerprint", "cert", "certificate"},
	"migrate":  {"init", "setup", "install", "schema", "migration"},
	"new":      {"create", "make", "generate", "init"},
	"node":     {"start", "serve", "server", "daemon", "agent"},
	"run":      {"start", "exec", "lock", "lead", "elect"},
	"status":   {"leader", "leaders", "list", "ls", "ps", "show", "scopes", "who"},
	"transfer": {"failover", "switchover", "handover", "move"},
	"up":       {"apply", "create", "install", "migrate"},
	"watch":    {"follow", "tail"},
}

// suggest makes each command known by the words that are meant for it.
func suggest(parent *cobra.Command) {
	for _, cmd := range parent.Commands() {
		cmd.SuggestFor = meant[cmd.Name()]
		suggest(cmd)
	}
}

// Group makes a command of others, one of which has to be named.
func Group(cmd *cobra.Command, others ...*cobra.Command) *cobra.Command {
	names := make([]string, len(others))
	for i, other := range others {
		names[i] = other.Name()
	}
	needs := "one of " + strings.Join(names, ", ")
	if len(names) == 1 {
		needs = "the word " + names[0]
	}
	cmd.Args = UnknownCommand
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return Usagef("%s needs %s: see %q", cmd.Name(), needs, cmd.CommandPath()+" --help")
	}
	cmd.AddCommand(others...)
	return cmd
}

// UnknownCommand refuses a word that is no command, and suggests commands that may be meant.
func UnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	help := cmd.CommandPath() + " --help"
	cmd.SuggestionsMinimumDistance = max(1, min(2, len(args[0])/2))
	near := cmd.SuggestionsFor(args[0])
	if len(near) == 0 {
		return Usagef("unknown command %q: %q lists all", args[0], help)
	}
	slices.Sort(near)
	return Usagef("unknown command %q: did you mean %s? %q lists all", args[0], strings.Join(slices.Compact(near), " or "), help)
}

// NoArguments refuses a word that is no flag, and suggests the flag whose value it may be.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	for _, name := range []string{"scope", "config"} {
		if flag := cmd.Flag(name); flag != nil && !flag.Changed {
			return Usagef("%q takes no argument: did you mean --%s %s? see %q", cmd.CommandPath(), name, args[0], cmd.CommandPath()+" --help")
		}
	}
	return Usagef("%q takes no argument, and %q is one: see %q", cmd.CommandPath(), args[0], cmd.CommandPath()+" --help")
}

// noFlagAsValue refuses a flag without a value, for which the next flag was taken.
func noFlagAsValue(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if err == nil && f.Value.Type() == "string" && strings.HasPrefix(f.Value.String(), "--") {
			err = Usagef("--%s needs a value, and %s is none: see %q", f.Name, f.Value, cmd.CommandPath()+" --help")
		}
	})
	return err
}

// misspelt returns the word that was meant for a subcommand of cmd, "" if there is none.
func misspelt(cmd *cobra.Command, args []string) string {
	if !cmd.HasSubCommands() {
		return ""
	}
	var words []string
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		arg := args[i]
		switch {
		case !strings.HasPrefix(arg, "-"):
			words = append(words, arg)
		case takesNext(cmd, arg):
			i++
		}
	}
	for range strings.Fields(cmd.CommandPath())[1:] {
		words = words[min(1, len(words)):]
	}
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// takesNext reports whether the next word is a flag's value, as cobra assumes of an unknown flag.
func takesNext(cmd *cobra.Command, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	flag := cmd.Flag(strings.TrimLeft(arg, "-"))
	return flag == nil || flag.NoOptDefVal == ""
}
