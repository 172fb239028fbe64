package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/nearest"
	"github.com/conchhq/conch/internal/pattern"
)

// failure marks an error of a command that was called correctly, and has its exit code. Any other error
// that reaches Main is about the command line.
type failure struct {
	error
	code int
}

func (f failure) Unwrap() error { return f.error }

// usage marks a failure as a mistake of the caller after all.
type usage struct{ error }

func (u usage) Unwrap() error { return u.error }

// ExitError silently ends conch with the exit code of a command that it has run.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("the command ended with code %d", int(e)) }

// Usagef returns the error of a command that was called wrongly.
func Usagef(format string, args ...any) error { return usage{fmt.Errorf(format, args...)} }

// Does turns the work of a command into a function for cobra.
func Does(work func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		err := work(cmd.Context())
		if err == nil || errors.As(err, new(failure)) {
			return err
		}
		return failure{err, Failed}
	}
}

// explain returns one sentence about an error, and the exit code.
func explain(err error) (text string, code int) {
	var ours failure
	var theirs usage
	var lost unansweredError
	switch {
	case errors.As(err, &theirs):
		return Sentence(theirs.Error()), wrong
	case !errors.As(err, &ours):
		return Sentence(err.Error()), wrong
	case errors.As(err, &lost):
		// The sentence for a database error or an interrupt would drop what was added, such as a key.
		return Sentence(ours.Error()), Failed
	case errors.Is(err, context.Canceled):
		return "interrupted", Failed
	default:
		return Sentence(pgmint.Sentence(ours.error)), ours.code
	}
}

// explained has the log say of an error what a command would: what to do about it, where that is known.
func explained(_ []string, a slog.Attr) slog.Attr {
	if err, is := a.Value.Any().(error); is {
		return slog.String(a.Key, Sentence(pgmint.Sentence(err)))
	}
	return a
}

// packages are those whose errors begin with their name, for programs that use them.
var packages = pattern.Of(`^(election|fence|gossip|mtls|pending|pgmint|pgops|pgstore|sim): `)

// Sentence puts a text on one line, without the package names that begin its lines.
func Sentence(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, packages().ReplaceAllString(line, ""))
		}
	}
	return strings.Join(parts, "; ")
}

// flagError describes a fault in a flag in a user's words, not in a parser's.
func flagError(cmd *cobra.Command, err error) error {
	help := fmt.Sprintf("see %q", cmd.CommandPath()+" --help")
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var empty *pflag.ValueRequiredError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); cmd.Flag(short) != nil {
			return Usagef("unknown flag -%s: did you mean --%s? %s", short, short, help)
		} else if short != "" {
			return Usagef("unknown flag -%s: %s", name, help)
		}
		if near := nearFlag(cmd, name); near != "" {
			return Usagef("unknown flag --%s: did you mean --%s? %s", name, near, help)
		}
		return Usagef("unknown flag --%s: %s", name, help)
	case errors.As(err, &invalid):
		return Usagef("--%s %q is not %s: %s", invalid.GetFlag().Name, invalid.GetValue(), kindOf(invalid.GetFlag()), help)
	case errors.As(err, &empty):
		return Usagef("--%s needs a value: %s", empty.GetSpecifiedName(), help)
	default:
		return Usagef("%w: %s", err, help)
	}
}

// nearFlag returns the known flag that a misspelt one resembles, "" if there is none.
func nearFlag(cmd *cobra.Command, name string) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	return nearest.To(name, known)
}

func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "duration":
		return "a duration such as 500ms, 3s or 1m"
	case "int", "int64", "uint64":
		return "a whole number"
	case "bool":
		return "true or false"
	default:
		return "a " + f.Value.Type()
	}
}
