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
	migrate.Applied
}

// tablesOf returns the tables of all wings, the election's first, since the others call its fence.
func tablesOf(kinds []Kind) []migrate.Tables {
	all := []migrate.Tables{pgmint.Tables}
	for _, k := range kinds {
		if k.Tables != nil {
			all = append(all, *k.Tables)
		}
	}
	return all
}

// SchemaUp migrates the tables of all wings to their latest version.
func SchemaUp(ctx context.Context, cfg pgmint.Config, kinds []Kind, progress func(string)) error {
	if err := pgmint.Up(ctx, cfg, progress); err != nil {
		return err
	}
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		for _, t := range tablesOf(kinds)[1:] {
			if err := t.Up(ctx, conn, progress); err != nil {
				return err
			}
		}
		return nil
	})
}

// SchemaScript writes as plain SQL what SchemaUp would do to a database whose schema is have;
// the zero value stands for an empty database.
func SchemaScript(w io.Writer, have Schema, kinds []Kind) error {
	for _, t := range tablesOf(kinds) {
		applied := 0
		if i := slices.IndexFunc(have.Wings, func(w Wing) bool { return w.Wing == t.Wing }); i >= 0 {
			applied = have.Wings[i].Current
		}
		if err := t.Script(w, applied); err != nil {
			return err
		}
	}
	return nil
}

// SchemaDown removes the tables of all wings or of none, the election last. It refuses while a scope is led or a wing has unfinished work.
func SchemaDown(ctx context.Context, cfg pgmint.Config, kinds []Kind, progress func(string)) error {
	all := tablesOf(kinds)
	slices.Reverse(all)
	for i, t := range all[:len(all)-1] {
		all[i].Guard = func(ctx context.Context, tx pgx.Tx) error {
			if err := pgmint.Tables.Guard(ctx, tx); err != nil {
				return err
			}
			return t.Guard(ctx, tx)
		}
	}
	return pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error { return migrate.Down(ctx, conn, progress, all...) })
}

// SchemaStatus reads which migrations are applied.
func SchemaStatus(ctx context.Context, cfg pgmint.Config, kinds []Kind) (Schema, error) {
	s := Schema{Wings: []Wing{}, Migrations: []Migration{}}
	err := pg.With(ctx, cfg.Connection(" admin"), func(conn *pgx.Conn) error {
		for _, t := range tablesOf(kinds) {
			list, err := t.Status(ctx, conn)
			if err != nil {
				return err
			}
			s.add(t.Wing, list)
		}
		s.Current, s.Latest = s.Wings[0].Current, s.Wings[0].Latest
		return nil
	})
	return s, err
}

func (s *Schema) add(wing string, list []migrate.Applied) {
	w := Wing{Wing: wing}
	for _, m := range list {
		w.Latest = max(w.Latest, m.Version)
		if m.AppliedAt != nil {
			w.Current = max(w.Current, m.Version)
		}
		s.Migrations = append(s.Migrations, Migration{wing, m})
	}
	s.Wings = append(s.Wings, w)
}
