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

// Schema is what of the schema conch is installed. Each wing has tables and
// versions of its own; Current and Latest are the election's, without which there
// is nothing.
type Schema struct {
	Current    int         `json:"current"`
	Latest     int         `json:"latest"`
	Wings      []Wing      `json:"wings"`
	Migrations []Migration `json:"migrations"`
}

// Wing is how far one wing's tables are.
type Wing struct {
	Wing    string `json:"wing"`
	Current int    `json:"current"`
	Latest  int    `json:"latest"`
}

// Migration is one step of a wing's tables.
type Migration struct {
	Wing string `json:"wing"`
	pgmint.Migration
}

// Tables are those of one wing in the database, beside the election's, whose fence they
// may call.
type Tables struct {
	Wing string
	Set  migrate.Set
	// Guard objects to their removal by an error. While somebody leads nothing goes anyway.
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

// SchemaUp brings the tables of all wings to their latest version: the election's
// first, whose fence the others call.
func SchemaUp(ctx context.Context, cfg pgmint.Config, kinds []Kind, progress func(string)) error {
	if err := pgmint.Up(ctx, cfg, of(wingElection, progress)); err != nil {
		return err
	}
	conn, err := pg.Connect(ctx, cfg.Connection(" admin"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, t := range tablesOf(kinds) {
		if err := migrate.Up(ctx, conn, t.Set, of(t.Wing, progress)); err != nil {
			return err
		}
	}
	return nil
}

// SchemaScript writes what SchemaUp would do to a database of that schema, as plain SQL:
// an empty one for the zero value.
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

// SchemaDown takes the tables away, all of them or none: those of the wings first, which
// call the election's fence. Nothing goes while anybody leads or a wing objects.
func SchemaDown(ctx context.Context, cfg pgmint.Config, kinds []Kind, progress func(string)) error {
	conn, err := pg.Connect(ctx, cfg.Connection(" admin"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var all []migrate.Removal
	for _, t := range slices.Backward(tablesOf(kinds)) {
		all = append(all, migrate.Removal{Set: t.Set, Progress: of(t.Wing, progress), Guard: func(ctx context.Context, tx pgx.Tx) error {
			if err := pgmint.RefuseHeld(ctx, tx); err != nil {
				return err
			}
			return t.Guard(ctx, tx)
		}})
	}
	return migrate.Down(ctx, conn, append(all, migrate.Removal{
		Set: migrate.Set{Files: pgmint.Migrations()}, Guard: pgmint.RefuseHeld, Progress: of(wingElection, progress),
	})...)
}

// SchemaStatus reads what is applied.
func SchemaStatus(ctx context.Context, cfg pgmint.Config, kinds []Kind) (Schema, error) {
	s := Schema{Wings: []Wing{}, Migrations: []Migration{}}
	base, err := pgmint.Status(ctx, cfg)
	if err != nil {
		return s, err
	}
	s.Current, s.Latest = base.Current, base.Latest
	s.add(wingElection, base.Migrations)
	conn, err := pg.Connect(ctx, cfg.Connection(" admin"))
	if err != nil {
		return s, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for _, t := range tablesOf(kinds) {
		steps, err := migrate.Status(ctx, conn, t.Set)
		if err != nil {
			return s, err
		}
		var list []pgmint.Migration
		for _, step := range steps {
			list = append(list, pgmint.Migration{Version: step.Version, Name: step.Name, AppliedAt: step.AppliedAt})
		}
		s.add(t.Wing, list)
	}
	return s, nil
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

// of says which wing a line of progress is about.
func of(wing string, progress func(string)) func(string) {
	if progress == nil {
		return nil
	}
	return func(line string) { progress(wing + ": " + line) }
}
