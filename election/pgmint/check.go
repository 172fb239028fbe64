package pgmint

import (
	"context"
	"errors"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
)

// Check looks before a program starts whether the database can serve as a mint:
// reachable, version 14 or newer, primary, no pooler in transaction mode between,
// schema present and known.
func Check(ctx context.Context, cfg Config) error {
	s, err := pg.Open(ctx, cfg.Connection(" check"), pg.Settings{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close(context.Background()) }()
	version, err := migrate.Version(ctx, s.Conn(), migrate.Set{})
	if err != nil {
		return err
	}
	return checkVersion(version)
}

// Sentence turns an error of this package into one sentence that says what to do.
// It never contains a password.
func Sentence(err error) string {
	var schema *SchemaError
	var held *HeldError
	var inUse *BlockedError
	switch {
	case errors.As(err, &schema):
		return schema.Error()
	case errors.As(err, &held):
		return held.Error()
	case errors.As(err, &inUse):
		return inUse.Error()
	}
	return pg.Sentence(err)
}
