package cli

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/cmd/conch/internal/node"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
)

func (a *app) migrate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "install, upgrade or remove the database schema",
		Example: `  conch migrate up
  conch migrate status --json
  conch migrate advance --scope payments --epoch 5000000`,
		Args: UnknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return Usagef("migrate needs one of up, down, status, advance: see %q", cmd.CommandPath()+" --help")
		},
	}
	cmd.AddCommand(a.migrateUp(), a.migrateDown(), a.migrateStatus(), a.migrateAdvance())
	return cmd
}

func (a *app) migrateUp() *cobra.Command {
	return &cobra.Command{
		Use:   "up",
		Short: "bring the schema to the newest version; may run on several machines at once",
		Example: `  conch migrate up
  conch --db postgres://owner@db.example/app migrate up --json`,
		Args: NoArguments,
		RunE: Does(func(ctx context.Context) error { return pg.ForOwners(a.move(ctx, node.SchemaUp)) }),
	}
}

func (a *app) migrateDown() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "remove the schema; refused while anybody leads or a transaction is under way",
		Long: `down removes the schema. Epochs and history stay, so that a later "up" goes on
from them and no old token looks current. It is refused while anybody leads, while
a pending transaction is not final, and while an accepted intent waits for one.
What became of finished intents goes, and so do their idempotency keys.`,
		Example: `  conch migrate down`,
		Args:    NoArguments,
		RunE:    Does(func(ctx context.Context) error { return pg.ForOwners(a.move(ctx, node.SchemaDown)) }),
	}
}

// move runs a migration and shows where it led.
func (a *app) move(ctx context.Context, migrate func(context.Context, pgmint.Config, []node.Kind, func(string)) error) error {
	cfg, err := a.reach(ctx)
	if err != nil {
		return err
	}
	progress := func(text string) { _, _ = fmt.Fprintln(a.Stderr, text) }
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
		rows = append(rows, fmt.Sprintf("%s\t%d\t%s\t%s", m.Wing, m.Version, m.Name, applied))
	}
	if err := a.Table("WING\tVERSION\tNAME\tAPPLIED", rows); err != nil {
		return err
	}
	wings := []string{fmt.Sprintf("schema %d of %d", s.Current, s.Latest)}
	for _, w := range s.Wings[1:] {
		wings = append(wings, fmt.Sprintf("%s %d of %d", w.Wing, w.Current, w.Latest))
	}
	return a.Line("%s", strings.Join(wings, ", "))
}

func (a *app) migrateAdvance() *cobra.Command {
	var scope string
	var epoch int64
	cmd := &cobra.Command{
		Use:   "advance --scope S --epoch N",
		Short: "raise a scope's epoch after a restore from a backup",
		Long: `advance raises the epoch of a scope. After a restore from a backup the database
may be older than tokens that are still about; an epoch above all of them makes
every one stale. Whoever leads the scope is deposed and campaigns again.`,
		Example: `  conch migrate advance --scope payments --epoch 5000000`,
		Args:    NoArguments,
	}
	cmd.Flags().StringVar(&scope, "scope", "", "whose epoch")
	cmd.Flags().Int64Var(&epoch, "epoch", 0, "the new epoch, above the present one")
	cmd.RunE = Does(func(ctx context.Context) error {
		if !cmd.Flags().Changed("scope") || !cmd.Flags().Changed("epoch") {
			return Usagef("advance needs --scope and --epoch: see %q", cmd.CommandPath()+" --help")
		}
		if err := validScope(scope); err != nil {
			return err
		}
		if epoch < 1 {
			return Usagef("--epoch %d is not above 0", epoch)
		}
		if epoch > pgmint.MaxAdvance {
			return Usagef("--epoch %d is above %d: bids count on from it, and an epoch is a 64-bit number", epoch, int64(pgmint.MaxAdvance))
		}
		cfg, err := a.ready(ctx)
		if err == nil {
			err = pgmint.Advance(ctx, cfg, scope, epoch, operator())
		}
		if err != nil {
			return pg.ForOwners(err)
		}
		if a.JSON {
			return a.Document(map[string]any{"scope": scope, "epoch": epoch})
		}
		return a.Line("the epoch of %q is %d now", scope, epoch)
	})
	return cmd
}

// operator names who gives an instruction, for the history.
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
