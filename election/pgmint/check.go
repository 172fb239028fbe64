package pgmint

import (
	"context"
	"errors"

	"github.com/conchhq/conch/internal/pg"
	"github.com/conchhq/conch/internal/pg/migrate"
)

// Check returns an error if the database cannot serve as a mint. It must be a primary of version 14
// or newer, be reached without a pooler in transaction or statement mode, and have a schema that
// this program knows. Call it before a program starts.
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

// Sentence returns an error of this package as one sentence that says what to do. It has no password.
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
