package alerts

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/alerts"
	"github.com/conchhq/conch/cmd/conch/internal/cli"
)

func (a *shell) test() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test RECEIVER",
		Short: "have a node tell a receiver that this is a test",
		Long: `test asks a node to tell one of its receivers, under a key of its own, so that no alert is
touched, and to end it at once where it would stay open. A heartbeat is called once. The
node need not evaluate: each tells by itself, with its own secrets. test ends with 1 if the
receiver has not taken the message.`,
		Example: `  conch alerts test pagerduty
  conch alerts test "slack:#ops" --node https://node-2:7070 --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return cli.Usagef("name one receiver: the name of a [[notify]]")
			}
			return nil
		},
	}
	return a.Asks(cmd, nil, func(ctx context.Context, c *cli.Client, args []string) error {
		var out ReceiverTest
		err := c.Ask(ctx, http.MethodPost, pathReceiver, namedReceiver{args[0]}, &out)
		switch {
		case err != nil:
			return err
		case out.Answer == "":
			return c.Stranger()
		}
		if a.JSON {
			err = a.Document(out)
		} else if out.Answer == answers[alerts.Taken] {
			err = a.Line("%s has taken the message, in %s%s", cli.Named(out.Receiver), time.Duration(out.Took)*time.Millisecond, because(out.Why))
		}
		if err == nil && out.Answer != answers[alerts.Taken] {
			err = errors.New(cli.Row("%s: %s%s", cli.Named(out.Receiver), out.Answer, because(out.Why)))
		}
		return err
	})
}

func because(why string) string {
	if why == "" {
		return ""
	}
	return ": " + why
}

// silencing are the flags of conch alerts silence.
type silencing struct {
	silenceBody
	end   string
	until string
}

func (a *shell) silence() *cobra.Command {
	var f silencing
	cmd := &cobra.Command{
		Use:   "silence [LABEL=VALUE…] [--for TIME --comment WHY]",
		Short: "keep alerts from being told for a time; without a label, list the silences",
		Long: `silence keeps the members of alerts that have all these labels from being told. It changes
nothing about what fires, and when it ends, what still fires is told. alertname is the name
of the alert, severity its severity; instance is the node. LABEL=VALUE compares texts,
LABEL!=VALUE wants another one, and LABEL=~PATTERN and LABEL!~PATTERN compare with a regular
expression, which has to match the whole value. --end ends a silence. Without a label silence
lists those that last, are to come, or have ended within thirty days.`,
		Example: `  conch alerts silence alertname=ConchJobsWait queue=mail --for 2h --comment "a big import"
  conch alerts silence 'scope=~tenant-7/.*' --until 2026-12-01T09:00:00Z --comment "moved tonight"
  conch alerts silence
  conch alerts silence --end 0d0fb3a4-7c1e-4bb1-9c6f-2b2f6d0b8f11`,
		Args: func(_ *cobra.Command, args []string) (err error) {
			f.Matchers, err = matchersOf(args)
			return err
		},
	}
	cmd.Flags().StringVar(&f.For, "for", "", "how long it lasts: a `time` such as 2h")
	cmd.Flags().StringVar(&f.until, "until", "", "when it ends: a `time` such as 2026-12-01T09:00:00Z")
	cmd.Flags().StringVar(&f.Comment, "comment", "", "`why`, for those who find it")
	cmd.Flags().StringVar(&f.end, "end", "", "end the silence with this `ID`")
	return a.Asks(cmd, f.check, func(ctx context.Context, c *cli.Client, _ []string) error {
		switch {
		case f.end != "":
			return a.setSilence(ctx, c, pathSilences+"/"+url.PathEscape(f.end)+"/end", nil, "ended")
		case len(f.Matchers) > 0:
			f.ID = newID()
			return a.setSilence(ctx, c, pathSilences, f.silenceBody, "set")
		}
		return a.listSilences(ctx, c)
	})
}

// check says what is wrong with the command line.
func (f *silencing) check() error {
	switch {
	case f.end != "" && (len(f.Matchers) > 0 || f.For+f.until+f.Comment != ""):
		return cli.Usagef("--end ends a silence, and takes nothing beside it")
	case len(f.Matchers) == 0 && f.For+f.until+f.Comment != "":
		return cli.Usagef("name the labels of what is silenced, such as alertname=ConchJobsWait")
	case len(f.Matchers) > 0 && (f.For == "") == (f.until == ""):
		return cli.Usagef("say when it ends: one of --for and --until")
	case len(f.Matchers) > 0 && f.Comment == "":
		return cli.Usagef("say why, with --comment, for those who find it")
	}
	if f.until != "" {
		at, err := time.Parse(time.RFC3339, f.until)
		if err != nil {
			return cli.Usagef("--until %q is no time such as 2026-12-01T09:00:00Z", f.until)
		}
		f.Until = &at
	}
	return nil
}

// matchersOf reads arguments such as scope=~a.*
func matchersOf(args []string) (all []alerts.Matcher, err error) {
	for _, arg := range args {
		at := strings.IndexAny(arg, "=!")
		if at < 1 {
			return nil, cli.Usagef("%q is no label and value such as scope=billing", arg)
		}
		m := alerts.Matcher{Label: arg[:at], Op: arg[at : at+1], Value: arg[at+1:]}
		for _, op := range []string{"!=", "=~", "!~"} {
			if strings.HasPrefix(arg[at:], op) {
				m.Op, m.Value = op, arg[at+2:]
			}
		}
		if m.Op == "!" {
			return nil, cli.Usagef("%q has no comparison: =, !=, =~ or !~", arg)
		}
		all = append(all, m)
	}
	return all, nil
}

// setSilence has a silence set or ended. It may be asked for again: nothing happens twice.
func (a *shell) setSilence(ctx context.Context, c *cli.Client, path string, body any, did string) error {
	var out Silence
	err := c.Ask(ctx, http.MethodPost, path, body, &out)
	switch {
	case err != nil:
		return err
	case out.ID == "":
		return c.Stranger()
	case a.JSON:
		return a.Document(out)
	}
	return a.Line("%s: silence %s of %s, until %s", did, cli.Named(out.ID), cli.Named(out.spelled()), cli.Clock(out.Until))
}

// spelled writes the matchers as the command takes them.
func (s Silence) spelled() string {
	var all []string
	for _, m := range s.Matchers {
		all = append(all, m.Label+m.Op+m.Value)
	}
	return strings.Join(all, " ")
}

func (a *shell) listSilences(ctx context.Context, c *cli.Client) error {
	_, out, err := cli.Fetch(ctx, c, http.MethodGet, pathSilences, func(l struct{ Silences []Silence }) bool { return l.Silences != nil })
	if err != nil {
		return err
	}
	var rows []string
	for _, s := range out.Silences {
		if a.JSON {
			if err := a.Document(s); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, cli.Row("%s\t%s\t%s\t%d\t%s\t%s\t%s", s.ID, s.State, cli.Clock(s.Until), s.Alerts, cli.OrDash(s.spelled()), cmp.Or(s.By, "-"), s.Comment))
	}
	if a.JSON {
		return nil
	}
	return a.Table("ID\tSTATE\tUNTIL\tALERTS\tOF\tBY\tCOMMENT", rows)
}
