package pgmint

import (
	"errors"

	"github.com/conchhq/conch/internal/pg"
)

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
