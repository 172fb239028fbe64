package pgmint

import (
	"context"

	"github.com/conchhq/conch/internal/pg"
)

// Check returns an error if the database cannot serve as a mint. It must be a primary of version 14
// or newer, be reached without a pooler in transaction or statement mode, and have a schema that
// this program knows. Call it before a program starts.
func Check(ctx context.Context, cfg Config) error {
	base := cfg.Connection(" check")
	s, err := pg.Open(ctx, base, pg.Settings{LockTimeout: pg.Plain.Lock, StatementTimeout: pg.Plain.Statement})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.Background()) }()
	return pg.Locked(ctx, base, Tables.Check(ctx, s.Conn()))
}
