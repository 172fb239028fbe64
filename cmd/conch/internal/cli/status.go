package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election/pgmint"
)

func (a *app) status() *cobra.Command {
	return a.observing(&cobra.Command{
		Use:   "status",
		Short: "who leads each scope, and who would like to",
		Long: `status shows who leads each scope as the database has it. It is for people: by
the time it is read it is about the past. A program asks its gate instead.`,
		Example: `  conch status
  conch status --scope payments --json`,
	}, func(ctx context.Context, o *pgmint.Observer, scope string) error {
		all, err := o.Leaderships(ctx, scope)
		if err != nil {
			return err
		}
		return a.printStatus(scope, all)
	})
}

func (a *app) printStatus(scope string, all []pgmint.Leadership) error {
	if a.json {
		out := make([]pgmint.Leadership, 0, len(all)) // [] rather than null
		for _, l := range all {
			l.Candidates = append([]string{}, l.Candidates...)
			l.AcquiredAt = l.AcquiredAt.UTC()
			if l.HeartbeatAt != nil {
				at := l.HeartbeatAt.UTC()
				l.HeartbeatAt = &at
			}
			out = append(out, l)
		}
		return a.document(out)
	}
	switch {
	case len(all) == 0 && scope != "":
		return a.line("nobody has ever led %q", scope)
	case len(all) == 0:
		return a.line("nobody has ever led anything here")
	}
	var rows []string
	for _, l := range all {
		rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s\t%s\t%s\t%s",
			l.Scope, l.Epoch, orDash(l.Holder), stateOf(l), clock(l.AcquiredAt), age(l), orDash(strings.Join(l.Candidates, ", "))))
	}
	return a.table("SCOPE\tEPOCH\tHOLDER\tSTATE\tSINCE\tHEARTBEAT\tCANDIDATES", rows)
}

// stateOf says in a word how it stands. A holder that is neither held nor
// released crashed, or gave up without the promise that its acts had ended.
func stateOf(l pgmint.Leadership) string {
	switch {
	case l.Released:
		return "released"
	case l.Held:
		return "leads"
	default:
		return "gone"
	}
}

func age(l pgmint.Leadership) string {
	if l.HeartbeatAt == nil {
		return "-"
	}
	return (time.Duration(l.HeartbeatAgeMS) * time.Millisecond).String() + " ago"
}
