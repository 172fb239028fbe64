package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/config"
	"github.com/conchhq/conch/cmd/conch/internal/doctor"
	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/cmd/conch/internal/pgfacts"
	"github.com/conchhq/conch/internal/pg"
)

// doctorPatience bounds all checks together: a doctor that hangs tells nothing.
const doctorPatience = 30 * time.Second

func (a *app) doctor() *cobra.Command {
	src := config.Source{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "look for whatever would keep conch from leading or from keeping its promises",
		Long: `doctor looks at the database, at this machine and at the scopes, and says of each
thing that is not as it should be what to do about it. It changes nothing. Run it as
the role and from the machine that a node would use. With --config it looks at the
file's database, and at its chains, accounts and peers too: endpoints, keys, balances;
of a node without a database at those alone. It ends with 1 if a check fails.`,
		Example: `  conch doctor
  conch doctor --config /etc/conch.toml
  conch --db postgres://conch_node@db.example/app doctor --json`,
		Args: NoArguments,
		RunE: Does(func(ctx context.Context) error {
			if src.ID != "" && src.Path == "" {
				return Usagef("--id names a node, and needs --config with the file of that node")
			}
			ctx, cancel := context.WithTimeout(ctx, doctorPatience)
			defer cancel()
			facts, cfg, err := a.examine(ctx, src)
			if err != nil {
				return err
			}
			return a.printFindings(slices.Concat(doctor.Judge(facts), a.startFaults(cfg), node.Examine(ctx, cfg, a.Kinds)))
		}),
	}
	idFlag(cmd, &src.ID)
	cmd.Flags().StringVar(&src.Path, "config", "", "also look at the chains, accounts and peers of this configuration `file`")
	return cmd
}

// examine gathers facts about the database and loads the configuration, empty if no file is named.
func (a *app) examine(ctx context.Context, src config.Source) (doctor.Facts, config.Config, error) {
	if src.Path == "" {
		base, err := a.Configure()
		if err != nil {
			return doctor.Facts{}, config.Config{}, err
		}
		facts, err := pgfacts.Gather(ctx, base)
		if err != nil && pg.SafeToRetry(err) && !a.names() {
			return facts, config.Config{}, usage{fmt.Errorf("%w; a node that needs none is looked at with --config and its file", errNoDatabase)}
		}
		return facts, config.Config{Database: base}, nil
	}
	cfg, err := a.load(src)
	if err != nil {
		return doctor.Facts{}, cfg, usage{err}
	}
	return node.Facts(ctx, cfg), cfg, nil
}

// startFaults finds what a node that starts with the configuration would refuse, by asking what it asks.
func (a *app) startFaults(cfg config.Config) (found []doctor.Finding) {
	if !cfg.Read() {
		return nil
	}
	err := node.Check(cfg, a.Kinds)
	if errors.Is(err, node.ErrNoDatabase) {
		return nil // another check has said so
	}
	for _, f := range faultsOf(cfg, err) {
		found = append(found, doctor.About("configuration", doctor.Failure(f.String(), "correct it: a node does not start with it"))...)
	}
	return found
}

// printFindings prints the findings, and returns an error if a check has failed.
func (a *app) printFindings(all []doctor.Finding) error {
	var failed, rows []string
	for i := range all {
		f := &all[i]
		f.Detail, f.Remedy = a.ownWords(f.Detail), a.ownWords(f.Remedy)
		if f.Status == doctor.Fail {
			failed = append(failed, f.Check)
		}
		rows = append(rows, Row("%s\t%s\t%s", f.Status, f.Check, f.Detail))
		if f.Remedy != "" {
			rows = append(rows, Row("\t\t→ %s", f.Remedy))
		}
	}
	var err error
	if a.JSON {
		err = a.Document(all)
	} else {
		err = a.Table("STATUS\tCHECK\tDETAIL", rows)
	}
	if err == nil && len(failed) > 0 {
		err = fmt.Errorf("%d of %d findings must be mended: %s", len(failed), len(all), strings.Join(slices.Compact(failed), ", "))
	}
	return err
}
