package cli

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/conchhq/conch/election"
	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/election/pgops"
	"github.com/conchhq/conch/internal/pg"
)

// errNoDatabase means that no database was named and none answers at the default address.
var errNoDatabase = usage{errors.New("no database: give --db URL or set CONCH_DB_URL")}

// DatabaseVariables lists the environment variables that name the database.
func DatabaseVariables() []string {
	return []string{
		pg.EnvURL, "PGHOST", "PGPORT", "PGDATABASE", "PGUSER", "PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE",
	}
}

// What a command of a run or a role gets instead of conch's own database.
const (
	EnvCommandURL = "CONCH_CMD_DB_URL"
	NoDatabase    = "none"
)

// CommandDatabase returns the URL that a command gets, "" for none, and the variables that it does not get. said is a
// URL, NoDatabase, or "" for conch's own database.
func CommandDatabase(said, own string) (url string, hidden []string) {
	switch said {
	case "":
		return own, nil
	case NoDatabase:
		said = ""
	}
	return said, append(DatabaseVariables(), EnvCommandURL, "PGSSLPASSWORD")
}

// Configure reads which database to use from --db and the environment. A candidate passes its scopes.
func (s *Shell) Configure(scopes ...string) (pgmint.Config, error) {
	cfg, err := pgmint.ConfigFromEnv(func(name string) string {
		if name == pg.EnvURL && s.DB != "" {
			return s.DB
		}
		return s.Getenv(name)
	}, scopes...)
	if err != nil {
		return cfg, usage{err}
	}
	return cfg, nil
}

// reach checks that the database can be used, apart from its schema.
func (a *app) reach(ctx context.Context) (pgmint.Config, error) {
	cfg, err := a.ready(ctx)
	if _, missing := errors.AsType[*pgmint.SchemaError](err); missing {
		err = nil
	}
	return cfg, err
}

// ready checks that the database can be used, schema included. A candidate passes its scopes.
func (a *app) ready(ctx context.Context, scopes ...string) (pgmint.Config, error) {
	cfg, err := a.Configure(scopes...)
	if err != nil {
		return cfg, err
	}
	err = pgmint.Check(ctx, cfg)
	// SafeToRetry means that nothing was done: the connection failed.
	if err != nil && ctx.Err() == nil && pg.SafeToRetry(err) && !a.names() {
		return cfg, errNoDatabase
	}
	return cfg, err
}

// names reports whether a flag or variable names the database.
func (a *app) names() bool {
	if a.DB != "" {
		return true
	}
	return slices.ContainsFunc(DatabaseVariables(), func(name string) bool { return a.Getenv(name) != "" })
}

func (a *app) observe(ctx context.Context) (*pgops.Observer, error) {
	cfg, err := a.ready(ctx)
	if err != nil {
		return nil, err
	}
	return pgops.Observe(ctx, cfg)
}

// observing gives a command that reads leaderships its --scope, "" for all, and its work with an observer.
func (a *app) observing(cmd *cobra.Command, work func(ctx context.Context, o *pgops.Observer, scope string) error) *cobra.Command {
	var scope string
	cmd.Args = NoArguments
	cmd.Flags().StringVar(&scope, "scope", "", "only this `scope`; default all")
	cmd.RunE = Does(func(ctx context.Context) error {
		if cmd.Flags().Changed("scope") {
			if err := validScope(scope); err != nil {
				return err
			}
		}
		observer, err := a.observe(ctx)
		if err != nil {
			return err
		}
		defer observer.Close()
		return work(ctx, observer, scope)
	})
	return cmd
}

func validScope(scope string) error {
	if err := election.ValidScope(scope); err != nil {
		return usage{err}
	}
	return nil
}
