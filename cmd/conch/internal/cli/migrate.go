package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/deploy"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg"
)

func (a *app) migrate() *cobra.Command {
	return Group(&cobra.Command{
		Use:   "migrate",
		Short: "install, upgrade or remove the database schema",
		Example: `  conch migrate up
  conch migrate grants | psql "$OWNER_URL"
  conch migrate status --json
  conch migrate advance --scope payments --epoch 5000000`,
	}, a.migrateUp(), a.migrateDown(), a.migrateGrants(), a.migrateStatus(), a.migrateAdvance())
}

func (a *app) migrateUp() *cobra.Command {
	var show bool
	cmd := &cobra.Command{
		Use:   "up",
		Short: "bring the schema to the newest version; may run on several machines at once",
		Long: `up brings the schema to the newest version. With --print it changes nothing and
prints the SQL that it would run: what the named database lacks, or all of it if none is
named. Read it, and run it as the owner with a client that stops at an error:
psql -v ON_ERROR_STOP=1 -f FILE.`,
		Example: `  conch migrate up
  conch migrate up --print > conch.sql
  conch --db postgres://owner@db.example/app migrate up --json`,
		Args: NoArguments,
	}
	cmd.Flags().BoolVar(&show, "print", false, "print the SQL instead of running it")
	cmd.RunE = Does(func(ctx context.Context) error {
		if show {
			return a.printSchema(ctx)
		}
		return pg.ForOwners(a.move(ctx, node.SchemaUp))
	})
	return cmd
}

// printSchema prints the SQL that a database lacks.
func (a *app) printSchema(ctx context.Context) error {
	if a.JSON {
		return Usagef("--print prints SQL: leave --json out")
	}
	var have node.Schema
	if a.names() {
		cfg, err := a.reach(ctx)
		if err == nil {
			have, err = node.SchemaStatus(ctx, cfg, a.Kinds)
		}
		if err != nil {
			return err
		}
	}
	return node.SchemaScript(a.Stdout, have, a.Kinds)
}

func (a *app) migrateGrants() *cobra.Command {
	var roles deploy.Roles
	cmd := &cobra.Command{
		Use:   "grants",
		Short: "print the SQL that gives roles the rights that they need and no others",
		Long: `grants prints a script for psql, to be run as the owner of the schema after each
"migrate up". It makes three roles where they are missing: one for nodes, one for those
who only call conch.fence, one for those who only look.`,
		Example: `  conch migrate grants | psql "$OWNER_URL"
  conch migrate grants --node app_node --fence app_fence --observer app_observer > grants.sql`,
		Args: NoArguments,
	}
	cmd.Flags().StringVar(&roles.Node, "node", "conch_node", "the `role` of conch's processes")
	cmd.Flags().StringVar(&roles.Fence, "fence", "conch_fence", "the `role` of those who only call conch.fence")
	cmd.Flags().StringVar(&roles.Observer, "observer", "conch_observer", "the `role` of status, history, watch and doctor")
	cmd.RunE = Does(func(context.Context) error {
		if a.JSON {
			return Usagef("grants prints SQL: leave --json out")
		}
		text, err := roles.Grants()
		if err != nil {
			return usage{err}
		}
		return a.Text(text + "\n")
	})
	return cmd
}

func (a *app) migrateDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "remove the schema; refused while anybody leads or a transaction is under way",
		Long: `down removes the schema. Epochs and history stay, so that a later "up" goes on
from them and no old token looks current. It is refused while anybody leads, while
a pending transaction is not final, and while an accepted intent waits for one.
The results of finished intents are removed, and so are their idempotency keys.`,
		Example: `  conch migrate down`,
		Args:    NoArguments,
		RunE:    Does(func(ctx context.Context) error { return pg.ForOwners(a.move(ctx, node.SchemaDown)) }),
	}
}

// move runs a migration and prints the resulting schema.
func (a *app) move(ctx context.Context, migrate func(context.Context, pgmint.Config, []node.Kind, func(string)) error) error {
	cfg, err := a.reach(ctx)
	if err != nil {
		return err
	}
	progress := func(text string) { a.Say("%s", text) }
	if err := migrate(ctx, cfg, a.Kinds, progress); err != nil {
		return err
	}
	return a.showSchema(ctx, cfg)
}

func (a *app) migrateStatus() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "which migrations are applied",
		Example: `  conch migrate status
  conch migrate status --json`,
		Args: NoArguments,
		RunE: Does(func(ctx context.Context) error {
			cfg, err := a.reach(ctx)
			if err != nil {
				return err
			}
			return a.showSchema(ctx, cfg)
		}),
	}
}

func (a *app) showSchema(ctx context.Context, cfg pgmint.Config) error {
	s, err := node.SchemaStatus(ctx, cfg, a.Kinds)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.Document(s)
	}
	var rows []string
	for _, m := range s.Migrations {
		applied := "not applied"
		if m.AppliedAt != nil {
			applied = Clock(*m.AppliedAt)
		}
		rows = append(rows, Row("%s\t%d\t%s\t%s", m.Wing, m.Version, m.Name, applied))
	}
	_ = a.Table("WING\tVERSION\tNAME\tAPPLIED", rows)
	wings := []string{fmt.Sprintf("schema %d of %d", s.Current, s.Latest)}
	for _, w := range s.Wings[1:] {
		wings = append(wings, fmt.Sprintf("%s %d of %d", w.Wing, w.Current, w.Latest))
	}
	return a.Line("%s", strings.Join(wings, ", "))
}

func (a *app) migrateAdvance() *cobra.Command {
	var scope string
	var epoch int64
	var all bool
	cmd := &cobra.Command{
		Use:   "advance --scope S|--all --epoch N",
		Short: "raise the epoch of a scope, or of all, after a restore from a backup",
		Long: `advance raises the epoch of a scope. After a restore from a backup the database
may be older than tokens that are still in use; an epoch above all of them makes
every one stale. The process that leads the scope is deposed and campaigns again.
With --all every scope that is below the epoch is raised to it, forgotten ones too.`,
		Example: `  conch migrate advance --scope payments --epoch 5000000
  conch migrate advance --all --epoch 5000000`,
		Args: NoArguments,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "whose epoch")
	cmd.Flags().BoolVar(&all, "all", false, "raise every scope that is below the epoch")
	cmd.Flags().Int64Var(&epoch, "epoch", 0, "the new epoch, above the present one")
	cmd.RunE = Does(func(ctx context.Context) error {
		if !all && !cmd.Flags().Changed("scope") || !cmd.Flags().Changed("epoch") {
			return Usagef("advance needs --scope or --all, and --epoch: see %q", cmd.CommandPath()+" --help")
		}
		if all && cmd.Flags().Changed("scope") {
			return Usagef("--scope raises one and --all every scope: leave one of the two out")
		}
		if err := validScope(scope); err != nil && !all {
			return err
		}
		if epoch < 1 {
			return Usagef("--epoch %d is not above 0", epoch)
		}
		if epoch > pgops.MaxAdvance {
			return Usagef("--epoch %d is above %d: bids count on from it, and an epoch is a 64-bit number", epoch, int64(pgops.MaxAdvance))
		}
		cfg, err := a.ready(ctx)
		if err != nil {
			return pg.ForOwners(err)
		}
		scopes := []string{scope}
		if all {
			if scopes, err = pgops.Below(ctx, cfg, epoch); err != nil {
				return pg.ForOwners(err)
			}
		}
		return a.advance(ctx, cfg, epoch, scopes)
	})
	return cmd
}

// advance raises the epoch of each scope. It goes on after a scope that cannot be raised.
func (a *app) advance(ctx context.Context, cfg pgmint.Config, epoch int64, scopes []string) error {
	var faults []error
	for _, scope := range scopes {
		if err := pgops.Advance(ctx, cfg, scope, epoch, operator()); err != nil {
			faults = append(faults, pg.ForOwners(err))
			continue
		}
		var err error
		if a.JSON {
			err = a.Document(map[string]any{"scope": scope, "epoch": epoch})
		} else {
			err = a.Line("the epoch of %q is %d now", scope, epoch)
		}
		if err != nil {
			return err
		}
	}
	if len(scopes) == 0 && !a.JSON {
		return a.Line("every scope is at epoch %d or above already", epoch)
	}
	return errors.Join(faults...)
}

// operator names the operator, for the history.
func operator() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}
