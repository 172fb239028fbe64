package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgops"
)

func (a *app) status() *cobra.Command {
	return a.viewed(a.observing(&cobra.Command{
		Use:   "status",
		Short: "who leads each scope, and who would like to",
		Long: `status shows who leads each scope as the database has it. It is for people: by
the time it is read it is about the past. A program asks its gate instead.

STATE is "leads, holding" while the leader waits until no predecessor can act: it may
do what is fenced, and nothing else yet. STATE also says how often the scope's role has
failed in the last ten minutes, with the last reason. If nobody leads, a line below the
table says what keeps the candidates from leading and how to end that, as far as it can
be seen.`,
		Example: `  conch status
  conch status --scope payments --json`,
	}, func(ctx context.Context, o *pgops.Observer, scope string) error {
		all, err := o.Scopes(ctx, scope)
		if err != nil && len(all) == 0 {
			return err
		}
		return errors.Join(a.printStatus(scope, all), err) // while a table is locked, what can be read
	}))
}

func (a *app) printStatus(scope string, all []pgops.ScopeStatus) error {
	if a.JSON {
		out := make([]pgops.ScopeStatus, 0, len(all)) // [] rather than null
		for _, l := range all {
			l.Candidates = append([]string{}, l.Candidates...)
			l.AcquiredAt = l.AcquiredAt.UTC()
			l.HeartbeatAt, l.LastFailureAt = utc(l.HeartbeatAt), utc(l.LastFailureAt)
			out = append(out, l)
		}
		return a.Document(out)
	}
	switch {
	case len(all) == 0 && scope != "":
		return a.neverLed(scope)
	case len(all) == 0:
		return a.Line("nobody has ever led anything here")
	}
	var rows []string
	for _, l := range all {
		rows = append(rows, Row("%s\t%d\t%s\t%s\t%s\t%s\t%s",
			Named(l.Scope), l.Epoch, Named(l.Holder), stateOf(l), Clock(l.AcquiredAt), age(l), OrDash(strings.Join(named(l.Candidates), ", "))))
	}
	_ = a.Table("SCOPE\tEPOCH\tHOLDER\tSTATE\tSINCE\tHEARTBEAT\tCANDIDATES", rows)
	for _, l := range all { // too long for a column
		if l.Obstacle != "" {
			_ = a.Line("%s: %s", Named(l.Scope), l.Obstacle)
		}
	}
	return nil
}

// neverLed prints that nobody has led a scope, whose name may be misspelt.
func (a *app) neverLed(scope string) error {
	return a.Line("nobody has ever led %q: \"conch status\" lists the scopes that somebody has", scope)
}

// stateOf describes a leadership in a word, and adds the failures of its role. A holder that is
// gone crashed, or gave up without a promise that its acts had ended.
func stateOf(l pgops.ScopeStatus) string {
	state := "gone"
	switch {
	case l.Released:
		state = "released"
	case l.Held && l.Holding:
		state = "leads, holding"
	case l.Held:
		state = "leads"
	}
	if l.Failures > 0 {
		state += fmt.Sprintf("; failed %s in 10m: %s", times(l.Failures), strings.TrimPrefix(l.LastFailure, election.ErrResigned.Error()+": "))
	}
	return state
}

func named(all []string) (out []string) {
	for _, one := range all {
		out = append(out, Named(one))
	}
	return out
}

func times(n int64) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	return new(t.UTC())
}

func age(l pgops.ScopeStatus) string {
	if l.HeartbeatAt == nil {
		return "-"
	}
	return Ago(l.HeartbeatAgeMS)
}
