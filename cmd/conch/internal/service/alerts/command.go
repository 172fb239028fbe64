package alerts

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/cli"
	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/node"
)

// Commands returns conch alerts.
func Commands(s *cli.Shell) []*cobra.Command {
	a := &shell{s}
	return []*cobra.Command{cli.Group(&cobra.Command{
		Use:   "alerts",
		Short: "look at the alerts of a cluster, find what is wrong with them, and silence some",
		Long: `The built-in alerts are in every cluster with [alerting]; [[alerts]] of a configuration
file are added to them, or change them. check, list and export read a file and connect to
nothing; test and silence ask a node over its API.`,
		Example: `  conch alerts check /etc/conch.toml
  conch alerts test pagerduty
  conch alerts silence alertname=ConchJobsWait queue=mail --for 2h --comment "a big import"`,
	}, a.check(), a.list(), a.export(), a.test(), a.silence())}
}

// shell prints for people.
type shell struct{ *cli.Shell }

// file accepts one argument at most.
func file(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	return cli.Usagef("%q takes one file: see %q", cmd.CommandPath(), cmd.CommandPath()+" --help")
}

// load reads a configuration file, and returns the faults of its alerts. Its error is none of those.
func (a *shell) load(path string) (config.Config, []config.Fault, error) {
	c, err := config.Load(config.Source{Path: path, Getenv: a.Getenv, DB: a.DB, Named: a.DB != "", Sections: node.Sections(a.Kinds)})
	list, faulty := errors.AsType[*config.FaultsError](err)
	switch {
	case faulty && c.Read():
		return c, slices.DeleteFunc(list.List, func(f config.Fault) bool { return !ours(f.Key) }), nil
	case faulty: // it is no TOML
		return c, list.List, nil
	case err != nil:
		return c, nil, cli.Usagef("%v", err)
	}
	return c, nil, nil
}

// sectionOf returns the alerts of a file, or the built-in ones alone. Faults elsewhere in the file do not matter.
func (a *shell) sectionOf(args []string) (*Section, error) {
	if len(args) == 0 {
		s := new(Section)
		s.Settle(nil, config.Config{})
		return s, nil
	}
	c, faults, err := a.load(args[0])
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, cli.Usagef("%s: %s", args[0], faults[0])
	}
	if s := config.Of[*Section](c); s != nil {
		return s, nil
	}
	return nil, errors.New("this program has no alerts")
}

// ours reports whether a key belongs to alerts.
func ours(key string) bool {
	table, _, _ := strings.Cut(key, "[")
	table, _, _ = strings.Cut(table, ".")
	return slices.Contains([]string{"alerts", "alerting", "notify"}, table)
}

func (a *shell) check() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [FILE]",
		Short: "find what keeps an alert from firing, or from being told",
		Long: `check reads the alerts and receivers of a configuration file, conch.toml if none is named.
It finds conditions that cannot be parsed, or name a metric or a label that conch does
not have, alerts that cannot fire, receivers that are not there, secrets that others may
read, and annotations that cannot be written, with the line of the file and the column of
the condition. What can be evaluated, but may not be what is meant, it prints as a warning.
It ends with 2 if there is a fault, as the node that starts with the file would.`,
		Example: `  conch alerts check
  conch alerts check /etc/conch.toml
  conch alerts check conch.toml --json | jq -r '.faults[].text'`,
		Args: file,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(context.Context) error {
			path := "conch.toml"
			if len(args) > 0 {
				path = args[0]
			}
			c, faults, err := a.load(path)
			if err != nil {
				return err
			}
			faults, warnings := a.judge(c, faults)
			return a.PrintFaults("the section of alerts in "+path, path, config.InOrder(faults), config.InOrder(warnings))
		})(cmd, args)
	}
	return cmd
}

// judge adds what is found once a file has been read.
func (a *shell) judge(c config.Config, read []config.Fault) (faults, warnings []config.Fault) {
	faults, warnings = append([]config.Fault{}, read...), []config.Fault{}
	if !c.Read() {
		return faults, warnings
	}
	for _, k := range a.Kinds {
		if k.Check != nil {
			k.Check(c, func(key string, err error) {
				if err != nil && ours(key) {
					faults = append(faults, c.Fault(key, err.Error()))
				}
			})
		}
		if k.Remark != nil {
			k.Remark(c, time.Now(), func(key, text string) {
				if ours(key) {
					warnings = append(warnings, c.Fault(key, text))
				}
			})
		}
	}
	return faults, warnings
}

// listed is an alert as conch alerts list prints it.
type listed struct {
	Name      string   `json:"name"`
	Severity  string   `json:"severity"`
	For       string   `json:"for,omitempty"`
	Keep      string   `json:"keep_firing_for,omitempty"`
	Notify    []string `json:"notify"` // null: all receivers
	GroupBy   []string `json:"group_by,omitempty"`
	Condition string   `json:"condition"`
	Builtin   bool     `json:"builtin"`
}

func (a *shell) list() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list [FILE]",
		Short: "the alerts that a cluster with this configuration file has",
		Long: `list prints the built-in alerts, and with a configuration file those of the file with them.
NOTIFY is "all" if an alert is told to every receiver, and "nobody" if it is not told.`,
		Example: `  conch alerts list
  conch alerts list /etc/conch.toml --json | jq -r 'select(.builtin | not) | .name'`,
		Args: file,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(context.Context) error {
			s, err := a.sectionOf(args)
			if err != nil {
				return err
			}
			var rows []string
			for _, one := range s.all {
				l := listed{one.Name, one.Severity, spanOr(one.For), spanOr(one.Keep), one.Notify, one.GroupBy, one.text(), one.builtin}
				if one.told && l.Notify == nil {
					l.Notify = []string{}
				}
				if a.JSON {
					if err := a.Document(l); err != nil {
						return err
					}
					continue
				}
				rows = append(rows, cli.Row("%s\t%s\t%s\t%s\t%s", cli.Named(l.Name), l.Severity, cli.OrDash(l.For), one.listeners(), cli.OrDash(strings.Join(strings.Fields(l.Condition), " "))))
			}
			if a.JSON {
				return nil
			}
			return a.Table("NAME\tSEVERITY\tFOR\tNOTIFY\tCONDITION", rows)
		})(cmd, args)
	}
	return cmd
}

// text is the condition as it is evaluated; "" if conch itself says when it is true.
func (a *Alert) text() string {
	if a.parsed == nil {
		return ""
	}
	return a.parsed.Text
}

func spanOr(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return span(d)
}

// listeners says who is told.
func (a *Alert) listeners() string {
	if !a.told {
		return "all"
	}
	return cmp.Or(strings.Join(a.Notify, ", "), "nobody")
}

func (a *shell) export() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export [FILE]",
		Short: "print the alerts as rules of Prometheus",
		Long: `export prints the built-in alerts, and with a configuration file those of the file with
them, as a file of rules for a Prometheus that scrapes the nodes. Without a file it is
deploy/alerts.yaml. Whom they are told to is there the business of an Alertmanager.`,
		Example: `  conch alerts export > alerts.yaml
  conch alerts export /etc/conch.toml | promtool check rules /dev/stdin`,
		Args: file,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return cli.Does(func(context.Context) error {
			s, err := a.sectionOf(args)
			if err != nil {
				return err
			}
			text := export(s.all)
			if a.JSON {
				return a.Document(map[string]string{"rules": text})
			}
			for line := range strings.Lines(text) {
				if err := a.Line("%s", strings.TrimSuffix(line, "\n")); err != nil {
					return err
				}
			}
			return nil
		})(cmd, args)
	}
	return cmd
}
