package pgstore

import (
	"context"

	"github.com/conchhq/conch/internal/pg/pgtest"
)

// OpenWide is Open for connections that behave as those behind a pooler do.
func OpenWide(ctx context.Context, at Connection) (*Store, error) {
	s, err := Open(ctx, at)
	if err == nil {
		err = pgtest.Widen(ctx, s.pools)
	}
	return s, err
}
