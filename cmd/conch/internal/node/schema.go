package node

import (
	"context"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
)

// Schema describes what is installed of the schema conch. Each wing has its own tables and
// versions. Current and Latest are the election's, which the other wings need.
type Schema struct {
	Current    int         `json:"current"`
	Latest     int         `json:"latest"`
	Wings      []Wing      `json:"wings"`
	Migrations []Migration `json:"migrations"`
}

// Wing has the installed and the latest version of a wing's tables.
type Wing struct {
	Wing    string `json:"wing"`
	Current int    `json:"current"`
	Latest  int    `json:"latest"`
}

// Migration is one migration of a wing.
type Migration struct {
	Wing string `json:"wing"`
	pgmint.Migration
}

// Tables describes the tables of one wing other than the election. They may call its fence.
type Tables struct {
	Wing string
	Set  migrate.Set
	// Guard prevents their removal by an error. SchemaDown itself refuses while a scope is led.
	Guard func(ctx context.Context, tx pgx.Tx) error
}

const wingElection = "election"

func tablesOf(kinds []Kind) (all []*Tables) {
	for _, k := range kinds {
		if k.Tables != nil {
			all = append(all, k.Tables)
		}
	}
	return all
}

// SchemaUp migrates the tables of all wings to their latest version, the election first,
// since the others call its fence.
func SchemaUp(ctx context.Context, cfg pgmint.Config, kinds []Kind, progress func(string)) error {
	if err := pgmint.Up(ctx, cfg, prefixed(wingElection, progress)); err != nil {
		return err
	}
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		for _, t := range tablesOf(kinds) {
			if err := migrate.Up(ctx, conn, t.Set, prefixed(t.Wing, progress)); err != nil {
				return err
			}
		}
		return nil
	})
}

// SchemaScript writes as plain SQL what SchemaUp would do to a database whose schema is have;
// the zero value stands for an empty database.
func SchemaScript(w io.Writer, have Schema, kinds []Kind) error {
	if err := migrate.Script(w, migrate.Set{Files: pgmint.Migrations()}, have.Current); err != nil {
		return err
	}
	for _, t := range tablesOf(kinds) {
		applied := 0
		if i := slices.IndexFunc(have.Wings, func(w Wing) bool { return w.Wing == t.Wing }); i >= 0 {
			applied = have.Wings[i].Current
		}
		if err := migrate.Script(w, t.Set, applied); err != nil {
			return err
		}
	}
	return nil
}

// SchemaDown removes the tables of all wings or of none, the election last, since the others
// call its fence. It refuses while a scope is led or a wing's Guard returns an error.
func SchemaDown(ctx context.Context, cfg pgmint.Config, kinds []Kind, progress func(string)) error {
	var all []migrate.Removal
	for _, t := range slices.Backward(tablesOf(kinds)) {
		all = append(all, migrate.Removal{Set: t.Set, Progress: prefixed(t.Wing, progress), Guard: func(ctx context.Context, tx pgx.Tx) error {
			if err := pgmint.RefuseHeld(ctx, tx); err != nil {
				return err
			}
			return t.Guard(ctx, tx)
		}})
	}
	all = append(all, migrate.Removal{
		Set: migrate.Set{Files: pgmint.Migrations()}, Guard: pgmint.RefuseHeld, Progress: prefixed(wingElection, progress),
	})
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error { return migrate.Down(ctx, conn, all...) })
}

// SchemaStatus reads which migrations are applied.
func SchemaStatus(ctx context.Context, cfg pgmint.Config, kinds []Kind) (Schema, error) {
	s := Schema{Wings: []Wing{}, Migrations: []Migration{}}
	base, err := pgmint.Status(ctx, cfg)
	if err != nil {
		return s, err
	}
	s.Current, s.Latest = base.Current, base.Latest
	s.add(wingElection, base.Migrations)
	err = pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		for _, t := range tablesOf(kinds) {
			steps, err := migrate.Status(ctx, conn, t.Set)
			if err != nil {
				return err
			}
			var list []pgmint.Migration
			for _, step := range steps {
				list = append(list, pgmint.Migration{Version: step.Version, Name: step.Name, AppliedAt: step.AppliedAt})
			}
			s.add(t.Wing, list)
		}
		return nil
	})
	return s, err
}

func (s *Schema) add(wing string, list []pgmint.Migration) {
	w := Wing{Wing: wing}
	for _, m := range list {
		w.Latest = max(w.Latest, m.Version)
		if m.AppliedAt != nil {
			w.Current = max(w.Current, m.Version)
		}
		s.Migrations = append(s.Migrations, Migration{Wing: wing, Migration: m})
	}
	s.Wings = append(s.Wings, w)
}

// prefixed puts the wing in front of each line of progress.
func prefixed(wing string, progress func(string)) func(string) {
	if progress == nil {
		return nil
	}
	return func(line string) { progress(wing + ": " + line) }
}
