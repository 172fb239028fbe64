package assemble

import (
	"context"

	"github.com/conchhq/conch/election/pgmint"
	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
	"github.com/conchhq/conch/pending/pgstore"
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

// Names of wings that have tables.
const (
	wingElection = "election"
	wingPending  = "pending"
)

// SchemaUp brings the tables of all wings to their latest version: the election's
// first, whose fence the others call.
func SchemaUp(ctx context.Context, cfg pgmint.Config, progress func(string)) error {
	if err := pgmint.Up(ctx, cfg, of(wingElection, progress)); err != nil {
		return err
	}
	conn, err := pg.Connect(ctx, connection(cfg, " admin"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return pgstore.Up(ctx, conn, of(wingPending, progress))
}

// SchemaDown takes the tables away, all of them or none: those of the wings first, which
// call the election's fence. Nothing goes while anybody leads or a transaction is under way.
func SchemaDown(ctx context.Context, cfg pgmint.Config, progress func(string)) error {
	conn, err := pg.Connect(ctx, connection(cfg, " admin"))
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return migrate.Down(ctx, conn, pgstore.Removal(pgmint.RefuseHeld, of(wingPending, progress)), migrate.Removal{
		Set: migrate.Set{Files: pgmint.Migrations()}, Guard: pgmint.RefuseHeld, Progress: of(wingElection, progress),
	})
}

// SchemaStatus reads what is applied.
func SchemaStatus(ctx context.Context, cfg pgmint.Config) (Schema, error) {
	s := Schema{Wings: []Wing{}, Migrations: []Migration{}}
	base, err := pgmint.Status(ctx, cfg)
	if err != nil {
		return s, err
	}
	s.Current, s.Latest = base.Current, base.Latest
	s.add(wingElection, base.Migrations)
	conn, err := pg.Connect(ctx, connection(cfg, " admin"))
	if err != nil {
		return s, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	steps, err := pgstore.Status(ctx, conn)
	if err != nil {
		return s, err
	}
	var list []pgmint.Migration
	for _, step := range steps {
		list = append(list, pgmint.Migration{Version: step.Version, Name: step.Name, AppliedAt: step.AppliedAt})
	}
	s.add(wingPending, list)
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

// connection is what the wings need to know of the database.
func connection(cfg pgmint.Config, suffix string) pg.Config {
	name := cfg.AppName
	if name == "" {
		name = "conch"
	}
	return pg.Config{URL: cfg.URL, TLSInsecure: cfg.TLSInsecure, TLSCAFile: cfg.TLSCAFile, AppName: name + suffix}
}
